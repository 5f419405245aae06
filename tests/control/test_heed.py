"""What comes of a hook's word."""

import asyncio
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any

from clusterra.control.hear import Inbox
from clusterra.control.heed import PATIENCE, Heeder
from clusterra.core.events.event import Event, EventQuery
from clusterra.core.events.heard import Heard, read
from clusterra.core.jobs.job import JobState
from clusterra.ports import Store
from tests.world import LAB, World


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(story)


class Listening:
    """A world whose cluster has been seen, and whose hooks speak."""

    def __init__(self, store: Store, **more: Any) -> None:
        self.world = World(store, **more)
        self.inbox = Inbox(site=self.world.site, store=store, clock=self.world.clock)
        self.heeder = Heeder(
            site=self.world.site, store=store, clock=self.world.clock, inbox=self.inbox
        )

    async def hear(self, event: str, job_id: int, **more: Any) -> None:
        now = self.world.clock.now()
        item = {"ts": now.isoformat(), "event": f"job.{event}", "job_id": str(job_id), **more}
        heard = read(item, cluster=LAB, now=now)
        assert isinstance(heard, Heard)
        await self.inbox.hear([heard])

    async def told(self) -> list[Event]:
        """Return what happened to jobs; what they cost is told beside that."""
        query = EventQuery(types=("job.*",), limit=1000)
        found = await self.world.store.events(LAB, query)
        return [event for event in found if not event.type.startswith("job.cost.")]


def types(events: list[Event]) -> list[str]:
    return [event.type for event in events]


def test_a_hook_brings_what_slurm_says_sooner(store: Store) -> None:
    async def story() -> None:
        here = Listening(store)
        await here.world.observer.look()
        id = await here.world.submitted_past_us()
        here.world.slurm.move(id, JobState.RUNNING)
        await here.hear("started", id)

        assert not await here.heeder.heed()

        assert types(await here.told()) == ["job.submitted", "job.started"]
        assert await here.inbox.pending() == []

    run(story())


def test_the_next_look_does_not_fetch_again_what_a_hook_had_fetched(store: Store) -> None:
    async def story() -> None:
        here = Listening(store)
        await here.world.observer.look()
        id = await here.world.submitted_past_us()
        here.world.slurm.move(id, JobState.RUNNING)
        await here.hear("started", id)
        await here.heeder.heed()
        asked = here.world.slurm.asked["job"]

        await here.world.observer.look()

        assert here.world.slurm.asked["job"] == asked

    run(story())


def test_a_word_that_comes_before_slurm_shows_it_waits_for_slurm(store: Store) -> None:
    async def story() -> None:
        here = Listening(store)
        await here.world.observer.look()
        id = await here.world.submitted_past_us()
        here.world.slurm.move(id, JobState.RUNNING)
        await here.hear("completed", id)
        await here.heeder.heed()
        assert len(await here.inbox.pending()) == 1

        here.world.slurm.move(id, JobState.COMPLETED)
        await here.heeder.heed()

        assert types(await here.told()) == ["job.submitted", "job.started", "job.completed"]
        assert await here.inbox.pending() == []

    run(story())


def test_slurm_is_believed_when_it_keeps_saying_otherwise(store: Store) -> None:
    async def story() -> None:
        here = Listening(store)
        await here.world.observer.look()
        id = await here.world.submitted_past_us()
        await here.world.observer.look()
        await here.hear("failed", id)
        await here.heeder.heed()
        here.world.clock.advance(PATIENCE + timedelta(seconds=1))
        await here.heeder.heed()

        assert "job.failed" not in types(await here.told())
        assert await here.inbox.pending() == []

    run(story())


def test_of_a_job_that_slurm_does_not_know_the_hooks_word_is_told_once(store: Store) -> None:
    async def story() -> None:
        here = Listening(store)
        await here.world.observer.look()
        await here.hear("started", 4242, user="ana", node="w9")
        await here.heeder.heed()
        await here.hear("started", 4242, user="ana", node="w9")
        await here.heeder.heed()

        [event] = await here.told()
        assert (event.type, event.subject) == ("job.started", "job/4242")
        assert b'"observed_by":"hook"' in event.body

    run(story())


def test_a_job_that_only_accounting_knows_is_told_from_there(store: Store) -> None:
    async def story() -> None:
        here = Listening(store)
        await here.world.observer.look()
        id = await here.world.submitted_past_us()
        here.world.slurm.move(id, JobState.RUNNING)
        here.world.slurm.move(id, JobState.FAILED, exit_code=3)
        here.world.slurm.forget(id)
        await here.hear("failed", id)
        await here.heeder.heed()

        events = await here.told()
        assert types(events) == ["job.submitted", "job.started", "job.failed"]
        assert b'"exit_code":3' in events[-1].body

    run(story())


def test_what_was_said_before_the_cluster_was_ever_seen_waits_in_the_inbox(store: Store) -> None:
    async def story() -> None:
        here = Listening(store)
        await here.hear("started", 7)
        assert await here.heeder.heed()
        assert await here.told() == []
        assert len(await here.inbox.pending()) == 1

        await here.world.observer.look()
        await here.heeder.heed()
        assert types(await here.told()) == ["job.started"]

    run(story())


def test_a_crowd_is_left_to_the_look_at_the_queue(store: Store) -> None:
    async def story() -> None:
        here = Listening(store)
        await here.world.observer.look()
        ids = [await here.world.submitted_past_us() for _ in range(150)]
        for id in ids:
            here.world.slurm.move(id, JobState.RUNNING)
            await here.hear("started", id)
        assert await here.heeder.heed()
        assert here.world.woken

        await here.world.observer.look()
        await here.heeder.heed()

        events = await here.told()
        assert types(events).count("job.started") == 150
        assert await here.inbox.pending() == []

    run(story())
