import asyncio

import pytest

from clusterra.core.errors import Unreachable
from clusterra.loops.loop import Loop


def test_a_woken_loop_does_not_wait_for_its_period_even_after_a_bad_round() -> None:
    async def story() -> None:
        rounds: asyncio.Queue[str] = asyncio.Queue()

        async def fail() -> bool:
            rounds.put_nowait("round")
            raise Unreachable("Slurm is away.")

        loop = Loop(name="observe", round=fail, every=3600, idle=3600, after_failure=3600, gap=0)
        running = asyncio.create_task(loop.run())
        await rounds.get()
        loop.wake()
        await rounds.get()
        running.cancel()

        assert loop.failures == 2

    asyncio.run(asyncio.wait_for(story(), 10))


def test_pauses_grow_while_nothing_happens_and_never_past_the_longest() -> None:
    async def never() -> bool:
        return False

    loop = Loop(name="observe", round=never, every=2, idle=15)
    pauses = [2.0]
    for _ in range(8):
        pauses.append(loop._next_pause(pauses[-1], busy=False))

    assert pauses[1] == 3
    assert pauses[-1] == 15
    assert loop._next_pause(15, busy=True) == 2


@pytest.mark.parametrize("turns", range(8))
def test_a_loop_that_is_woken_and_ended_at_once_ends(turns: int) -> None:
    async def story() -> None:
        rounds: asyncio.Queue[None] = asyncio.Queue()

        async def idle() -> bool:
            rounds.put_nowait(None)
            return False

        loop = Loop(name="observe", round=idle, every=3600, idle=3600, gap=0)
        running = asyncio.create_task(loop.run())
        await rounds.get()
        for _ in range(10):
            await asyncio.sleep(0)
        loop.wake()
        for _ in range(turns):
            await asyncio.sleep(0)
        running.cancel()
        await asyncio.wait({running}, timeout=5)

        assert running.cancelled()

    asyncio.run(story())
