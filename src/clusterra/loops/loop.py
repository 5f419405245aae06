"""Run something again and again, and survive its bad days.

A loop body is one async function that does one round and says whether anything
is going on. All waiting is here: the pause grows while nothing happens, shrinks
at once when something does, and grows after failures; so a body is tested by
calling it, and only this file's tests know time.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import structlog

from clusterra.core.errors import ClusterraError

log = structlog.get_logger()

GROWTH = 1.5
"""How much longer each pause is than the one before, while nothing happens."""


@dataclass(slots=True, kw_only=True)
class Loop:
    name: str
    round: Callable[[], Awaitable[bool]]
    """Does one round; True if it is worth looking again soon."""

    every: float
    """Seconds between rounds while something is going on."""

    idle: float
    """The longest pause while nothing is."""

    after_failure: float = 5
    """The longest pause while rounds fail: short, because people wait for the recovery."""

    gap: float = 0.2
    """The shortest pause, however often the loop is woken; never shorter than the round took."""

    rounds: int = 0
    failures: int = 0
    _woken: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> None:
        pause, clock = self.every, asyncio.get_running_loop().time
        while True:
            began = clock()
            pause = self._next_pause(pause, busy=await self._one_round())
            await self._rest(pause, least=max(self.gap, clock() - began))

    def wake(self) -> None:
        """Start the next round now, e.g. because a job was just submitted."""
        self._woken.set()

    async def _one_round(self) -> bool:
        self.rounds += 1
        try:
            busy = await self.round()
        except ClusterraError as error:
            # Something that has words for itself: Slurm cannot be seen, a ledger is held.
            self.failures += 1
            if self.failures == 1:
                log.warning("loop.cannot_go_on", loop=self.name, why=error.detail)
            return True
        except Exception:
            self.failures += 1
            log.exception("loop.round_failed", loop=self.name, in_a_row=self.failures)
            return True
        if self.failures:
            log.info("loop.recovered", loop=self.name, after=self.failures)
        self.failures = 0
        return busy

    def _next_pause(self, last: float, *, busy: bool) -> float:
        if self.failures:
            return min(float(2 ** (self.failures - 1)), self.after_failure)
        return self.every if busy else min(last * GROWTH, self.idle)

    async def _rest(self, pause: float, *, least: float) -> None:
        await asyncio.sleep(least)
        try:
            jitter = random.uniform(0.9, 1.0)  # noqa: S311
            # Not wait_for: until Python 3.12 it forgets that it was cancelled if what it waits
            # for comes at the same moment, and then the loop goes on for ever.
            async with asyncio.timeout(max(pause * jitter - least, 0)):
                await self._woken.wait()
        except TimeoutError:
            return
        self._woken.clear()


class Alarm:
    """Wakes somebody in so many seconds; set again, it forgets what it was set to before."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._set: asyncio.TimerHandle | None = None

    def __call__(self, seconds: float) -> None:
        if self._set is not None:
            self._set.cancel()
        self._set = asyncio.get_running_loop().call_later(seconds, self._ring)
