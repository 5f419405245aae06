"""What the scaling loop promises: workers follow the queue, jobs are never under a machine that
goes, and nothing is done about a fleet that cannot be seen."""

import asyncio
import json
from collections.abc import Coroutine
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest

from clusterra.adapters.memory_slurm import MemorySlurm
from clusterra.control.edge import Wanted
from clusterra.control.lease import GOOD_FOR, Tenure
from clusterra.control.nodes import NodeWatch
from clusterra.control.scale import STUCK, Scaler
from clusterra.core.clusters import Node
from clusterra.core.errors import Unreachable
from clusterra.core.events.event import EventQuery
from clusterra.core.jobs.job import JobState
from clusterra.core.scaling.decision import GHOST_AFTER
from clusterra.core.scaling.edge import EdgeReport, EdgeWorker, Failed
from clusterra.core.scaling.plan import Cause
from clusterra.core.scaling.policy import Policy
from clusterra.core.scaling.shapes import table
from clusterra.core.seen import Seen, Unseen
from tests.world import LAB, World

SHAPES = {name: shape for name, shape in table().items() if shape.arch == "amd64"}
IDLE = 60


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(story)


@dataclass
class Lab:
    """A cluster whose edge does at once what it is told."""

    world: World = field(default_factory=World)
    present: dict[str, EdgeWorker] = field(default_factory=dict)

    def __post_init__(self) -> None:
        site = self.world.site
        self.world.slurm = site.slurm = MemorySlurm(self.world.clock, nodes=())
        site.shapes = SHAPES
        site.policy = Policy(idle_seconds=IDLE)
        self.scaler = self.another_scaler("this-process")

    def another_scaler(self, holder: str) -> Scaler:
        world = self.world
        return Scaler(
            site=world.site,
            store=world.store,
            clock=world.clock,
            nodes=NodeWatch(site=world.site, store=world.store, clock=world.clock),
            tenure=Tenure(
                cluster=LAB, what="scale", holder=holder, store=world.store, clock=world.clock
            ),
        )

    @property
    def wanted(self) -> Wanted:
        sight = self.world.site.edge.wanted
        assert isinstance(sight, Seen)
        return sight.value

    async def submit(self, **properties: Any) -> int:
        id = await self.world.submitted_past_us(**properties)
        await self.world.observer.look()
        return id

    def heard(self, *failed: Failed) -> None:
        now = self.world.clock.now()
        report = EdgeReport(
            at=now,
            agent="edge",
            version="ours",
            nodes=frozenset(self.present),
            workers=tuple(self.present.values()),
            failed=failed,
        )
        self.world.site.edge.report = Seen(report, now)
        self.world.site.edge.failed.extend(failed)

    def obey(self) -> None:
        """Start and stop workers as the last answer says, and say so."""
        now, fleet = self.world.clock.now(), self.wanted.fleet
        for name in fleet.retire:
            self.present.pop(name, None)
        for shape, count in fleet.desired.items():
            for number in range(1, count + 1):
                name = f"{shape}-{number}"
                self.present.setdefault(name, EdgeWorker(name=name, shape=shape, since=now))
        self.heard()

    def register(self) -> None:
        """Have every worker that runs join Slurm."""
        for worker in self.present.values():
            shape = SHAPES[worker.shape]
            self.world.slurm.join(
                Node(
                    name=worker.name,
                    state="IDLE",
                    flags=("DYNAMIC_NORM",),
                    cpus=shape.cpus,
                    memory_mib=shape.memory_mib,
                    last_busy=worker.since,
                )
            )

    async def start(self, job: int, node: str) -> None:
        self.world.slurm.move(job, JobState.RUNNING, nodes=node)
        there = next(each for each in await self.world.slurm.nodes() if each.name == node)
        self.world.slurm.join(replace(there, state="MIXED", cpus_used=1))
        await self.world.observer.look()

    async def end(self, job: int, node: str) -> None:
        self.world.slurm.move(job, JobState.COMPLETED)
        there = next(each for each in await self.world.slurm.nodes() if each.name == node)
        now = self.world.clock.now()
        self.world.slurm.join(replace(there, state="IDLE", cpus_used=0, last_busy=now))
        await self.world.observer.look()

    async def nodes(self) -> dict[str, Node]:
        return {node.name: node for node in await self.world.slurm.nodes()}

    async def decisions(self) -> list[dict[str, Any]]:
        query = EventQuery(types=("fleet.*",), limit=1000)
        events = await self.world.store.events(LAB, query)
        return [json.loads(event.body)["data"] for event in events]

    async def with_one_worker(self) -> str:
        """Bring it to where one worker is ready and has run a job."""
        job = await self.submit()
        self.heard()
        await self.scaler.scale()
        self.obey()
        self.register()
        await self.scaler.scale()
        (name,) = self.present
        await self.start(job, name)
        await self.end(job, name)
        return name


