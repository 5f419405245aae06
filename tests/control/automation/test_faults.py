"""Whatever dies or cannot be reached, what is to be done is done, and once."""

import asyncio
from datetime import timedelta

import pytest

from clusterra.control import submit
from clusterra.core.automation.firing import DUE
from clusterra.core.jobs.job import JobState
from clusterra.ports import Store
from tests.automations import Lab, LosesACommit
from tests.people import SOMEBODY
from tests.world import LAB, World

OOM = {"when": "job.out_of_memory", "do": [{"retry": {}}]}


def test_whoever_dies_between_acting_and_writing_it_down_acts_once(store: Store) -> None:
    async def story() -> None:
        losing = LosesACommit(store)
        lab = await Lab(world=World(store=losing)).open()
        await lab.rule(OOM)
        id = await lab.submits()
        lab.world.slurm.move(id, JobState.OUT_OF_MEMORY)
        await lab.world.observer.look()
        await lab.reader.read()
        with pytest.raises(Exception, match="disk is gone"):
            await lab.actor.act()
        await lab.plane.submitters[LAB].settle()
        assert len(lab.jobs()) == 2
        assert await lab.said() == []

        # Another process takes over, with nothing but the store.
        reader, actor = lab.hands(LAB)
        while await reader.read() or await actor.act():
            pass
        assert len(lab.jobs()) == 2
        assert lab.world.slurm.asked["submit"] == 2
        fired = await lab.said()
        assert [each["type"] for each in fired] == ["automation.fired"] * 2
        assert fired[0]["made_job_id"] == lab.jobs()[-1].id
        assert await store.list(DUE) == []

    asyncio.run(story())


def test_while_slurm_cannot_be_reached_it_is_tried_again_and_not_refused() -> None:
    async def story() -> None:
        lab = await Lab().open()
        await lab.rule(OOM)
        id = await lab.submits()
        lab.world.slurm.move(id, JobState.OUT_OF_MEMORY)
        await lab.world.observer.look()
        await lab.reader.read()
        lab.world.slurm.reachable = False
        for _ in range(5):
            await lab.actor.act()
            lab.world.clock.advance(timedelta(minutes=10))
        assert await lab.said() == []
        (due,) = await lab.world.store.list(DUE)
        assert due.value.tries == 5

        lab.world.slurm.reachable = True
        await lab.later(minutes=10)
        assert len(lab.jobs()) == 2
        assert (await lab.said())[0]["type"] == "automation.fired"

    asyncio.run(story())


def test_what_slurm_took_without_answering_is_found_and_not_submitted_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(submit, "SETTLED_AFTER", timedelta(0))

    async def story() -> None:
        lab = await Lab().open()
        await lab.rule(OOM)
        id = await lab.submits()
        lab.world.slurm.loses_answers = True
        await lab.ends(id, JobState.OUT_OF_MEMORY)
        lab.world.slurm.loses_answers = False
        await lab.later(minutes=1)

        assert len(lab.jobs()) == 2
        assert (await lab.said())[0]["made_job_id"] == 2

    asyncio.run(story())


def test_a_pause_is_kept_and_grows(store: Store) -> None:
    async def story() -> None:
        lab = await Lab(store).open()
        await lab.rule(OOM | {"most": 2, "backoff": "5m"})
        await lab.ends(await lab.submits(), JobState.OUT_OF_MEMORY)
        assert len(lab.jobs()) == 1
        await lab.later(minutes=4)
        assert len(lab.jobs()) == 1
        await lab.later(minutes=1)
        assert len(lab.jobs()) == 2

        await lab.ends(2, JobState.OUT_OF_MEMORY)
        await lab.later(minutes=9)
        assert len(lab.jobs()) == 2
        await lab.later(minutes=1)
        assert len(lab.jobs()) == 3

    asyncio.run(story())


def test_what_is_turned_off_while_it_waits_is_not_done() -> None:
    async def story() -> None:
        lab = await Lab().open()
        rule = await lab.rule(OOM | {"backoff": "5m"})
        await lab.ends(await lab.submits(), JobState.OUT_OF_MEMORY)
        await lab.plane.automations.rules.delete(rule.id, by=SOMEBODY)
        await lab.later(minutes=5)

        (stopped,) = await lab.said()
        assert stopped["why"] == "it was taken away before it acted"
        assert len(lab.jobs()) == 1

    asyncio.run(story())


def test_a_rule_answers_what_happens_after_it_was_made(store: Store) -> None:
    async def story() -> None:
        lab = await Lab(store).open()
        await lab.ends(await lab.submits(), JobState.OUT_OF_MEMORY)
        await lab.rule(OOM)
        await lab.round()
        assert len(lab.jobs()) == 1

        # Not even whoever starts anew answers what came before.
        lab.reader, lab.actor = lab.hands(LAB)
        await lab.round()
        assert len(lab.jobs()) == 1
        await lab.ends(await lab.submits(), JobState.OUT_OF_MEMORY)
        assert len(lab.jobs()) == 3

    asyncio.run(story())


def test_of_two_servers_one_acts() -> None:
    async def story() -> None:
        lab = await Lab().open()
        await lab.rule(OOM)
        id = await lab.submits()
        await lab.round()
        other = Lab(world=World(store=lab.world.store, clock=lab.world.clock))
        other.plane.automations.holder = "another"
        await other.plane.open()
        other.reader, other.actor = other.hands(LAB)
        lab.world.slurm.move(id, JobState.OUT_OF_MEMORY)
        await lab.world.observer.look()

        assert not await other.reader.read()
        assert not await other.actor.act()
        await lab.round()
        assert not await other.reader.read()
        assert len(lab.jobs()) == 2
        # Until the one that acts is silent for long.
        lab.world.clock.advance(timedelta(minutes=3))
        assert await other.reader.due.lease() is not None

    asyncio.run(story())
