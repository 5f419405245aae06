"""What is said with a submission follows that job, and whatever stands in for it."""

import asyncio

import pytest

from clusterra.core.automation.rule import RULE
from clusterra.core.errors import ClusterraError, Invalid, Refused
from clusterra.core.jobs.job import JobState
from clusterra.ports import Store
from tests.automations import HOOK, Lab
from tests.world import LAB

NEXT = "#!/bin/sh\n./report {{job.id}}\n"


def test_a_submission_that_says_so_is_retried_and_what_follows_follows_the_retry(
    store: Store,
) -> None:
    async def story() -> None:
        lab = await Lab(store).open()
        first = await lab.submits(
            then=[
                {"when": "failed", "do": {"retry": {}}, "most": 2},
                {"when": "completed", "do": {"submit": {"script": NEXT}}},
            ]
        )
        other = await lab.submits()
        await lab.ends(other, JobState.OUT_OF_MEMORY)
        assert len(lab.jobs()) == 2, "it was said of another job"

        await lab.ends(first, JobState.OUT_OF_MEMORY)
        again = lab.jobs()[-1]
        assert again.memory_mib == 1536
        await lab.ends(again.id, JobState.TIMEOUT)
        third = lab.jobs()[-1]
        assert (third.memory_mib, third.time_limit_minutes) == (1536, 120)
        await lab.ends(third.id, JobState.COMPLETED)

        assert len(lab.jobs()) == 5
        said = [each for each in await lab.said() if each["subject"] == f"job/{third.id}"]
        assert [each["action"] for each in said] == ["retry", "submit"]
        assert {each["id"] for each in said} == {""}
        assert await store.list(RULE) == [], "it is over"

        await lab.ends(lab.jobs()[-1].id, JobState.COMPLETED)
        assert len(lab.jobs()) == 5

    asyncio.run(story())


def test_after_so_many_retries_it_is_left_and_that_is_told() -> None:
    async def story() -> None:
        lab = await Lab().open()
        await lab.hook()
        id = await lab.submits(
            then=[
                {"when": "failed", "do": {"retry": {}}},
                {"when": "ended", "do": {"notify": HOOK}},
            ]
        )
        await lab.ends(id, JobState.OUT_OF_MEMORY)
        await lab.ends(lab.jobs()[-1].id, JobState.OUT_OF_MEMORY)

        assert len(lab.jobs()) == 2
        assert len(lab.told) == 2
        assert [each["type"] for each in await lab.said()].count("automation.stopped") == 1
        assert await lab.world.store.list(RULE) == []

    asyncio.run(story())


def test_it_is_kept_before_slurm_is_asked() -> None:
    async def story() -> None:
        lab = await Lab().open()
        seen = []
        take = lab.world.slurm.submit

        async def submit(request: object, *, user: str) -> object:
            seen.append(len(await lab.world.store.list(RULE)))
            return await take(request, user=user)  # type: ignore[arg-type]

        lab.world.slurm.submit = submit  # type: ignore[method-assign,assignment]
        await lab.submits(then=[{"when": "failed", "do": {"retry": {}}}])
        assert seen == [1]

    asyncio.run(story())


def test_of_a_job_that_slurm_refuses_nothing_is_kept() -> None:
    async def story() -> None:
        lab = await Lab().open()
        with pytest.raises(Refused):
            await lab.submits(partition="none", then=[{"when": "failed", "do": {"retry": {}}}])
        assert await lab.world.store.list(RULE) == []
        assert list(lab.plane.automations.rules.bound("")) == []
        assert not lab.plane.automations.rules.any_bound

    asyncio.run(story())


def test_a_webhook_that_is_not_theirs_is_refused_before_anything_is_submitted() -> None:
    async def story() -> None:
        lab = await Lab().open()
        await lab.hook(owner="ben")
        with pytest.raises(ClusterraError) as caught:
            await lab.submits(then=[{"when": "ended", "do": {"notify": HOOK}}])
        assert caught.value.code == "foreign-webhook"
        assert caught.value.at == "then[0].do[0].notify"
        with pytest.raises(Invalid) as wrong:
            await lab.submits(then=[{"when": "sometime", "do": {"retry": {}}}])
        assert wrong.value.at == "then[0].when"
        assert lab.jobs() == []

    asyncio.run(story())


def test_a_server_that_starts_anew_goes_on_with_it(store: Store) -> None:
    async def story() -> None:
        lab = await Lab(store).open()
        id = await lab.submits(then=[{"when": "failed", "do": {"retry": {}}}])
        lab.world.slurm.move(id, JobState.OUT_OF_MEMORY)
        await lab.world.observer.look()

        await lab.plane.automations.rules.load()
        lab.reader, lab.actor = lab.hands(LAB)
        await lab.round()
        assert len(lab.jobs()) == 2

    asyncio.run(story())
