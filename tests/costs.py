"""A cluster whose machines have prices, and what its jobs then cost."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from clusterra.adapters.memory_slurm import MemorySlurm
from clusterra.core.clusters import Node
from clusterra.core.cost.prices import Book
from clusterra.core.events.event import EventQuery
from clusterra.core.jobs.job import JobState
from clusterra.core.scaling.shapes import Family, Price, Shape
from tests.builders import NOON
from tests.world import LAB, World

SMALL = Shape(
    name="small",
    family=Family.GENERAL,
    size="small",
    arch="amd64",
    vcpus=4,
    memory_gib=16,
    cpus=4,
    memory_mib=16_000,
    types=("m6i.xlarge",),
    price=Price(on_demand=360_000, spot=120_000),
)
"""Costs $0.36 per hour, a hundredth of a cent per second."""


def a_node(name: str = "w1", **facts: Any) -> Node:
    known: dict[str, Any] = {
        "state": "IDLE",
        "cpus": SMALL.cpus,
        "memory_mib": SMALL.memory_mib,
        "features": (SMALL.name,),
    }
    return Node(name=name, **(known | facts))


class Priced:
    """A World with two machines of $0.36 per hour, w1 and w2."""

    def __init__(self, world: World | None = None) -> None:
        self.world = world or World()
        self.world.slurm = self.world.site.slurm = MemorySlurm(
            self.world.clock, nodes=(a_node("w1"), a_node("w2"))
        )
        self.at_rates(SMALL)

    def at_rates(self, *shapes: Shape) -> None:
        """Let machines cost what these shapes do."""
        meter = self.world.site.meter
        meter.shapes = {each.name: each for each in shapes}
        meter.book = Book(table_at=NOON)
        self.world.site.recorder.earlier_runs = self.world.slurm.earlier_runs

    async def look(self) -> None:
        await self.world.observer.nodes.look()
        await self.world.observer.look()

    async def started(self, *, user: str = "ana", node: str = "w1", **facts: Any) -> int:
        """Start a job of 2 CPUs: half a machine, 18 cents per hour."""
        wanted = {"minimum_cpus": 2, "memory_per_node": 1000, "time_limit": 60, "account": "lab"}
        id = await self.world.submitted_past_us(user=user, **(wanted | facts))
        self.world.slurm.move(id, JobState.RUNNING, nodes=node)
        await self.look()
        return id

    async def ended(self, id: int, state: JobState = JobState.COMPLETED) -> None:
        self.world.slurm.move(id, state)
        await self.look()

    def pass_time(self, **span: float) -> datetime:
        self.world.clock.advance(timedelta(**span))
        return self.world.clock.now()

    async def costs(self, type: str = "job.cost.*") -> Sequence[dict[str, Any]]:
        """Return what was told about costs."""
        events = await self.world.store.events(LAB, EventQuery(types=(type,), limit=10_000))
        return [
            {"type": each.type, "at": each.at, **json.loads(each.body)["data"]} for each in events
        ]

    def reborn(self) -> "Priced":
        """Return the control plane after it died and was started again, on the same store."""
        world = World(store=self.world.store, clock=self.world.clock)
        again = Priced.__new__(Priced)
        again.world = world
        world.slurm = world.site.slurm = self.world.slurm
        again.at_rates(*self.world.site.meter.shapes.values())
        return again


def repriced(shape: Shape, usd_per_hour: int) -> Shape:
    return replace(shape, price=Price(on_demand=usd_per_hour))
