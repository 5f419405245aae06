"""A machine that the cloud takes back is given up at once, and its jobs wait again."""

import asyncio

from clusterra.control.evict import Evictor
from clusterra.core.change import Change
from clusterra.core.events.catalogue.nodes import NodeSpotInterrupted
from clusterra.core.events.event import Draft
from clusterra.core.jobs.job import JobState
from clusterra.core.scaling.edge import EdgeReport, Machine
from clusterra.core.seen import Seen
from tests.builders import NOON
from tests.world import LAB, World


async def interrupted(world: World, fact: NodeSpotInterrupted, id: str = "notice-1") -> None:
    draft = Draft(id=id, fact=fact, at=NOON, actor="system:aws", subject="node/w1")
    await world.store.commit(LAB, Change(events=[draft]))


def test_its_jobs_are_queued_again_and_it_is_down() -> None:
    async def story() -> None:
        world = World()
        evictor = Evictor(site=world.site, store=world.store)
        job = await world.submitted_past_us()
        world.slurm.move(job, JobState.RUNNING)
        await evictor.evict()

        await interrupted(world, NodeSpotInterrupted(node="w1"))
        assert await evictor.evict()

        (node,) = await world.slurm.nodes()
        assert node.state == "DOWN"
        assert "takes its machine back" in node.reason
        (again,) = await world.slurm.job(job)
        assert again.state is JobState.PENDING

    asyncio.run(story())


def test_a_machine_is_known_by_the_clouds_name_if_the_edge_has_told_whose_it_is() -> None:
    async def story() -> None:
        world = World()
        evictor = Evictor(site=world.site, store=world.store)
        await evictor.evict()
        machine = Machine(name="claim-1", instance_id="i-0abc", node="w1")
        report = EdgeReport(at=NOON, agent="a", version="5.0.0", machines=(machine,))
        world.site.edge.report = Seen(report, NOON)

        await interrupted(world, NodeSpotInterrupted(instance_id="i-0abc"))
        await evictor.evict()

        assert (await world.slurm.nodes())[0].state == "DOWN"

    asyncio.run(story())


def test_each_notice_is_seen_to_once_also_after_a_restart() -> None:
    async def story() -> None:
        world = World()
        evictor = Evictor(site=world.site, store=world.store)
        await evictor.evict()
        await interrupted(world, NodeSpotInterrupted(node="w1"))
        await evictor.evict()
        await interrupted(world, NodeSpotInterrupted(node="nobody"), id="notice-2")

        after_restart = Evictor(site=world.site, store=world.store)
        assert await after_restart.evict()
        assert world.slurm.asked["mark_down"] == 2
        assert not await after_restart.evict()
        assert world.slurm.asked["mark_down"] == 2

    asyncio.run(story())


def test_a_notice_that_comes_while_nobody_looks_is_seen_to_afterwards() -> None:
    async def story() -> None:
        world = World()
        await Evictor(site=world.site, store=world.store).evict()
        await interrupted(world, NodeSpotInterrupted(node="w1"))

        assert await Evictor(site=world.site, store=world.store).evict()

        assert (await world.slurm.nodes())[0].state == "DOWN"

    asyncio.run(story())
