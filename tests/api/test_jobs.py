"""Jobs over HTTP, on a Slurm in memory."""

import asyncio
from typing import Any

import pytest

from clusterra.api.app import make_app
from clusterra.core.jobs.job import JobState
from tests.api.asgi import Answer, ask
from tests.people import token_of
from tests.world import LAB, World

JOBS = f"/v1/clusters/{LAB}/jobs"
SCRIPT = "#!/bin/bash\ntrue\n"


class Api:
    def __init__(self, world: World) -> None:
        self.world = world
        self.plane = world.plane()
        self._app = make_app(self.plane)

    async def __call__(self, method: str, path: str, body: object = None, **more: str) -> Answer:
        return await ask(self._app, method, path, body, **more)

    async def submit(self, **wishes: Any) -> int:
        answer = await self("POST", f"{JOBS}/submit", {"script": SCRIPT, **wishes})
        assert answer.status == 201, answer.body
        return int(answer.json["job_id"])


def test_a_submitted_job_is_found_by_its_id_at_once_and_in_the_list_after_a_look() -> None:
    async def story() -> None:
        api = Api(world := World())
        answer = await api("POST", f"{JOBS}/submit", {"script": SCRIPT, "name": "align"})

        assert (answer.status, answer.json["user"]) == (201, "ana")
        assert answer.headers["location"] == f"{JOBS}/1"
        shown = await api("GET", f"{JOBS}/1")
        assert (shown.json["state"], shown.json["name"]) == ("PENDING", "align")
        assert shown.json["run_id"] == answer.json["run_id"]
        await world.observer.look()
        listed = await api("GET", JOBS)
        assert [job["job_id"] for job in listed.json["jobs"]] == [1]
        assert (listed.json["next"], listed.json["total"]) == (None, 1)
        assert (listed.json["stale"], listed.json["age_seconds"]) == (False, 0)

    asyncio.run(story())


def test_pages_follow_one_another_by_cursor() -> None:
    async def story() -> None:
        api = Api(world := World())
        for _ in range(7):
            await api.submit()
        await world.observer.look()
        seen, cursor = [], ""
        for _ in range(3):
            page = (await api("GET", f"{JOBS}?limit=3&sort=id&cursor={cursor}")).json
            seen += [job["job_id"] for job in page["jobs"]]
            cursor = page["next"]

        assert seen == [1, 2, 3, 4, 5, 6, 7]
        assert cursor is None

    asyncio.run(story())


def test_a_cursor_of_another_order_is_refused() -> None:
    async def story() -> None:
        api = Api(world := World())
        for _ in range(3):
            await api.submit()
        await world.observer.look()
        cursor = (await api("GET", f"{JOBS}?limit=1&sort=id")).json["next"]

        answer = await api("GET", f"{JOBS}?limit=1&sort=name&cursor={cursor}")

        assert (answer.status, answer.json["code"]) == (422, "bad-cursor")

    asyncio.run(story())


def test_filters_and_the_query_language_mean_the_same() -> None:
    async def story() -> None:
        api = Api(world := World())
        await api.submit(name="a")
        await api.submit(name="b")
        world.slurm.move(2, JobState.RUNNING)
        await world.observer.look()

        for asked in ("q=state:running", "state=running", "q=b", "user=ana&q=name:b"):
            page = (await api("GET", f"{JOBS}?{asked}")).json
            assert [job["name"] for job in page["jobs"]] == ["b"], asked

    asyncio.run(story())


def test_a_repeated_request_is_told_apart_by_its_status() -> None:
    async def story() -> None:
        api = Api(World())
        body = {"script": SCRIPT}
        first = await api("POST", f"{JOBS}/submit", body, idempotency_key="k")
        again = await api("POST", f"{JOBS}/submit", body, idempotency_key="k")

        assert (first.status, again.status) == (201, 200)
        assert first.json == again.json
        assert again.headers["idempotent-replayed"] == "true"
        too_long = await api("POST", f"{JOBS}/submit", body, idempotency_key="k" * 256)
        assert too_long.status == 422

    asyncio.run(story())


def test_acts_reach_slurm_and_say_what_they_found() -> None:
    async def story() -> None:
        api = Api(world := World())
        await api.submit(hold=True)

        assert (await api("POST", f"{JOBS}/1/release")).json["act"] == "release"
        assert (await api("PATCH", f"{JOBS}/1", {"name": "new", "time": "2h"})).status == 200
        [job] = await world.slurm.job(1)
        assert (job.name, job.time_limit_minutes) == ("new", 120)
        assert (await api("DELETE", f"{JOBS}/1")).json == {
            "job_id": 1,
            "act": "cancel",
            "state": "PENDING",
        }
        await world.observer.look()
        again = await api("DELETE", f"{JOBS}/1")
        assert (again.status, again.json["code"]) == (409, "job-ended")
        nothing = await api("PATCH", f"{JOBS}/1", {})
        assert nothing.status == 422

    asyncio.run(story())


def test_a_person_may_not_touch_anothers_job_and_the_admin_may() -> None:
    async def story() -> None:
        api = Api(world := World())
        id = await world.submitted_past_us(user="ben")

        answer = await api("DELETE", f"{JOBS}/{id}", token=await token_of(api.plane, "eve"))

        assert (answer.status, answer.json["code"]) == (403, "foreign-job")
        assert answer.json["detail"] == f"Job {id} belongs to ben; you are eve."
        assert (await api("DELETE", f"{JOBS}/{id}")).status == 200

    asyncio.run(story())


def test_a_bulk_cancel_counts_first_and_then_cancels_only_ones_own() -> None:
    async def story() -> None:
        api = Api(world := World())
        for user in ("ben", "ben", "eve"):
            await world.submitted_past_us(user=user, name="sweep")
        await world.observer.look()
        ask_ben = {"token": await token_of(api.plane, "ben")}

        counted = await api("POST", f"{JOBS}/cancel", {"query": "name:sweep"}, **ask_ben)
        assert (counted.json["count"], counted.json["dry_run"]) == (2, True)
        assert world.slurm.asked["cancel"] == 0
        done = await api(
            "POST", f"{JOBS}/cancel", {"query": "name:sweep", "dry_run": False}, **ask_ben
        )
        assert (done.json["count"], done.json["failed"]) == (2, [])
        [eves] = await world.slurm.job(3)
        assert eves.state is JobState.PENDING
        empty = await api("POST", f"{JOBS}/cancel", {"query": " "})
        assert (empty.status, empty.json["code"]) == (422, "query-empty")

    asyncio.run(story())


def test_an_unreachable_slurm_is_503_with_a_time_to_come_back() -> None:
    async def story() -> None:
        api = Api(world := World())
        world.slurm.reachable = False

        answer = await api("POST", f"{JOBS}/submit", {"script": SCRIPT})

        assert answer.status == 503
        assert int(answer.headers["retry-after"]) > 0
        assert answer.headers["content-type"] == "application/problem+json"

    asyncio.run(story())


def test_what_is_known_is_shown_with_its_age_while_slurm_is_away() -> None:
    async def story() -> None:
        api = Api(world := World())
        await api.submit()
        await world.observer.look()
        world.slurm.reachable = False
        with pytest.raises(Exception, match="cannot be reached"):
            await world.observer.look()

        page = (await api("GET", JOBS)).json
        cluster = (await api("GET", f"/v1/clusters/{LAB}")).json

        assert (page["total"], page["stale"]) == (1, True)
        assert (cluster["state"], cluster["connection_state"]) == ("unreachable", "disconnected")
        assert cluster["why"] == "Slurm cannot be reached."

    asyncio.run(story())
