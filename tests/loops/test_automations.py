"""Automations act by themselves: woken by what happens, and by the time they wait for."""

import asyncio
from typing import Any

from clusterra.adapters.clock import SystemClock
from clusterra.adapters.memory import MemoryStore
from clusterra.core.jobs.job import JobState
from clusterra.loops.table import automation_loops
from tests.automations import Lab
from tests.world import LAB, World


async def until(true: Any) -> None:
    async with asyncio.timeout(20):
        while not true():  # noqa: ASYNC110 - what is waited for is no event of ours
            await asyncio.sleep(0.005)


def test_a_job_out_of_memory_is_retried_without_anybody_asking() -> None:
    async def story() -> None:
        lab = await Lab(world=World(store=MemoryStore(), clock=SystemClock())).open()  # type: ignore[arg-type]
        loops = automation_loops(lab.plane, LAB)
        running = [asyncio.create_task(each.run()) for each in loops]
        try:
            await lab.rule({"when": "job.out_of_memory", "do": [{"retry": {}}]})
            await lab.rule(
                {"when": "job.timeout", "do": [{"retry": {}}], "backoff": 1, "name": "later"}
            )
            first = await lab.submits()
            lab.world.slurm.move(first, JobState.OUT_OF_MEMORY)
            await lab.world.observer.look()
            await until(lambda: len(lab.jobs()) == 2)

            second = await lab.submits()
            lab.world.slurm.move(second, JobState.TIMEOUT)
            await lab.world.observer.look()
            await until(lambda: len(lab.jobs()) == 4)
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            await lab.plane.submitters[LAB].settle()

    asyncio.run(story())
