"""Lanes run while something waits, sleep until it is due, and end when nothing does."""

import asyncio
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any

import structlog

from clusterra.adapters.clock import SystemClock
from clusterra.adapters.memory import MemoryStore
from clusterra.core.webhooks.delivery import DeliveryState
from clusterra.core.webhooks.exchange import Answer, Outgoing
from clusterra.loops.lanes import Lanes
from tests.control.webhooks.post import Post


class Running(Post):
    """A post office that goes on by itself, by the clock on the wall."""

    def __init__(self) -> None:
        super().__init__(MemoryStore())
        self.clock = self.world.clock = SystemClock()  # type: ignore[assignment]
        self.restarted()
        self.lanes = Lanes(self.plane.webhooks)

    async def until(self, true: Any) -> None:
        async with asyncio.timeout(20):
            while not true():  # noqa: ASYNC110 - what is waited for is no event of ours
                await asyncio.sleep(0.005)


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(story)


def test_a_lane_is_there_while_something_waits_and_gone_afterwards() -> None:
    async def story() -> None:
        post = await Running().open()
        endpoint = await post.endpoint()
        await post.happens(3)
        await post.fan_out()

        await post.until(lambda: len(post.receiver.got) == 3 and not post.lanes._tasks)
        assert {row.state for row in await post.rows(endpoint)} == {DeliveryState.OK}
        await post.happens(1)
        await post.fan_out()
        await post.until(lambda: len(post.receiver.got) == 4 and not post.lanes._tasks)

    run(story())


def test_what_waits_from_before_is_found_after_a_start() -> None:
    async def story() -> None:
        post = await Running().open()
        await post.endpoint()
        post.plane.webhooks.wake = lambda _: None
        await post.happens(2)
        await post.fan_out()
        assert post.receiver.got == []

        await Lanes(post.plane.webhooks).look()
        await post.until(lambda: len(post.receiver.got) == 2)

    run(story())


def test_what_is_limited_to_so_many_a_second_goes_on_by_itself() -> None:
    async def story() -> None:
        post = await Running().open()
        await post.endpoint(per_second=20)
        await post.happens(24)
        await post.fan_out()

        await post.until(lambda: len(post.receiver.got) == 24 and not post.lanes._tasks)

    run(story())


def test_trouble_with_one_endpoint_is_its_own_and_is_logged() -> None:
    async def story() -> None:
        post = await Running().open()
        bad, good = await post.endpoint("https://bad.example"), await post.endpoint()

        def answer(outgoing: Outgoing) -> Answer:
            if "bad" in outgoing.url:
                raise RuntimeError("a defect")
            return Answer(status=200)

        post.sender.answers = answer
        with structlog.testing.capture_logs() as logged:
            await post.happens(2)
            await post.fan_out()
            await post.until(lambda: len(post.sender.sent) >= 3 and bool(logged))
            await post.until(lambda: good.id not in post.lanes._tasks)
        assert {row.state for row in await post.rows(good)} == {DeliveryState.OK}
        assert {row.state for row in await post.rows(bad)} == {DeliveryState.PENDING}
        assert [each["webhook"] for each in logged] == [bad.id]
        await post.lanes.stop()

    run(story())


def test_a_wake_while_it_works_is_not_lost() -> None:
    async def story() -> None:
        post = await Running().open()
        await post.endpoint()
        post.receiver.wait = asyncio.Event()
        await post.happens(1)
        await post.fan_out()
        await post.receiver.has_got(1)
        await post.happens(5)
        await post.fan_out()
        post.receiver.wait.set()
        await post.until(lambda: len(post.receiver.got) == 6 and not post.lanes._tasks)

    run(story())


def test_stopping_ends_all_of_them_and_what_was_under_way_waits_for_the_next_start() -> None:
    async def story() -> None:
        post = await Running().open()
        endpoint = await post.endpoint()
        post.receiver.wait = asyncio.Event()
        await post.happens(3)
        await post.fan_out()
        await post.receiver.has_got(3)

        await post.lanes.stop()
        assert not post.lanes._tasks
        assert {row.state for row in await post.rows(endpoint)} == {DeliveryState.PENDING}
        assert (await post.store.lanes())[endpoint.id] <= post.clock.now() + timedelta(seconds=1)

    run(story())
