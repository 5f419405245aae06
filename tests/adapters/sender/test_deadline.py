"""A deadline ends what takes too long, and nothing else."""

import asyncio

import pytest

from clusterra.adapters.sender.deadline import Deadline


def test_what_takes_too_long_is_ended() -> None:
    async def story() -> None:
        with pytest.raises(TimeoutError), Deadline(0.01):
            await asyncio.Event().wait()
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0

    asyncio.run(story())


def test_it_can_be_brought_forward_and_not_put_off() -> None:
    async def story() -> None:
        with Deadline(60) as deadline:
            deadline.bring_forward(0.01)
            deadline.bring_forward(60)
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        asyncio.run(story())


def test_whoever_is_in_time_hears_nothing_of_it() -> None:
    async def story() -> None:
        with Deadline(0):
            pass
        for _ in range(3):  # turns in which a timer that was left behind would be heard
            await asyncio.sleep(0)

    asyncio.run(story())


def test_somebody_elses_cancelling_is_not_taken_for_it() -> None:
    async def waiting() -> None:
        with Deadline(60):
            await asyncio.Event().wait()

    async def story() -> None:
        task = asyncio.create_task(waiting())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(story())


def test_cancelled_by_somebody_when_it_has_come_too_is_cancelled() -> None:
    async def waiting() -> None:
        with Deadline(0):
            await asyncio.Event().wait()

    async def story() -> None:
        task = asyncio.create_task(waiting())
        await asyncio.sleep(0)
        asyncio.get_running_loop().call_soon(task.cancel)
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(story())
