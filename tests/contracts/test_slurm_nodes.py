"""Promises about nodes that every Slurm keeps."""

import pytest

from clusterra.core.clusters import Node
from clusterra.core.errors import NotFound, Refused
from tests.contracts.test_slurm import World, run, world

__all__ = ["world"]


async def _any(world: World) -> Node:
    return (await world.slurm.nodes())[0]


async def _named(world: World, name: str) -> Node:
    return next(node for node in await world.slurm.nodes() if node.name == name)


def test_a_drained_node_says_so_and_why_until_it_is_resumed(world: World) -> None:
    async def story() -> None:
        node = await _any(world)
        try:
            await world.slurm.drain([node.name], "clusterra: a test")
            await world.slurm.drain([node.name], "clusterra: a test")
            drained = await _named(world, node.name)
            assert "DRAIN" in drained.flags
            assert drained.reason == "clusterra: a test"
        finally:
            await world.slurm.resume([node.name])
        await world.slurm.resume([node.name])
        assert "DRAIN" not in (await _named(world, node.name)).flags

    run(world, story)


def test_a_node_with_a_job_on_it_is_not_forgotten(world: World) -> None:
    async def story() -> None:
        job = await world.started(await world.submit())
        with pytest.raises(Refused) as refusal:
            await world.slurm.delete_nodes([job.nodes])
        assert refusal.value.code == "node-busy"
        assert await _named(world, job.nodes)

    run(world, story)


def test_forgetting_a_node_that_is_not_there_is_fine_and_draining_it_is_not(world: World) -> None:
    async def story() -> None:
        await world.slurm.delete_nodes(["nobody-1"])
        with pytest.raises(NotFound):
            await world.slurm.drain(["nobody-1"], "clusterra: a test")
        with pytest.raises(NotFound):
            await world.slurm.resume(["nobody-1"])

    run(world, story)
