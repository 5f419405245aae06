"""The heartbeat: say what workers there are, hear what workers there are to be, make it so.

Orders are the whole desired fleet, every time, so a lost or repeated answer costs nothing.
Only an answer that is surely one is followed: with anything else, or without being able
to see the workers, nothing is changed. While nothing happens one question waits at the
server, which answers it when something else is wanted; when a worker comes, is ready or
goes, the question is put again with the news.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from clusterra.agent.heartbeat import Self, read_orders, report, shape_of
from clusterra.core.errors import ClusterraError, Unreachable
from clusterra.core.scaling.edge import EdgeWorker, Failed
from clusterra.ports import Clock, Workers, WorkerShape
from clusterra.wire.agent import CommandView, Heartbeat, Orders

PATH = "/v1/internal/agent/heartbeat"
ANSWER_WITHIN = 10.0
"""Seconds an answer may take beyond what we asked the server to wait."""

FIRST_PAUSE = 0.25
APART = 0.05
"""Seconds between two beats at least: two hundred workers becoming ready are a few, not so many."""

FIRST_REST, LONGEST_REST = 1.0, 60.0
"""Seconds that a shape is not started again which has just failed to start."""

MOST_FAILURES = 500
"""How many are remembered while nobody can be told."""


class Central(Protocol):
    """The control plane, as far as an agent talks to it."""

    async def ask(self, path: str, body: bytes, *, within: float) -> bytes:
        """Return the body of an answer 200, within so many seconds.

        Raises ClusterraError for anything else.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """What the agent has to say of itself."""

    what: str
    """resized · failed · blind · refused · waiting · back"""
    why: str = ""
    seconds: float = 0


@dataclass(slots=True, kw_only=True)
class _Rest:
    until: float
    seconds: float


