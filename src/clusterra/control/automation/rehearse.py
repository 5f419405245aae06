"""What an automation would have done: read in the ledger, and nothing is done."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from clusterra.core.access import Caller
from clusterra.core.automation.action import Act
from clusterra.core.automation.answer import answers
from clusterra.core.automation.cause import Cause, read_cause
from clusterra.core.automation.guard import Hourly, Lineage, why_stopped, why_too_many
from clusterra.core.automation.rule import Rule
from clusterra.core.errors import Invalid
from clusterra.core.events.access import may_read
from clusterra.core.events.event import Event, EventQuery
from clusterra.core.events.interest import particulars
from clusterra.ports import Clock, Store

MOST_EVENTS = 10_000
MOST_SHOWN = 50
PAGE = 1_000
USUALLY = timedelta(days=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Would:
    """What it would have done about one event."""

    cause: Cause
    action: Act
    stopped: str = ""
    """Why it would not have acted after all."""


@dataclass(slots=True, kw_only=True)
class Rehearsed:
    since: datetime
    events: int = 0
    """Read, of the types that it names."""

    acted: int = 0
    stopped: int = 0
    jobs: int = 0
    """How many jobs it would have acted for."""

    started: int = 0
    """How many jobs it would have submitted or requeued."""

    cost_micros: int = 0
    """What the jobs cost that it would have run again: so much again, if they did the same."""

    cost_unknown: int = 0
    """Of how many of them that is not known."""

    would: list[Would] = field(default_factory=list)
    """The first of them."""

    cut_off: bool = False
    """There were more events than are read."""


async def rehearse(
    rule: Rule,
    ledgers: Sequence[str],
    owner: Caller,
    *,
    since: datetime | None,
    store: Store,
    clock: Clock,
    person_of: Callable[[str], str] = str,
) -> Rehearsed:
    """Go through what happened, as if the automation had been there.

    What its own jobs would have done nobody knows: each event stands by itself, so a chain
    counts as long as it really was.
    """
    now = clock.now()
    since = since or now - USUALLY
    if since > now:
        raise Invalid("That is in the future.", hint="Say a time that is over, as 30d.", at="since")
    story = _Story(rule=rule, owner=owner, person_of=person_of, found=Rehearsed(since=since))
    for ledger in ledgers:
        if rule.when.clusters and ledger not in rule.when.clusters:
            continue
        await story.read(ledger, store)
    story.found.jobs = len(story.origins)
    return story.found


@dataclass(slots=True, kw_only=True)
class _Story:
    rule: Rule
    owner: Caller
    person_of: Callable[[str], str]
    found: Rehearsed
    origins: set[str] = field(default_factory=set)
    _acted: Counter[str] = field(default_factory=Counter)
    _hours: dict[str, Hourly] = field(default_factory=dict)

    async def read(self, ledger: str, store: Store) -> None:
        found, after = self.found, 0
        while found.events < MOST_EVENTS:
            query = EventQuery(
                after=after,
                types=self.rule.when.types,
                since=found.since,
                limit=min(PAGE, MOST_EVENTS - found.events),
            )
            events = await store.events(ledger, query)
            found.events += len(events)
            again: list[int] = []
            for event in events:
                again += self._meet(event)
            await self._price(ledger, again, store)
            if len(events) < query.limit:
                return
            after = events[-1].seq
        found.cut_off = True

    def _meet(self, event: Event) -> list[int]:
        """Note what it would do about an event; return the jobs that it would run again."""
        cause, rule = read_cause(event), self.rule
        if not rule.when.means(event.type, event.cluster, particulars(event.body, self.person_of)):
            return []
        if not may_read(self.owner, event):
            return []
        wanted = answers(rule, cause, self.owner)
        if not wanted:
            return []
        lineage = Lineage(
            root=cause.origin, at=event.at, acted={rule.id: self._acted[cause.origin]}
        )
        hour = self._hours.get(event.cluster, Hourly(since=event.at)).at(event.at)
        too_many = why_too_many(rule, hour)
        again = []
        starts = False
        for _, action in wanted:
            why = too_many or why_stopped(rule, action.act, lineage)
            self._note(Would(cause=cause, action=action.act, stopped=why))
            if why:
                continue
            self.origins.add(cause.origin)
            starts |= action.act.starts_jobs
            if action.act.needs_job and cause.job_id is not None:
                again.append(cause.job_id)
        self._acted[cause.origin] += starts
        self._hours[event.cluster] = replace(hour, count=hour.count + (not too_many))
        return again

    def _note(self, would: Would) -> None:
        found = self.found
        if would.stopped:
            found.stopped += 1
        else:
            found.acted += 1
            found.started += would.action.starts_jobs
        if len(found.would) < MOST_SHOWN:
            found.would.append(would)

    async def _price(self, ledger: str, ids: Sequence[int], store: Store) -> None:
        if not ids:
            return
        jobs = await store.jobs_by_id(ledger, set(ids))
        for id in ids:
            job = jobs.get(id)
            if job is None or job.why_unbilled or job.billed_until is None:
                self.found.cost_unknown += 1
            else:
                self.found.cost_micros += job.billed_micros
