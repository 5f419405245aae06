"""Events and whole ledgers to test with."""

import asyncio
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from clusterra.adapters.ledger_key import LedgerKey
from clusterra.adapters.memory import ManualClock, MemoryStore
from clusterra.adapters.memory_archive import MemoryArchive
from clusterra.control.checkpoint import Checkpointer
from clusterra.control.export import export
from clusterra.core.change import Change
from clusterra.core.events.catalogue import jobs as facts
from clusterra.core.events.event import Draft
from clusterra.core.ids import uuid8
from tests.builders import NOON

LAB = "cluslab1"


def a_draft(n: int = 1, *, at: datetime = NOON, cluster: str = LAB) -> Draft:
    """Return the start of job `n`: the same event for the same number."""
    return Draft(
        id=uuid8(cluster, "job", n),
        fact=facts.JobStarted(
            job_id=n,
            label=str(n),
            name="align",
            user="ana",
            account="lab",
            partition="main",
            state="RUNNING",
            nodes="w1",
            cpus=2,
            memory_mib=4096,
            waited_seconds=3,
        ),
        at=at,
        actor="system:slurm",
        subject=f"job/{n}",
        correlation=f"job/{n}/{int(NOON.timestamp())}",
    )


SEED = bytes(range(32))


@dataclass(slots=True)
class Ledger:
    """A ledger in memory with all that belongs to it."""

    seed: bytes = SEED
    clock: ManualClock = field(default_factory=lambda: ManualClock(NOON))
    store: MemoryStore = field(init=False)
    archive: MemoryArchive = field(default_factory=MemoryArchive)
    checkpointer: Checkpointer = field(init=False)

    def __post_init__(self) -> None:
        self.store = MemoryStore(clock=self.clock)
        self.checkpointer = Checkpointer(
            cluster=LAB,
            store=self.store,
            archive=self.archive,
            signer=LedgerKey(self.seed),
            clock=self.clock,
        )

    async def grow(self, by: int, *, name: str = "") -> None:
        """Add so many events; with a name, others than without."""
        first = (await self.store.head(LAB)).size + 1
        drafts = [a_draft(n) for n in range(first, first + by)]
        if name:
            drafts = [replace(each, id=uuid8(name, each.id), correlation=name) for each in drafts]
        await self.store.commit(LAB, Change(events=drafts))

    async def grow_and_sign(self, *steps: int, name: str = "") -> None:
        for step in steps:
            await self.grow(step, name=name)
            self.clock.advance(timedelta(minutes=1))
            await self.checkpointer.sign()

    async def export(self, *, after: int = 0, until: int | None = None) -> list[bytes]:
        lines = await export(
            LAB,
            after=after,
            until=until,
            key=self.checkpointer.key,
            store=self.store,
            archive=self.archive,
        )
        return b"".join([part async for part in lines]).removesuffix(b"\n").split(b"\n")


def exported(*steps: int, seed: bytes = SEED, name: str = "", after: int = 0) -> list[bytes]:
    """Return an export of a ledger that grew in so many steps and was signed after each."""

    async def made() -> list[bytes]:
        ledger = Ledger(seed=seed)
        await ledger.grow_and_sign(*steps, name=name)
        return await ledger.export(after=after)

    return asyncio.run(made())
