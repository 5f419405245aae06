"""An automation can be tried out before anybody relies on it."""

import asyncio
from datetime import timedelta

from clusterra.core.automation.firing import FiringState
from clusterra.core.jobs.job import JobState
from tests.automations import Lab

OOM = {"when": "job.out_of_memory", "do": [{"retry": {}}]}


def test_a_rule_that_is_tried_out_notes_what_it_would_have_done() -> None:
    async def story() -> None:
        lab = await Lab().open()
        rule = await lab.rule(OOM | {"state": "dry_run"})
        await lab.ends(await lab.submits(), JobState.OUT_OF_MEMORY)

        assert len(lab.jobs()) == 1
        assert await lab.said() == []
        (firing,) = await lab.plane.automations.firings(rule, 10)
        assert firing.state is FiringState.DRY
        assert firing.cause.job_id == 1

    asyncio.run(story())


def test_a_dry_run_over_the_past_says_what_would_have_been_done_and_does_nothing() -> None:
    async def story() -> None:
        lab = await Lab().open()
        for state in (JobState.OUT_OF_MEMORY, JobState.COMPLETED, JobState.OUT_OF_MEMORY):
            await lab.ends(await lab.submits(), state)
        rule = await lab.rule(OOM | {"state": "off"})
        owner = lab.plane.automations.owner_of(rule)
        assert owner is not None
        found = await lab.plane.automations.rehearse(rule, owner, since=None)

        assert (found.events, found.acted, found.stopped, found.jobs) == (2, 2, 0, 2)
        assert found.started == 2
        assert [each.cause.job_id for each in found.would] == [1, 3]
        assert len(lab.jobs()) == 3
        ahead = await lab.plane.automations.rehearse(
            rule, owner, since=lab.world.clock.now() - timedelta(seconds=1)
        )
        assert ahead.acted == 1

    asyncio.run(story())
