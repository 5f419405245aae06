"""Planning a fleet: how long it takes for long queues, and what it costs beside the least possible.

The queues are drawn with a seed, so that every run plans the same.
"""

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import combinations
from operator import attrgetter

from bench.figure import Goal, Row
from bench.stage import Stage
from bench.timing import seconds
from clusterra.adapters.ec2_prices import prices
from clusterra.core.jobs.job import Job, JobState
from clusterra.core.scaling.demand import demand
from clusterra.core.scaling.plan import plan
from clusterra.core.scaling.policy import Policy, Rule
from clusterra.core.scaling.shapes import Purchase, Shape, table

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
ROUNDS = 5
"""The quickest counts: whatever else the machine did can only have made a round slower."""
KINDS = 300
QUEUES = 20
UNLIMITED = 10**6


def speed(_: Stage) -> Iterator[Row]:
    shapes = table(prices("us-east-1"))
    short, long = _mixed_queue(10_000), _mixed_queue(100_000)
    ten, ten_read, hundred = [], [], []
    for _round in range(ROUNDS):
        ten.append(seconds(lambda: _planned(short, shapes, Policy(max_workers=UNLIMITED))))
        ten_read.append(seconds(lambda: Counter(map(_asks, short))))
        hundred.append(seconds(lambda: _planned(long, shapes, Policy(max_workers=UNLIMITED))))
    yield Row(
        name="plan-10k",
        what="seconds from 10,000 waiting jobs, every 50th an array, to a plan with reasons",
        ours=min(ten),
        unit="s",
        beside=min(ten_read),
        beside_what="counting the same jobs by what they ask for",
        goal=Goal(bound=0.1),
    )
    yield Row(
        name="plan-100k",
        what="seconds for 100,000 of them",
        ours=min(hundred),
        unit="s",
        beside=10 * min(ten),
        beside_what="ten times plan-10k",
        goal=Goal(bound=1),
    )


def cost(_: Stage) -> Iterator[Row]:
    shapes = table(prices("us-east-1"))
    pairs = []
    for seed in range(QUEUES):
        queue = _random_queue(seed)
        fleet = _planned(queue, shapes, Policy(rule=Rule.CHEAPEST, max_workers=UNLIMITED))
        ours = sum(number * _usd(shapes[name]) for name, number in fleet.items())
        pairs.append((ours, _least(queue, shapes)))
    worst = max(pairs, key=lambda pair: pair[0] / pair[1])
    mean = [sum(numbers) / QUEUES for numbers in zip(*pairs, strict=True)]
    for name, which, (ours, least) in (
        ("plan-cost", f"on average over {QUEUES} random queues of 50 to 500 jobs", mean),
        ("plan-cost-worst", "for the one of them that comes out worst", worst),
    ):
        yield Row(
            name=name,
            what=f"dollars an hour for what `cheapest` starts, {which}",
            ours=ours,
            unit="$/h",
            beside=least,
            beside_what="the least that workers cut into any fractions could cost",
            goal=Goal(bound=1.05, of_ratio=True),
        )


def _planned(
    queue: Sequence[Job], shapes: Mapping[str, Shape], policy: Policy
) -> Mapping[str, int]:
    return plan(demand(queue), (), policy, shapes, {}, NOW).desired


_asks = attrgetter("cpus", "memory_mib", "gpus", "features", "partition")


def _job(id: int, cpus: int, memory_mib: int, **facts: object) -> Job:
    return Job(
        id=id,
        born_at=NOW,
        submitted_at=NOW,
        state=JobState.PENDING,
        partition="main",
        cpus=cpus,
        nodes_wanted=1,
        memory_mib=memory_mib,
        **facts,  # type: ignore[arg-type]
    )


def _mixed_queue(number: int) -> list[Job]:
    """Draw from 300 kinds of jobs, all families and sizes, some with GPUs, some over nodes."""
    chance = random.Random(number)
    kinds = []
    for _kind in range(KINDS):
        cpus = chance.choice((1, 1, 2, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48))
        memory = cpus * chance.randint(1, 32) * 256
        gpu = chance.random() < 0.05
        kinds.append(
            (cpus, memory, {"gpus": 1, "gpu_model": chance.choice(("", "a10g"))} if gpu else {})
        )
    queue = []
    for id in range(1, number + 1):
        cpus, memory, facts = chance.choice(kinds)
        array = (
            {"array_id": id, "array_waiting": f"0-{chance.randint(1, 500)}"} if id % 50 == 0 else {}
        )
        queue.append(_job(id, cpus, memory, priority=chance.randint(1, 10**6), **facts, **array))
    return queue


def _random_queue(seed: int) -> list[Job]:
    """Draw jobs of 1 to 16 CPUs with half a GiB to 8 GiB each, hardly two of them alike."""
    chance = random.Random(seed)
    queue = []
    for id in range(1, chance.randint(50, 500) + 1):
        cpus = chance.randint(1, 16)
        queue.append(_job(id, cpus, int(cpus * chance.uniform(512, 8192))))
    return queue


def _least(queue: Sequence[Job], shapes: Mapping[str, Shape]) -> float:
    """Return the optimum of the linear programme: workers in fractions, jobs like sand.

    By duality it is the most that CPUs and memory can be worth while no worker is worth more than
    it costs. With two unknowns that is found at a corner, so all corners are tried.
    """
    cpus, memory = sum(job.cpus for job in queue), sum(job.memory_mib for job in queue)
    offers = [
        (shape.cpus, shape.memory_mib, _usd(shape))
        for shape in shapes.values()
        if shape.arch == "amd64" and not shape.gpus
    ]
    most = 0.0
    for (a, b, p), (c, d, q) in combinations([*offers, (1, 0, 0.0), (0, 1, 0.0)], 2):
        if determinant := a * d - b * c:
            cpu, mib = (p * d - b * q) / determinant, (a * q - p * c) / determinant
            inside = all(x * cpu + y * mib <= usd * (1 + 1e-9) for x, y, usd in offers)
            if inside and cpu >= 0 and mib >= 0:
                most = max(most, cpus * cpu + memory * mib)
    return most


def _usd(shape: Shape) -> float:
    return (shape.usd_per_hour(Purchase.ON_DEMAND) or 0) / 1_000_000