def test_a_waiting_job_brings_a_worker_and_the_ledger_says_why() -> None:
    async def story() -> None:
        lab = Lab()
        job = await lab.submit()
        lab.heard()

        assert await lab.scaler.scale() is False
        (shape,) = lab.wanted.fleet.desired
        assert lab.wanted.fleet.desired == {shape: 1}
        (told,) = await lab.decisions()
        assert (told["shape"], told["before"], told["after"]) == (shape, 0, 1)
        assert told["reason"]
        assert told["waiting_jobs"] == 1
        planned = lab.world.site.planned
        assert isinstance(planned, Seen)
        assert planned.value.plan.waits[job].cause is Cause.WARMING

    run(story())


def test_planning_again_without_news_writes_nothing() -> None:
    async def story() -> None:
        lab = Lab()
        await lab.submit()
        lab.heard()
        await lab.scaler.scale()
        head = await lab.world.store.head(LAB)
        before = lab.wanted

        for _ in range(5):
            lab.heard()
            await lab.scaler.scale()

        assert await lab.world.store.head(LAB) == head
        assert lab.wanted == before

    run(story())


def test_a_worker_goes_in_order_drained_counted_out_stopped_forgotten() -> None:
    async def story() -> None:
        lab = Lab()
        name = await lab.with_one_worker()
        lab.world.clock.advance(timedelta(seconds=IDLE + 1))

        lab.heard()
        await lab.scaler.scale()
        assert "DRAIN" in (await lab.nodes())[name].flags
        assert not lab.wanted.fleet.retire

        await lab.scaler.scale()
        assert lab.wanted.fleet.desired == {}
        assert list(lab.wanted.fleet.retire) == [name]
        assert name in await lab.nodes()

        lab.obey()
        await lab.scaler.scale()
        assert await lab.nodes() == {}

        lab.heard()
        await lab.scaler.scale()
        assert lab.wanted.fleet.retire == ()
        assert [told["after"] for told in await lab.decisions()] == [1, 0]

    run(story())


def test_no_name_is_free_before_slurm_has_forgotten_who_had_it() -> None:
    async def story() -> None:
        lab = Lab()
        name = await lab.with_one_worker()
        lab.world.clock.advance(timedelta(seconds=IDLE + 1))
        for _ in range(2):
            lab.heard()
            await lab.scaler.scale()
        lab.obey()
        await lab.submit()

        # The edge is told of another worker in the very round in which Slurm is told to forget.
        await lab.scaler.scale()
        assert sum(lab.wanted.fleet.desired.values()) == 1
        assert name in lab.wanted.fleet.retire

        await lab.scaler.scale()
        assert name not in await lab.nodes()
        assert name not in lab.wanted.fleet.retire

    run(story())


def test_a_job_that_came_in_the_moment_before_the_drain_keeps_its_worker() -> None:
    async def story() -> None:
        lab = Lab()
        name = await lab.with_one_worker()
        lab.world.clock.advance(timedelta(seconds=IDLE + 1))
        lab.heard()
        await lab.scaler.scale()

        job = await lab.submit()
        await lab.start(job, name)
        await lab.scaler.scale()

        assert lab.wanted.fleet.retire == ()
        assert name in lab.wanted.protected
        assert "DRAIN" not in (await lab.nodes())[name].flags

    run(story())


def test_a_busy_worker_is_protected_and_never_taken() -> None:
    async def story() -> None:
        lab = Lab()
        name = await lab.with_one_worker()
        job = await lab.submit()
        await lab.start(job, name)
        for _ in range(5):
            lab.world.clock.advance(timedelta(seconds=10 * IDLE))
            lab.heard()
            await lab.scaler.scale()
            assert lab.wanted.protected == {name}
            assert sum(lab.wanted.fleet.desired.values()) == 1
        assert "DRAIN" not in (await lab.nodes())[name].flags

    run(story())


def test_what_an_admin_drained_is_neither_let_in_again_nor_taken() -> None:
    async def story() -> None:
        lab = Lab()
        name = await lab.with_one_worker()
        await lab.world.slurm.drain([name], "new disk")
        for _ in range(3):
            lab.world.clock.advance(timedelta(seconds=10 * IDLE))
            lab.heard()
            await lab.scaler.scale()

        node = (await lab.nodes())[name]
        assert "DRAIN" in node.flags
        assert node.reason == "new disk"
        assert sum(lab.wanted.fleet.desired.values()) == 1

    run(story())


def test_nothing_is_told_while_slurm_cannot_be_seen_and_nothing_decided_while_the_edge_cannot() -> (
    None
):
    async def story() -> None:
        lab = Lab()
        await lab.submit()
        await lab.scaler.scale()
        assert lab.wanted.fleet.version == 0, "no agent has been heard"

        lab.heard()
        await lab.scaler.scale()
        assert lab.wanted.fleet.version == 1

        lab.world.slurm.reachable = False
        with pytest.raises(Unreachable):
            await lab.scaler.scale()
        assert isinstance(lab.world.site.edge.wanted, Unseen)

    run(story())


