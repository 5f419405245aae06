"""What the ledger's proof costs, and how quickly it is checked."""

import asyncio
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from bench.figure import Goal, Row
from bench.stage import Stage
from bench.timing import seconds
from clusterra.adapters.clock import SystemClock
from clusterra.adapters.ledger_key import LedgerKey
from clusterra.adapters.memory_archive import MemoryArchive
from clusterra.adapters.sqlite.store import SqliteStore
from clusterra.control.checkpoint import Checkpointer
from clusterra.control.export import export
from clusterra.core.change import Change
from clusterra.core.events.catalogue import jobs as facts
from clusterra.core.events.chain import Growing, Head
from clusterra.core.events.event import Draft, Event, EventQuery
from clusterra.core.events.reading import Verdict
from clusterra.core.events.verify import verify
from clusterra.core.ids import uuid8

T = TypeVar("T")

LAB = "clus1a2b"
EVENTS = 10_000
BATCH = 500
ROUNDS = 5
"""The quickest counts: whatever else the machine did can only have made a round slower."""


def chain(_: Stage) -> Iterator[Row]:
    appends, hashes, checks = [], [], []
    for _round in range(ROUNDS):
        run = asyncio.run(_append())
        appends.append(run.append)
        hashes.append(_quickest(_hash, run.events))
        checks.append(_quickest(_verified, run.lines))
    append, hashing, checking = min(appends), min(hashes), min(checks)
    yield Row(
        name="ledger-chain",
        what="microseconds of hash chain and Merkle tree per event",
        ours=hashing / EVENTS * 1e6,
        unit="µs",
        beside=append / EVENTS * 1e6,
        beside_what=f"a whole durable append, in batches of {BATCH}",
        goal=Goal(bound=0.25, of_ratio=True),
    )
    yield Row(
        name="ledger-verify",
        what="events verified a second, from the lines of an export",
        ours=EVENTS / checking,
        unit="/s",
        beside=EVENTS / append,
        beside_what=f"events appended a second, in batches of {BATCH}",
        goal=Goal(bound=5, least=True, of_ratio=True),
    )


def array(_: Stage) -> Iterator[Row]:
    runs = [asyncio.run(_at_once()) for _round in range(ROUNDS)]
    yield Row(
        name="array-10k",
        what="seconds until the 10,000 tasks of an array that starts are in the ledger",
        ours=min(ours for ours, _ in runs),
        unit="s",
        beside=min(raw for _, raw in runs),
        beside_what="the same bytes inserted into a bare SQLite table, one transaction",
        goal=Goal(bound=3),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """A ledger that was appended to in batches, and how long that took."""

    append: float
    events: Sequence[Event]
    lines: list[bytes]


async def _append() -> _Run:
    drafts = _drafts()
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "clusterra.db")
        began = time.perf_counter()
        for at in range(0, EVENTS, BATCH):
            await store.commit(LAB, Change(events=drafts[at : at + BATCH]))
        append = time.perf_counter() - began
        events = await store.events(LAB, EventQuery(limit=EVENTS))
        lines = await _export(store)
        store.close()
    return _Run(append=append, events=events, lines=lines)


async def _export(store: SqliteStore) -> list[bytes]:
    archive = MemoryArchive()
    ledger = Checkpointer(
        cluster=LAB,
        store=store,
        archive=archive,
        signer=LedgerKey(bytes(32)),
        clock=SystemClock(),
    )
    await ledger.sign()
    lines = await export(LAB, key=ledger.key, store=store, archive=archive)
    return b"".join([part async for part in lines]).splitlines()


async def _at_once() -> tuple[float, float]:
    drafts = _drafts()
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "clusterra.db")
        began = time.perf_counter()
        await store.commit(LAB, Change(events=drafts))
        ours = time.perf_counter() - began
        events = await store.events(LAB, EventQuery(limit=EVENTS))
        store.close()
        db = sqlite3.connect(Path(folder) / "bare.db", isolation_level=None)
        db.execute("pragma journal_mode = wal")
        db.execute("pragma synchronous = full")
        db.execute("create table event (seq integer primary key, body blob not null) strict")
        raw = seconds(lambda: _insert(db, events))
        db.close()
    return ours, raw


def _insert(db: sqlite3.Connection, events: Sequence[Event]) -> None:
    db.execute("begin")
    db.executemany("insert into event values (?, ?)", [(event.seq, event.body) for event in events])
    db.execute("commit")


def _quickest(call: Callable[[T], None], what: T) -> float:
    return min(seconds(lambda: call(what)) for _time in range(ROUNDS))


def _hash(events: Sequence[Event]) -> None:
    growing = Growing(Head())
    for event in events:
        growing.add(event.body)


def _verified(lines: list[bytes]) -> None:
    assert verify(lines).verdict is Verdict.INTACT


def _drafts() -> list[Draft]:
    now = SystemClock().now()
    return [
        Draft(
            id=uuid8(LAB, "job", n, "started"),
            fact=facts.JobStarted(
                job_id=n,
                label=f"1_{n}",
                name="align",
                user="ana",
                account="lab",
                partition="main",
                state="RUNNING",
                array_id=1,
                array_task=n,
                nodes="w1",
                cpus=2,
                memory_mib=4096,
                waited_seconds=3,
            ),
            at=now,
            actor="system:slurm",
            subject=f"job/{n}",
            correlation="job/1/1772452800",
        )
        for n in range(1, EVENTS + 1)
    ]
