"""Read a ledger from where one left off, and put down what automations have to do about it.

What is to be done, how often that has been done for the same job, and how far was read
become true in one commit (`docs/decisions/0015`). So an event is answered once, also if
the server dies at any moment: what was put down is done after it, and what was not read
is read after it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TypeVar

from clusterra.control.automation.due import Due
from clusterra.control.automation.page import Page
from clusterra.control.automation.rules import Rules
from clusterra.control.automation.telling import stopped
from clusterra.core.access import Caller
from clusterra.core.automation.action import Act, Action
from clusterra.core.automation.answer import answers
from clusterra.core.automation.cause import Cause, read_cause
from clusterra.core.automation.firing import (
    Firing,
    FiringState,
    firing_id,
    made_run_id,
)
from clusterra.core.automation.guard import (
    HOURLY,
    LINEAGE,
    Hourly,
    Lineage,
    pause,
    why_stopped,
    why_too_many,
)
from clusterra.core.automation.rule import ENDS, Rule, RuleState
from clusterra.core.change import Kind, Record
from clusterra.core.events.access import may_read
from clusterra.core.events.event import Event, EventQuery
from clusterra.core.events.filter import is_like
from clusterra.core.events.interest import particulars
from clusterra.ports import Clock, Store

T = TypeVar("T")

PAGE = 500

READ_TO: Kind[int] = Kind("automated", int)
"""By ledger: the number up to which events have been answered."""


@dataclass(slots=True, kw_only=True)
class Reader:
    ledger: str
    workspace: Callable[[], str]
    """Whose ledger it is."""

    rules: Rules
    due: Due
    store: Store
    clock: Clock
    owner_of: Callable[[Rule], Caller | None]
    """Whoever an automation acts for, as they would be asking now; None if they are gone."""

    person_of: Callable[[str], str] = str
    actor_of: Callable[[str], str] = str
    """How the ledger names the owner of an automation."""

    _position: Record[int] | None = field(default=None)
    _written: int = 0
    """The position in the store: it is not written for events that nobody answers."""

    async def read(self) -> bool:
        """Read a page; say whether there was anything to read."""
        await self.rules.refresh()
        earliest = self.rules.earliest(self.workspace(), self.ledger)
        if earliest is None:
            return False  # whoever comes begins with what happens then
        lease = await self.due.lease()
        if lease is None:
            self._position = None
            return False
        head = (await self.store.head(self.ledger)).size
        position = await self._from(earliest)
        if head <= position.value:
            return False
        query = EventQuery(after=position.value, limit=PAGE)
        events = await self.store.events(self.ledger, query)
        page = Page(store=self.store, ledger=self.ledger, now=self.clock.now())
        for event in events:
            await self._meet(event, page)
        to = events[-1].seq if events else head
        if page.is_empty and to - self._written < PAGE:
            self._position = replace(position, value=to)
            return True
        moved = replace(position, value=to)
        change = page.change(moved, lease)
        if not await self.due.commit(change):
            self._position = None
            return True
        self._position = replace(moved, version=moved.version + 1)
        self._written = to
        for record in page.dropped.values():
            self.rules.hide(record)
        if page.due:
            self.due.add([replace(each, version=each.version + 1) for each in page.due])
        return True

    async def _from(self, earliest: int) -> Record[int]:
        """Return where to read on; nobody answers what came before the first of them was made."""
        if self._position is None:
            self._position = await self.store.get(READ_TO, self.ledger, default=earliest)
            self._written = self._position.value
        if self._position.value < earliest:
            self._position = replace(self._position, value=earliest)
        return self._position

    # --- one event

    async def _meet(self, event: Event, page: Page) -> None:
        made = [
            rule for rule in self.rules.standing(self.workspace()) if self._may_mean(rule, event)
        ]
        told_with = self.rules.any_bound and event.type.startswith("job.")
        if not made and not told_with:
            return
        cause, inside = read_cause(event), particulars(event.body, self.person_of)
        for rule in made:
            if rule.when.means(event.type, self.ledger, inside):
                await self._answer(rule, event, cause, page)
        if told_with and cause.run_id:
            await self._follow(event, cause, page)

    def _may_mean(self, rule: Rule, event: Event) -> bool:
        """Look at what costs nothing to look at."""
        types = rule.when.types
        return event.seq > rule.begins.get(self.ledger, 0) and (
            not types or any(is_like(event.type, each) for each in types)
        )

    async def _follow(self, event: Event, cause: Cause, page: Page) -> None:
        """Do what was said with the submission of a job, or of the one that it stands in for."""
        bound = [each for each in self.rules.bound(cause.run_id) if each.id not in page.dropped]
        if not bound:
            made = await page.get(LINEAGE, _by_run(self.ledger, cause.run_id), _NO_LINEAGE)
            found = (self.rules.find(id) for id in made.value.follows)
            bound = [each for each in found if each is not None and each.id not in page.dropped]
        if not bound:
            return
        goes_on = False
        for rule in bound:
            if any(is_like(event.type, each) for each in rule.when.types):
                begun = await self._answer(
                    rule, event, cause, page, follows=tuple(each.id for each in bound)
                )
                goes_on |= any(each.action.act.needs_job for each in begun)
        # Of an array other tasks may be to come; what nobody waits for is tidied up.
        if event.type in ENDS and not goes_on and not cause.is_task:
            for rule in bound:
                page.dropped[rule.id] = self.rules.record(rule.id)

    async def _answer(
        self,
        rule: Rule,
        event: Event,
        cause: Cause,
        page: Page,
        *,
        follows: tuple[str, ...] = (),
    ) -> Sequence[Firing]:
        """Put down what an automation does about an event that it means; return what is due."""
        owner = self.owner_of(rule)
        if owner is not None and not may_read(owner, event):
            return ()
        wanted = answers(rule, cause, owner)
        if not wanted:
            return ()
        if not rule.once and not await self._within_the_hour(rule, cause, wanted[0], page):
            return ()
        lineage = await self._lineage(cause, page)
        begun: list[Firing] = []
        for place, action in wanted:
            firing = _firing(rule, place, action, cause, page.now)
            if rule.state is RuleState.DRY_RUN:
                page.ended(replace(firing, state=FiringState.DRY, ended_at=page.now))
            elif why := why_stopped(rule, action.act, lineage.value):
                self._stop(firing, why, page)
            else:
                firing = replace(firing, due_at=page.now + pause(rule, lineage.value))
                if action.act in (Act.SUBMIT, Act.RETRY):
                    where = action.submit.cluster or cause.cluster
                    goes_with = follows if action.act is Act.RETRY else ()
                    child = lineage.value.of_a_child(rule.id, page.now, follows=goes_with)
                    run = made_run_id(firing.id, firing.at)
                    await page.put(LINEAGE, _by_run(where, run), child)
                page.begin(firing)
                begun.append(firing)
        if any(each.action.act.starts_jobs for each in begun):
            page.replace(lineage, lineage.value.with_one_more(rule.id, page.now))
        return begun

    async def _within_the_hour(
        self, rule: Rule, cause: Cause, first: tuple[int, Action], page: Page
    ) -> bool:
        """Count an answer; False, told once, if there have been too many."""
        id = f"{rule.id}/{self.ledger}"
        record = await page.get(HOURLY, id, Hourly(since=page.now))
        hour = record.value.at(page.now)
        why = why_too_many(rule, hour)
        if not why:
            page.replace(record, replace(hour, count=hour.count + 1))
            return True
        if not hour.left_alone:
            self._stop(_firing(rule, *first, cause, page.now), why, page)
        page.replace(record, replace(hour, left_alone=hour.left_alone + 1))
        return False

    async def _lineage(self, cause: Cause, page: Page) -> Record[Lineage]:
        """Return what was done for a job so far, and for those that it was made from."""
        record = await page.get(LINEAGE, f"{self.ledger}/{cause.origin}", _NO_LINEAGE)
        if record.value is not _NO_LINEAGE:
            return record
        base = _NO_LINEAGE
        if cause.run_id:
            base = (await page.get(LINEAGE, _by_run(self.ledger, cause.run_id), base)).value
        if base is _NO_LINEAGE:
            base = Lineage(root=cause.origin, at=page.now)
        return replace(record, value=base)

    def _stop(self, firing: Firing, why: str, page: Page) -> None:
        over = replace(
            firing,
            state=FiringState.STOPPED,
            ended_at=page.now,
            code="stopped",
            why=why,
        )
        page.ended(over)
        page.events.append(stopped(over, actor=self.actor_of(firing.owner), at=page.now))


_NO_LINEAGE = Lineage(root="", at=datetime.min.replace(tzinfo=UTC))


def _firing(rule: Rule, place: int, action: Action, cause: Cause, now: datetime) -> Firing:
    return Firing(
        id=firing_id(rule.id, cause.id, place),
        rule=rule.id,
        workspace=rule.workspace,
        owner=rule.owner,
        name=rule.name,
        action=action,
        cause=cause,
        at=now,
        due_at=now,
        once=rule.once,
        operator=rule.operator,
    )


def _by_run(ledger: str, run_id: str) -> str:
    return f"{ledger}/run/{run_id}"
