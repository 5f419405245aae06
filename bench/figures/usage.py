"""How soon a month is known, of a cluster that has finished a million jobs in it.

The books are filled by the store itself, in few commits: ten thousand jobs to an event, where
in life each has its own. What the sums are read from is the same in the end, row by row.
"""

import asyncio
import random
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from time import perf_counter
from zoneinfo import ZoneInfo

from bench.figure import Goal, Row
from bench.stage import Stage
from bench.timing import seconds
from clusterra.adapters.sqlite.store import SqliteStore
from clusterra.core.change import Change
from clusterra.core.cost.books import By, Entry, Payer, Spending
from clusterra.core.cost.charges import Charge, accrued
from clusterra.core.cost.periods import Period, named
from clusterra.core.events.catalogue import fleet as facts
from clusterra.core.events.event import Draft

LAB = "clus1a2b"
MONTH = "2026-11"
JOBS = 1_000_000
PEOPLE = 500
BATCH = 10_000
ROUNDS = 5
"""The quickest counts: whatever else the machine did can only have made a round slower."""

ROWS = {"usage-month": "UTC", "usage-month-zone": "Asia/Kolkata"}


def month(_: Stage) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        bare = sqlite3.connect(Path(folder) / "bare.db")
        taken = asyncio.run(_asked(Path(folder) / "clusterra.db", bare))
        rescan = min(seconds(lambda: _rescan(bare)) for _round in range(ROUNDS))
        bare.close()
    for (name, zone), ours in zip(ROWS.items(), taken, strict=True):
        yield Row(
            name=name,
            what=f"seconds to sum up a month of 1,000,000 jobs by person, in {zone}",
            ours=ours,
            unit="s",
            beside=rescan,
            beside_what="going through what each of them cost, in a bare SQLite table",
            goal=Goal(bound=0.2),
        )


async def _asked(path: Path, bare: sqlite3.Connection) -> list[float]:
    store = SqliteStore(path)
    await _fill(store, bare, named(MONTH, ZoneInfo("UTC")))
    taken = [await _quickest(store, named(MONTH, ZoneInfo(zone))) for zone in ROWS.values()]
    store.close()
    return taken


async def _quickest(store: SqliteStore, period: Period) -> float:
    query = Spending(clusters=(LAB,), since=period.since, until=period.until, by=(By.PERSON,))
    rounds = []
    for _round in range(ROUNDS):
        began = perf_counter()
        found = await store.spent(query)
        rounds.append(perf_counter() - began)
        assert len(found) == PEOPLE
    return min(rounds)


async def _fill(store: SqliteStore, bare: sqlite3.Connection, period: Period) -> None:
    """Have the jobs end one after another, from the beginning of the month to its end."""
    bare.execute("create table job (person text not null, micros integer not null) strict")
    chance = random.Random(7)
    paying = _crowd(chance)
    apart = (period.until - period.since) / JOBS
    for first in range(0, JOBS, BATCH):
        entries = tuple(
            _ended(paying[n], period.since + n * apart, n, chance)
            for n in range(first, first + BATCH)
        )
        draft = Draft(
            id=f"jobs-{first}",
            fact=facts.FleetCostWasted(since=period.since, until=period.until, micros=0),
            at=period.until,
            actor="system:meter",
            subject="cluster",
            entries=entries,
        )
        await store.commit(LAB, Change(events=[draft]))
        bare.executemany(
            "insert into job values (?, ?)",
            [(each.payer.person, accrued(each.charges)) for each in entries],
        )
    bare.commit()


def _crowd(chance: random.Random) -> Sequence[Payer]:
    """Return who pays for each job: a few have most of them, everybody some, each of four kinds."""
    payers = [
        Payer(
            person=f"person{who:03}@lab.example",
            account=f"account{who % 25}",
            partition=partition,
            template=template,
        )
        for who in range(PEOPLE)
        for partition in ("main", "gpu")
        for template in ("", "align")
    ]
    shares = [1 / (number // 4 + 10) for number in range(len(payers))]
    return chance.choices(payers, shares, k=JOBS)


def _ended(payer: Payer, at: datetime, n: int, chance: random.Random) -> Entry:
    """Return a job of ten seconds to four hours: as many of minutes as of hours."""
    until = at.replace(microsecond=0)
    since = until - timedelta(seconds=int(10 * 1440 ** chance.random()))
    charge = Charge(since=since, until=until, usd_per_hour=10_000 + n)
    return Entry(payer=payer, charges=(charge,), cpus=4, until=until, jobs=1)


def _rescan(bare: sqlite3.Connection) -> None:
    found = bare.execute("select person, sum(micros) from job group by person").fetchall()
    assert len(found) == PEOPLE
