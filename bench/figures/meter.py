"""One round of the meter: what every running job has come to, and everybody's burn rate.

First as after a start, when each job is priced by the history of its nodes; then as in every
round that follows, when only time has gone on.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from bench.figure import Goal, Row
from bench.stage import Stage
from bench.timing import seconds
from clusterra.adapters.memory import ManualClock, MemoryStore
from clusterra.control.cost.meter import Meter
from clusterra.control.edge import NO_PRICES, NOT_HEARD
from clusterra.core.clusters import Node
from clusterra.core.cost.books import within
from clusterra.core.cost.prices import Book
from clusterra.core.jobs.job import Job, JobState
from clusterra.core.scaling.shapes import Family, Price, Purchase, Shape

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
JOBS, NODES, PEOPLE = 10_000, 1_000, 50
ROUNDS = 5
"""The quickest counts: whatever else the machine did can only have made a round slower."""

BIG = Shape(
    name="big",
    family=Family.GENERAL,
    size="big",
    arch="amd64",
    vcpus=64,
    memory_gib=256,
    cpus=64,
    memory_mib=256_000,
    price=Price(on_demand=3_072_000),
)


def meter(_: Stage) -> Iterator[Row]:
    clock = ManualClock(NOW)
    made = asyncio.run(_metered(clock))
    cold, warm, read = [], [], []
    for _round in range(ROUNDS):
        clock.advance(timedelta(seconds=2))
        made.moved()
        made.forget()
        cold.append(seconds(lambda: _round_of(made, clock.now())))
        clock.advance(timedelta(seconds=2))
        warm.append(seconds(lambda: _round_of(made, clock.now())))
        read.append(seconds(lambda: Counter(job.user for job in made.running.values())))
    for name, what, taken in (
        ("meter-10k", "seconds for a round over 10,000 running jobs", warm),
        ("meter-10k-cold", "the same after a start, by the history of 1,000 nodes", cold),
    ):
        yield Row(
            name=name,
            what=what,
            ours=min(taken),
            unit="s",
            beside=min(read),
            beside_what="counting the same jobs by person",
            goal=Goal(bound=0.5),
        )


def _round_of(made: Meter, now: datetime) -> None:
    until = _quarter(now)
    burn: Counter[str] = Counter()
    spent: Counter[str] = Counter()
    for each in made.opened():
        burn[each.payer.person] += each.usd_per_hour or 0
        spent[each.payer.person] += within(each.entry(), NOW - timedelta(days=1), until).micros
    assert len(burn) == PEOPLE
    assert min(spent.values()) > 0


def _quarter(now: datetime) -> datetime:
    return now.replace(minute=0, second=0) + timedelta(hours=1)


async def _metered(clock: ManualClock) -> Meter:
    made = Meter(
        cluster="clus1a2b",
        store=MemoryStore(clock=clock),
        clock=clock,
        book=Book(table_at=NOW),
        shapes={BIG.name: BIG},
        running={id: _job(id) for id in range(JOBS)},
    )
    nodes = [
        Node(
            name=f"n{number}",
            state="MIXED",
            cpus=BIG.cpus,
            memory_mib=BIG.memory_mib,
            features=(BIG.name,),
        )
        for number in range(NODES)
    ]
    await made.note(
        nodes, report=NOT_HEARD, offerings=NO_PRICES, purchase=Purchase.ON_DEMAND, at=NOW
    )
    return made


def _job(id: int) -> Job:
    began = NOW - timedelta(seconds=id % 7200)
    return Job(
        id=id,
        born_at=began,
        submitted_at=began,
        state=JobState.RUNNING,
        user=f"person{id % PEOPLE}",
        cpus=1 + id % 8,
        memory_mib=4_000,
        time_limit_minutes=600,
        nodes=f"n{id % NODES}",
        started_at=began,
    )
