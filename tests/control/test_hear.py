"""The inbox: what is said twice at once, in batches that overlap."""

import asyncio
from datetime import timedelta

from clusterra.adapters.memory import MemoryStore
from clusterra.control.hear import Inbox
from clusterra.core.change import Change
from clusterra.core.events.heard import Heard
from tests.builders import NOON
from tests.world import LAB, World


class SlowStore(MemoryStore):
    """Writes when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.let = asyncio.Semaphore(0)

    async def commit(self, cluster: str, change: Change) -> int:
        await self.let.acquire()
        return await super().commit(cluster, change)


def said(number: int) -> Heard:
    return Heard(
        id=f"{LAB}-{number}",
        job_id=number,
        what="started",
        at=NOON + timedelta(seconds=number),
    )


def test_whoever_repeats_what_is_on_its_way_in_several_batches_is_answered() -> None:
    """Whichever batch they wait for first, the other may be written meanwhile."""

    async def story() -> None:
        store = SlowStore()
        world = World(store=store)
        inbox = Inbox(site=world.site, store=store, clock=world.clock)
        hearing = []
        for number in range(20):
            # Each comes while the one before is being written, and so makes a batch of its own.
            hearing.append(asyncio.create_task(inbox.hear([said(number)])))
            await asyncio.sleep(0)
            repeated = [said(each) for each in range(number + 1)]
            hearing.append(asyncio.create_task(inbox.hear(repeated)))
            for _ in range(5):
                await asyncio.sleep(0)
            if number % 2:
                store.let.release()
        for _ in range(40):
            store.let.release()
        done = await asyncio.gather(*hearing)

        assert sum(receipt.accepted - receipt.duplicates for receipt in done) == 20

    asyncio.run(asyncio.wait_for(story(), 10))