def test_an_edge_that_could_not_list_its_workers_changes_nothing() -> None:
    async def story() -> None:
        lab = Lab()
        await lab.with_one_worker()
        lab.world.clock.advance(timedelta(seconds=10 * IDLE))
        before = lab.wanted.fleet
        now = lab.world.clock.now()
        blind = EdgeReport(at=now, agent="edge", version="5.0.0", nodes=None, workers=None)
        lab.world.site.edge.report = Seen(blind, now)

        await lab.scaler.scale()

        assert lab.wanted.fleet == before

    run(story())


def test_a_worker_that_never_comes_is_remembered_and_another_shape_is_tried() -> None:
    async def story() -> None:
        lab = Lab()
        await lab.submit()
        lab.heard()
        await lab.scaler.scale()
        (shape,) = lab.wanted.fleet.desired

        lab.world.clock.advance(timedelta(seconds=30))
        why = "slurmd: cannot bind"
        lab.heard(Failed(shape=shape, why=why, at=lab.world.clock.now()))
        await lab.scaler.scale()

        assert lab.wanted.fleet.shortages[shape].why == why
        assert lab.wanted.fleet.desired
        assert shape not in lab.wanted.fleet.desired
        told = {each["shape"]: each for each in await lab.decisions() if "until" in each}
        assert told[shape]["why"] == why

        await lab.scaler.scale()
        assert lab.wanted.fleet.shortages[shape].failures == 1, "counted once"

    run(story())


def test_jobs_of_a_machine_that_went_by_itself_wait_again_with_the_second_report() -> None:
    async def story() -> None:
        lab = Lab()
        name = await lab.with_one_worker()
        job = await lab.submit()
        await lab.start(job, name)
        lab.present.clear()
        lab.heard()
        await lab.scaler.scale()
        assert name in await lab.nodes(), "its name may be another's by now"

        lab.world.clock.advance(timedelta(seconds=1))
        lab.heard()
        await lab.scaler.scale()

        (again,) = await lab.world.slurm.job(job)
        assert again.state is JobState.PENDING
        assert name not in await lab.nodes()

    run(story())


def test_of_two_processes_one_decides_and_the_other_tells_agents_nothing() -> None:
    async def story() -> None:
        lab = Lab()
        other = lab.another_scaler("another-process")
        await lab.submit()
        lab.heard()
        await lab.scaler.scale()

        await other.scale()
        assert isinstance(lab.world.site.edge.wanted, Unseen)

        lab.world.clock.advance(GOOD_FOR + timedelta(seconds=1))
        lab.heard()
        await other.scale()
        assert lab.wanted.fleet.version == 1, "it goes on from what was committed"

        await lab.scaler.scale()
        assert isinstance(lab.world.site.edge.wanted, Unseen)

    run(story())


def test_a_job_that_does_not_start_although_there_is_room_gets_a_worker_of_its_own() -> None:
    async def story() -> None:
        lab = Lab()
        name = await lab.with_one_worker()
        first = await lab.submit()
        await lab.start(first, name)
        await lab.submit()
        lab.heard()
        await lab.scaler.scale()
        assert sum(lab.wanted.fleet.desired.values()) == 1, "there is room on the one that works"

        lab.world.clock.advance(STUCK)
        lab.heard()
        await lab.scaler.scale()
        assert sum(lab.wanted.fleet.desired.values()) == 2

        lab.obey()
        await lab.scaler.scale()
        assert sum(lab.wanted.fleet.desired.values()) == 2

    run(story())


def test_what_was_wanted_before_all_machines_were_started_anew_is_forgotten() -> None:
    async def story() -> None:
        lab = Lab()
        await lab.with_one_worker()
        version = lab.wanted.fleet.version

        lab.world.clock.advance(timedelta(seconds=5))
        lab.world.site.begun_at = lab.world.clock.now()
        await lab.world.slurm.delete_nodes(lab.present)
        lab.present.clear()
        lab.scaler = lab.another_scaler("this-process")
        lab.heard()
        await lab.scaler.scale()

        assert lab.wanted.fleet.desired == {}
        assert lab.wanted.fleet.version > version

    run(story())


def test_a_worker_that_runs_and_never_registers_is_taken_away_and_remembered() -> None:
    async def story() -> None:
        lab = Lab()
        await lab.submit()
        lab.heard()
        await lab.scaler.scale()
        lab.obey()
        (name,) = lab.present
        shape = lab.present[name].shape

        lab.world.clock.advance(GHOST_AFTER - timedelta(seconds=1))
        lab.heard()
        await lab.scaler.scale()
        assert not lab.wanted.fleet.retire

        lab.world.clock.advance(timedelta(seconds=1))
        lab.heard()
        await lab.scaler.scale()
        assert list(lab.wanted.fleet.retire) == [name]
        assert shape not in lab.wanted.fleet.desired
        assert name in lab.wanted.fleet.shortages[shape].why

        lab.obey()
        await lab.scaler.scale()
        assert not lab.wanted.fleet.retire
        assert lab.wanted.fleet.shortages[shape].failures == 1

    run(story())