@dataclass(slots=True, kw_only=True)
class Heart:
    me: Self
    workers: Workers
    central: Central
    clock: Clock
    every: float
    """Seconds between two heartbeats while nothing happens."""

    tell: Callable[[Happened], None]
    applied: int = 0
    """The newest fleet it has seen."""

    _orders: Orders | None = None
    _failed: list[Failed] = field(default_factory=list)
    """What no answered heartbeat has told of yet."""
    _rests: dict[str, _Rest] = field(default_factory=dict)
    _blind: bool = False
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _asked_at: float = 0
    _failures: int = 0
    _calm: int = 0
    """How many answers in a row came early and said nothing new."""

    async def run(self) -> None:
        """Beat until cancelled."""
        self.workers.watch(self._news.set)
        while True:
            try:
                pause = await self.beat()
            except ClusterraError as error:
                # News do not shorten it: a server in trouble gets no more questions for them.
                await asyncio.sleep(self._back_off(error))
            else:
                await self._until_news(pause)

    async def beat(self) -> float:
        """Report, follow the answer, and return how long to wait for news before the next.

        Raises ClusterraError, having changed nothing, if there is no good answer.
        """
        await asyncio.sleep(self._asked_at + APART - _now())
        self._news.clear()
        seen = await self._look()
        wait = self._patience()
        self._asked_at = _now()
        answer = await self._ask(self._report(seen, wait), wait)
        if answer is None:
            return 0
        orders = read_orders(answer)
        self._answered(orders)
        fresh, self._orders = orders != self._orders, orders
        if seen is not None:
            await self._apply(orders, seen)
        return self._pause(wait, fresh=fresh)

    def _patience(self) -> float:
        """Return how long the server may wait with its answer."""
        # What it must hear is not made to wait there, where the question may be withdrawn and
        # put again.
        if self._orders is None or self._failed or self._blind or self._failures:
            return 0
        resting = [each.until - _now() for each in self._rests.values() if each.until > _now()]
        return min([self.every, *resting])

    def _pause(self, wait: float, *, fresh: bool) -> float:
        held = _now() - self._asked_at >= wait / 2
        if fresh or (held and not self._blind):
            self._calm = 0
            return 0
        # A server that does not wait, or cannot be told more, is asked ever more seldom.
        self._calm += 1
        return min(0.1 * 2.0**self._calm, self.every)

    async def _ask(self, report: Heartbeat, wait: float) -> bytes | None:
        """Put the question; None if it was withdrawn because there are news."""
        asking = asyncio.create_task(
            self.central.ask(PATH, msgspec.json.encode(report), within=wait + ANSWER_WITHIN)
        )
        heard = asyncio.create_task(self._news.wait())
        try:
            if wait:
                await asyncio.wait({asking, heard}, return_when=asyncio.FIRST_COMPLETED)
                if not asking.done():
                    return None
            return await asking
        finally:
            asking.cancel()
            heard.cancel()
            await asyncio.gather(asking, heard, return_exceptions=True)

    def _answered(self, orders: Orders) -> None:
        if self._failures:
            self.tell(Happened(what="back"))
        self._failures = 0
        self._failed.clear()
        version = orders.scaling_commands_version
        if 0 < version < self.applied:
            self.applied = 0  # the server was set back to an earlier day
        self.applied = max(self.applied, version)

    async def _until_news(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            return

    async def _look(self) -> Sequence[EdgeWorker] | None:
        """Return what workers there are, and take note of those that failed; None if unseen."""
        try:
            seen = await self.workers.present()
            failed = await self.workers.failures()
        except Unreachable as error:
            if not self._blind:
                self.tell(Happened(what="blind", why=error.detail))
            self._blind = True
            return None
        self._blind = False
        for each in seen:
            if each.ready:
                self._rests.pop(each.shape, None)
        for failure in failed:
            self._note(failure)
        return seen

    def _note(self, failed: Failed) -> None:
        self.tell(Happened(what="failed", why=f"{failed.name or failed.shape}: {failed.why}"))
        self._failed = [*self._failed, failed][-MOST_FAILURES:]
        now = _now()
        rest = self._rests.get(failed.shape)
        if rest is None:
            self._rests[failed.shape] = _Rest(until=now + FIRST_REST, seconds=FIRST_REST)
        elif rest.until <= now:
            # Those that fail together are one reason to rest longer, not many.
            rest.seconds = min(rest.seconds * 2, LONGEST_REST)
            rest.until = now + rest.seconds

    def _report(self, seen: Sequence[EdgeWorker] | None, wait: float) -> Heartbeat:
        told = self._orders.protected_nodes if self._orders else None
        return report(self.me, seen, self._failed, applied=self.applied, protected=told, wait=wait)

    async def _apply(self, orders: Orders, seen: Sequence[EdgeWorker]) -> None:
        """Make every shape as many as are wanted; those that are not named are not wanted."""
        there = Counter(each.shape for each in seen)
        wanted = {each.name: each for each in orders.scaling_commands}
        sizes: list[tuple[WorkerShape, int]] = [
            # Where none is wanted, the name is all that matters of a shape.
            (WorkerShape(name=name, arch="", cpus=0, memory_mib=0), 0)
            for name in there
            if name not in wanted
        ]
        sizes += [(shape_of(each), self._rested(each, there)) for each in wanted.values()]
        for shape, replicas in sizes:
            await self._resize(shape, replicas, orders, there)

    async def _resize(
        self, shape: WorkerShape, replicas: int, orders: Orders, there: Mapping[str, int]
    ) -> None:
        try:
            await self.workers.resize(
                shape, replicas, retire=orders.retire, protected=orders.protected_nodes
            )
        except Unreachable as error:
            self._blind = True
            self.tell(Happened(what="blind", why=error.detail))
        except ClusterraError as error:
            # It will not be possible the next time either, and whoever asks should know.
            self._note(Failed(shape=shape.name, why=error.detail, at=self.clock.now()))
        else:
            if there[shape.name] != replicas:
                before = there[shape.name]
                self.tell(Happened(what="resized", why=f"{shape.name}: {before} → {replicas}"))

    def _rested(self, command: CommandView, there: Mapping[str, int]) -> int:
        rest = self._rests.get(command.name)
        if rest is None or rest.until <= _now():
            return command.replicas
        return min(command.replicas, there[command.name])

    def _back_off(self, error: ClusterraError) -> float:
        self._failures += 1
        longest = min(FIRST_PAUSE * 2.0 ** (self._failures - 1), self.every)
        pause = longest * random.uniform(0.5, 1.0)  # noqa: S311 - not a secret
        if self._failures == 1:
            self.tell(Happened(what="waiting", why=error.detail, seconds=pause))
        return pause


def _now() -> float:
    return asyncio.get_running_loop().time()
