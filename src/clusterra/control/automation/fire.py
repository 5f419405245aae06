"""Do what automations have put down, each once, in the name of its owner.

What is to be done is on disk before it is done, and so is the run id of the job that it
makes. Slurm is asked under the firing's own id (Idempotency-Key): whoever dies between
asking and writing it down finds the job when they ask again.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import structlog

from clusterra.control.automation.due import Due
from clusterra.control.automation.rules import Rules
from clusterra.control.automation.telling import fired, refused, stopped
from clusterra.core.automation.firing import FIRING, Firing, FiringState, ended_key
from clusterra.core.automation.rule import RuleState
from clusterra.core.change import Change, Record
from clusterra.core.errors import ClusterraError, Unreachable
from clusterra.core.events.event import Draft
from clusterra.ports import Clock, Store

log = structlog.get_logger()

WIDTH = 4
"""How many are done at once: Slurm has others to answer."""

ROUND = 64
"""How many are done before somebody else has a turn."""

AGAIN_AFTER = timedelta(seconds=10)
AGAIN_MOST = timedelta(minutes=10)
"""How long to wait before what could not be reached is tried again: twice as long each time."""

GIVEN_UP_AFTER = timedelta(days=3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What came of it."""

    made_job_id: int | None = None
    made_cluster: str = ""
    made_run_id: str = ""
    changed: tuple[str, ...] = ()


Do = Callable[[Firing], Awaitable[Done]]
"""Does it. Raises Unreachable for what is to be tried again, another error for what is not."""


@dataclass(slots=True, kw_only=True)
class Actor:
    due: Due
    rules: Rules
    store: Store
    clock: Clock
    do: Do
    actor_of: Callable[[str], str] = str
    alarm: Callable[[float], None] = lambda _: None
    """Have another round made in so many seconds."""

    async def act(self) -> bool:
        """Do what is due; say whether there is more."""
        if await self.due.is_empty():
            return False
        lease = await self.due.lease()
        if lease is None:
            return False
        turns = asyncio.Semaphore(WIDTH)

        async def in_turn(record: Record[Firing]) -> None:
            async with turns:
                await self._see_to(record)

        ready = self.due.ready(self.clock.now(), ROUND)
        outcomes = await asyncio.gather(*map(in_turn, ready), return_exceptions=True)
        for each in outcomes:
            if isinstance(each, BaseException):
                raise each
        now, next_at = self.clock.now(), self.due.next_at()
        if next_at is not None and next_at > now:
            self.alarm((next_at - now).total_seconds())
        return next_at is not None and next_at <= now

    async def _see_to(self, record: Record[Firing]) -> None:
        firing = record.value
        if why := self._called_off(firing):
            await self._end(record, FiringState.STOPPED, code="called-off", why=why)
            return
        try:
            done = await self.do(firing)
        except Unreachable as error:
            await self._later(record, error)
        except ClusterraError as error:
            await self._end(record, FiringState.REFUSED, code=error.code, why=error.detail)
        except Exception as error:
            log.exception("automation.failed", automation=firing.rule, firing=firing.id)
            trouble = Unreachable(f"Something went wrong here: {type(error).__name__}.")
            await self._later(record, trouble)
        else:
            await self._end(record, FiringState.DONE, done=done)

    def _called_off(self, firing: Firing) -> str:
        if firing.once:
            return ""
        rule = self.rules.find(firing.rule)
        if rule is None:
            return "it was taken away before it acted"
        return "" if rule.state is RuleState.ON else "it was turned off before it acted"

    async def _later(self, record: Record[Firing], error: Unreachable) -> None:
        firing, now = record.value, self.clock.now()
        if now - firing.at > GIVEN_UP_AFTER:
            await self._end(record, FiringState.REFUSED, code=error.code, why=error.detail)
            return
        wait = min(AGAIN_AFTER * 2 ** min(firing.tries, 16), AGAIN_MOST)
        again = replace(firing, tries=firing.tries + 1, due_at=now + wait, why=error.detail)
        put = replace(record, value=again)
        if await self._commit(Change(puts=[put])):
            self.due.add([replace(put, version=put.version + 1)])

    async def _end(
        self,
        record: Record[Firing],
        state: FiringState,
        *,
        done: Done | None = None,
        code: str = "",
        why: str = "",
    ) -> None:
        now = self.clock.now()
        done = done or Done()
        over = replace(
            record.value,
            state=state,
            ended_at=now,
            code=code,
            why=why,
            made_job_id=done.made_job_id,
            made_run_id=done.made_run_id,
            changed=done.changed,
        )
        drafts = await self._told(over, done, self.actor_of(over.owner))
        puts: list[Record[Any]] = []
        if not over.once:
            puts.append(Record(kind=FIRING, id=ended_key(over), value=over))
        if await self._commit(Change(puts=puts, drops=[record], events=drafts)):
            self.due.drop(record.id)

    async def _told(self, over: Firing, done: Done, actor: str) -> list[Draft]:
        now = self.clock.now()
        if over.state is FiringState.REFUSED:
            return [refused(over, actor=actor, at=now)]
        if over.state is FiringState.STOPPED:
            return [stopped(over, actor=actor, at=now)]
        told = fired(over, actor=actor, at=now)
        if told.made is None:
            return [told.cause]
        if done.made_cluster == over.cause.ledger:
            return [told.cause, told.made]
        # Another ledger is another commit. First the one that may be repeated.
        await self.store.commit(done.made_cluster, Change(events=[told.made]))
        return [told.cause]

    async def _commit(self, change: Change) -> bool:
        lease = await self.due.lease()
        if lease is None:
            return False
        return await self.due.commit(replace(change, unmoved=[lease]))
