"""How soon a month is known, of a cluster that has finished a million jobs in it.

The books are filled by the store itself, in few commits: ten thousand jobs to an event, where
in life each has its own. What they hold in the end is the same, row by row.
"""

import asyncio
import random
import sqlite3
import tempfile
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from time import perf_counter
from zoneinfo import ZoneInfo

from bench.figure import Goal, Row
from bench.stage import Stage
from bench.timing import seconds
from clusterra.adapters.sqlite.store import SqliteStore
from clusterra.core.change import Change
from clusterra.core.cost.books import By, Entry, Payer, Run, Spending
from clusterra.core.cost.charges import Charge
from clusterra.core.cost.periods import Period, named
from clusterra.core.events import catalogue as facts
from clusterra.core.events.event import Draft

LAB = "clus1a2b"
MONTH = "2026-11"
JOBS = 1_000_000
PEOPLE = 500
BATCH = 10_000
ROUNDS = 5
"""The quickest counts: whatever else the machine did can only have made a round slower."""

RESCAN = "select person, sum(micros) from paid_run where cluster = ? group by person"


def month(_: Stage) -> Iterator[Row]:
    utc, india = ZoneInfo("UTC"), ZoneInfo("Asia/Kolkata")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "clusterra.db"
        taken = asyncio.run(_asked(path, [named(MONTH, zone) for zone in (utc, india)]))
        db = sqlite3.connect(path)
        rescan = min(seconds(db.execute(RESCAN, (LAB,)).fetchall) for _round in range(ROUNDS))
        db.close()
    for name, words, ours in zip(
        ("usage-month", "usage-month-zone"), ("UTC", "Asia/Kolkata"), taken, strict=True
    ):
        yield Row(
            name=name,
            what=f"seconds to sum up a month of 1,000,000 jobs by person, in {words}",
            ours=ours,
            unit="s",
            beside=rescan,
            beside_what="going through the runs of all these jobs",
            goal=Goal(bound=0.2),
        )


async def _asked(path: Path, periods: list[Period]) -> list[float]:
    store = SqliteStore(path)
    await _fill(store, periods[0])
    taken = []
    for period in periods:
        query = Spending(clusters=(LAB,), since=period.since, until=period.until, by=(By.PERSON,))
        rounds = []
        for _round in range(ROUNDS):
            began = perf_counter()
            found = await store.spent(query)
            rounds.append(perf_counter() - began)
            assert len(found) == PEOPLE
        taken.append(min(rounds))
    store.close()
    return taken


async def _fill(store: SqliteStore, period: Period) -> None:
    """Have the jobs end one after another, from the beginning of the month to its end."""
    chance = random.Random(7)
    # A few do most of the work, everybody does some, and each in four ways.
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
    paying = chance.choices(payers, shares, k=JOBS)
    apart = (period.until - period.since) / JOBS
    for first in range(0, JOBS, BATCH):
        entries = tuple(
            _ended(n, paying[n], period.since + n * apart, chance)
            for n in range(first, min(first + BATCH, JOBS))
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


def _ended(n: int, payer: Payer, at: datetime, chance: random.Random) -> Entry:
    """Return a job of ten seconds to four hours: as many of minutes as of hours."""
    until = at.replace(microsecond=0)
    since = until - timedelta(seconds=int(10 * 1440 ** chance.random()))
    rate = 10_000 + n % 9_999_991
    return Entry(
        payer=payer,
        charges=(Charge(since=since, until=until, usd_per_hour=rate),),
        cpus=4,
        until=until,
        jobs=1,
        run=Run(job_id=n, born_at=since, label=str(n), name="align"),
    )
