"""A task for every endpoint that something waits for, and none for the others.

It works as long as there is something to do, then sleeps until the next attempt is due or
somebody wakes it, and ends when nothing waits any more. All waiting is here.
"""

import asyncio
from contextlib import suppress
from datetime import datetime, timedelta

import structlog

from clusterra.control.webhooks.webhooks import Webhooks

log = structlog.get_logger()

AFTER_FAILURE = timedelta(seconds=5)
LEAST = 0.01
"""Seconds between two looks, whatever the clock says."""

MOST = 60.0
"""Seconds after which a sleeper looks again: clocks can be set."""


class Lanes:
    def __init__(self, webhooks: Webhooks) -> None:
        self._webhooks = webhooks
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._woken: dict[str, asyncio.Event] = {}
        webhooks.wake = self.wake

    def wake(self, id: str) -> None:
        """Look at an endpoint now."""
        if (woken := self._woken.get(id)) is not None:
            woken.set()
            return
        self._woken[id] = asyncio.Event()
        self._tasks[id] = asyncio.create_task(self._run(id), name=f"deliver {id}")

    async def look(self) -> bool:
        """Wake every endpoint that something is due for: after a start, and should a wake be lost."""
        now = self._webhooks.clock.now()
        for id, due in (await self._webhooks.store.lanes()).items():
            if due <= now or id not in self._woken:
                self.wake(id)
        return False

    async def stop(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, id: str) -> None:
        woken = self._woken[id]
        try:
            while True:
                woken.clear()
                again_at = await self._work(id)
                if again_at is None and not woken.is_set():
                    return
                await self._rest(again_at, woken)
        finally:
            # Nothing is awaited since it was seen that nobody woke us: no wake is lost.
            del self._woken[id], self._tasks[id]
            if self._webhooks.endpoints.find(id) is None:
                self._webhooks.forget_lane(id)

    async def _work(self, id: str) -> datetime | None:
        try:
            return await self._webhooks.lane(id).work()
        except Exception:
            # One endpoint's trouble is its own; what it has waits in the store.
            log.exception("webhooks.lane_failed", webhook=id)
            return self._webhooks.clock.now() + AFTER_FAILURE

    async def _rest(self, again_at: datetime | None, woken: asyncio.Event) -> None:
        if again_at is None or woken.is_set():
            return
        wait = (again_at - self._webhooks.clock.now()).total_seconds()
        with suppress(TimeoutError):
            async with asyncio.timeout(min(max(wait, LEAST), MOST)):
                await woken.wait()
