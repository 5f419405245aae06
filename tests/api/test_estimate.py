"""Estimates over HTTP: the body of a submission, its refusals, and nothing submitted."""

import asyncio
from typing import Any

import pytest

from clusterra.api.app import make_app
from clusterra.core.access import Role, Scope
from clusterra.core.cost.quota import Mode
from clusterra.core.cost.quota_edit import QuotaEdit
from clusterra.core.scaling.shapes import table
from tests.api.asgi import Answer, ask
from tests.control.test_price import PRICES
from tests.people import SOMEBODY, token_of
from tests.world import LAB, World

JOBS = f"/v1/clusters/{LAB}/jobs"
SCRIPT = "#!/bin/bash\n#SBATCH --time=60\nhostname\n"


class Api:
    def __init__(self, *, scaled: bool = True) -> None:
        self.world = World()
        if scaled:
            shapes = {name: each for name, each in table(PRICES).items() if each.arch == "amd64"}
            self.world.site.shapes = self.world.site.meter.shapes = shapes
        self.plane = self.world.plane()
        self._app = make_app(self.plane)

    async def __call__(self, body: object, **more: Any) -> Answer:
        await self.plane.open()
        return await ask(self._app, "POST", f"{JOBS}/estimate", body, **more)

    async def submitted(self, body: object, **more: Any) -> Answer:
        return await ask(self._app, "POST", f"{JOBS}/submit", body, **more)


def test_it_names_shape_price_total_and_an_alternative() -> None:
    async def story() -> None:
        api = Api()
        answer = await api({"script": SCRIPT, "cpus": 2, "name": "align", "exclusive": True})

        assert answer.status == 200
        found = answer.json
        assert found["shape"]["name"] == "compute-xs"
        assert found["shape"]["types"][0] == "c7i.xlarge"
        assert found["usd_per_hour_micros"] == found["worker_usd_per_hour_micros"] == 178_500
        assert found["time_limit_minutes"] == 60
        assert found["total_micros"] == 178_500
        assert (found["estimate"], found["why_unknown"]) == (True, "")
        assert [each["option"] for each in found["alternatives"]][-1] == "without --exclusive"
        assert found["name"] == "align"

    asyncio.run(story())


def test_the_body_of_slurmrestd_is_understood_too() -> None:
    async def story() -> None:
        job = {"name": "raw", "cpus_per_task": 3, "time_limit": {"set": True, "number": 120}}
        found = (await Api()({"script": SCRIPT, "job": job})).json

        assert (found["usd_per_hour_micros"], found["total_micros"]) == (178_500, 357_000)

    asyncio.run(story())


def test_nothing_is_submitted_and_nobody_is_enrolled() -> None:
    async def story() -> None:
        api = Api()
        await api({"script": SCRIPT})

        assert [job async for job in api.world.slurm.all_jobs()] == []
        assert api.world.site.enrolled == {}
        assert api.world.woken == 0

    asyncio.run(story())


@pytest.mark.parametrize(
    "body",
    [
        {"script": ""},
        {"script": SCRIPT, "cpus": 4000},
        {"script": SCRIPT, "memory": "lots"},
        {"script": SCRIPT, "cpu": 4},
        {"script": SCRIPT, "partition": "nowhere"},
        {"script": SCRIPT, "gpus": "z9:1"},
    ],
)
def test_what_a_submission_refuses_an_estimate_refuses_in_the_same_words(
    body: dict[str, Any],
) -> None:
    async def story() -> None:
        api = Api()
        await api.world.observer.look()

        estimate, submission = await api(body), await api.submitted(body)

        assert estimate.status == submission.status >= 400
        for word in ("code", "detail", "hint", "at"):
            assert estimate.json[word] == submission.json[word]

    asyncio.run(story())


def test_who_may_not_submit_is_told_so() -> None:
    async def story() -> None:
        api = Api()
        viewer = await token_of(api.plane, "vera", Role.VIEWER)
        reader = await token_of(api.plane, "ben", scopes=frozenset({Scope.READ}))

        assert (await api({"script": SCRIPT}, token=viewer)).status == 403
        assert (await api({"script": SCRIPT}, token=reader)).status == 403

    asyncio.run(story())


def test_lines_of_the_script_without_effect_are_remarked_on() -> None:
    async def story() -> None:
        script = "#!/bin/bash\n#SBATCH --time=60\n#PBS -l walltime=1:00\n"
        found = (await Api()({"script": script})).json

        assert found["warnings"] == ["Line 3: #PBS lines are not read; write #SBATCH."]

    asyncio.run(story())


def test_the_quota_is_told_and_a_job_that_it_would_keep_out_is_priced_all_the_same() -> None:
    async def story() -> None:
        api = Api()
        token = await token_of(api.plane, "ana2")
        await api.plane.quotas.set(
            api.world.site.workspace,
            "ana2@lab.example",
            QuotaEdit(amounts={"month": 100_000}, mode=Mode.BLOCK),
            by=SOMEBODY,
        )

        found = (await api({"script": SCRIPT, "cpus": 3}, token=token)).json

        (quota,) = found["quotas"]
        assert quota["whose"] == "ana2@lab.example"
        assert (quota["limit_micros"], quota["left_micros"]) == (100_000, 100_000)
        assert quota["after_micros"] == found["total_micros"] == 178_500
        assert found["refused"] is True
        assert "$0.18" in found["over"][0]
        refused = await api.submitted({"script": SCRIPT, "cpus": 3}, token=token)
        assert refused.json["code"] == "quota-exceeded"

    asyncio.run(story())


def test_on_a_slurm_of_others_a_price_that_nobody_knows_is_null_with_the_reason() -> None:
    async def story() -> None:
        api = Api(scaled=False)
        await api.world.observer.look()

        found = (await api({"script": SCRIPT})).json

        assert found["usd_per_hour_micros"] is None
        assert "an admin can say" in found["why_unknown"]
        assert (found["shape"], found["node"]) == (None, "w1")

    asyncio.run(story())
