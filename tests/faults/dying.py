"""Work on a ledger and die at a named moment: `python -m tests.faults.dying`."""

import asyncio
import os
from datetime import timedelta
from pathlib import Path

from clusterra.adapters.archive_local import LocalArchive
from clusterra.adapters.clock import SystemClock
from clusterra.adapters.ledger_key import open_key
from clusterra.adapters.sqlite.store import SqliteStore
from clusterra.control.checkpoint import Checkpointer
from clusterra.control.seal import seal
from clusterra.core.change import Change
from tests.faults.death import Answer, Death, File, Moment, Statement
from tests.faults.mother import bear
from tests.ledger import LAB, a_draft

ROUNDS = 6
LANES = 4
SEGMENT = 8

POINTS: dict[str, Moment] = {
    "before a batch": Statement(like="begin immediate"),
    "before an id is written": Statement(like="insert into event_id"),
    "in the middle of a batch": Statement(like="insert into event values"),
    "before the head is written": Statement(like="insert into ledger"),
    "before the commit": Statement(like="commit"),
    "before a checkpoint is recorded": Statement(like=r"insert into record values \('checkpoint'"),
    "before a segment is recorded": Statement(like=r"insert into record values \('segment'"),
    "before a ledger is cut": Statement(like="update ledger set sealed"),
    "before sealed rows go": Statement(like="delete from event"),
    "while tables are made": Statement(like="create table event"),
    "before a checkpoint is archived": File(event="open", end="/checkpoints", mode="a"),
    "before a segment is written": File(event="open", end=".part", mode="w"),
    "before a segment gets its name": File(event="os.rename", end=".part"),
    "before the key gets its name": File(event="os.rename", end=".ledger.key.new"),
    "after the commit, before the answer": Answer(),
}
FIRST = ("while tables are made", "before the key gets its name")
"""What happens only where nothing was before."""


async def work(state: Path, told: int) -> None:
    """Append, sign and seal; write the ids of what was acknowledged to `told`."""
    clock, archive = SystemClock(), LocalArchive(state / "ledger")
    signer = open_key(state / "ledger.key")
    store = SqliteStore(state / "clusterra.db", clock=clock)
    ledger = Checkpointer(cluster=LAB, store=store, archive=archive, signer=signer, clock=clock)
    await ledger.open()
    if ledger.why_held:
        os.write(told, f"held {ledger.why_held}\n".encode())
        return

    async def append(first: int) -> None:
        # Some of them were told before, by another lane or before a death.
        drafts = [a_draft(n) for n in range(first - 2, first + 3)]
        await store.commit(LAB, Change(events=drafts))
        os.write(told, "".join(f"{draft.id}\n" for draft in drafts).encode())

    for _ in range(ROUNDS):
        head = (await store.head(LAB)).size
        await asyncio.gather(*(append(head + 2 * lane) for lane in range(LANES)))
        await ledger.sign()
        await seal(
            LAB,
            keep=timedelta(0),
            most=SEGMENT,
            key=ledger.key,
            store=store,
            archive=archive,
            clock=clock,
        )
    store.close()


def live(*, state: str, point: str, nth: int) -> None:
    Death(POINTS[point], nth).arrange()
    told = os.open(Path(state) / "acknowledged", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    asyncio.run(work(Path(state), told))


if __name__ == "__main__":
    bear(live)
