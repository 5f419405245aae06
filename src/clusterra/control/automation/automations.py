"""Automations, put together: who has which, and who reads and acts for each ledger."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from clusterra.control.automation.deeds import Deeds, Notify
from clusterra.control.automation.due import Due
from clusterra.control.automation.fire import Actor
from clusterra.control.automation.read import Reader
from clusterra.control.automation.rehearse import Rehearsed, rehearse
from clusterra.control.automation.rules import Rules
from clusterra.control.automation.then import Then
from clusterra.control.lease import Tenure
from clusterra.control.people.people import People
from clusterra.control.people.standing import standing
from clusterra.control.requests import Requests
from clusterra.control.site import Site
from clusterra.control.submit import Submitter
from clusterra.control.templates.start import Starter
from clusterra.core.access import Caller
from clusterra.core.automation.firing import DUE, FIRING, Firing
from clusterra.core.automation.guard import HOUR, HOURLY, LINEAGE
from clusterra.core.automation.rule import Rule, RuleWish
from clusterra.core.change import Change, Kind, Record
from clusterra.core.people.person import ledger_of
from clusterra.ports import Clock, Store

KEPT = timedelta(days=30)
KEPT_FIRINGS = 500
"""Of one automation."""

BATCH = 1_000

HELD_FOR = timedelta(minutes=2)
"""A lease: longer than handing a job to a slow Slurm takes."""


@dataclass(slots=True, kw_only=True)
class Automations:
    store: Store
    clock: Clock
    people: People
    requests: Requests
    sites: Callable[[], Mapping[str, Site]]
    submitters: Mapping[str, Submitter]
    starter: Starter
    holder: str
    notify: Notify

    rules: Rules = field(init=False)
    _deeds: Deeds = field(init=False)

    def __post_init__(self) -> None:
        self.rules = Rules(store=self.store, clock=self.clock)
        self._deeds = Deeds(
            store=self.store,
            clock=self.clock,
            requests=self.requests,
            sites=self.sites,
            submitters=self.submitters,
            starter=self.starter,
            owner_of=self.owner_of,
            notify=self.notify,
        )

    def owner_of(self, what: Rule | Firing) -> Caller | None:
        """Return the owner as they would be asking now; None if they are gone."""
        return standing(self.people, what.owner, what.workspace)

    def actor_of(self, owner: str) -> str:
        person = self.people.directory.person(owner)
        return person.actor if person else ""

    def of_ledger(self, ledger: str) -> tuple[Reader, Actor]:
        """Make who reads a ledger, and who acts upon it."""
        tenure = Tenure(
            cluster=ledger,
            what="automate",
            holder=self.holder,
            store=self.store,
            clock=self.clock,
            good_for=HELD_FOR,
            least=HELD_FOR / 2,
        )
        due = Due(ledger=ledger, store=self.store, tenure=tenure)
        reader = Reader(
            ledger=ledger,
            workspace=lambda: self.people.workspace_of(ledger),
            rules=self.rules,
            due=due,
            store=self.store,
            clock=self.clock,
            owner_of=self.owner_of,
            person_of=self.people.directory.payer_of,
            actor_of=self.actor_of,
        )
        actor = Actor(
            due=due,
            rules=self.rules,
            store=self.store,
            clock=self.clock,
            do=self._deeds.do,
            actor_of=self.actor_of,
        )
        return reader, actor

    def then(
        self, wishes: Sequence[RuleWish], *, workspace: str, owner: str, operator: bool
    ) -> Then:
        """Return what somebody says with a submission, to be submitted with it."""
        return Then(
            rules=self.rules, wishes=wishes, workspace=workspace, owner=owner, operator=operator
        )

    async def rehearse(self, rule: Rule, owner: Caller, *, since: datetime | None) -> Rehearsed:
        """Say what an automation would have done."""
        return await rehearse(
            rule,
            self.people.ledgers_of(rule.workspace),
            owner,
            since=since,
            store=self.store,
            clock=self.clock,
            person_of=self.people.directory.payer_of,
        )

    async def firings(self, rule: Rule, limit: int) -> Sequence[Firing]:
        """Return what an automation has done and has still to do, the newest first."""
        over = [each.value for each in await self.store.list(FIRING, f"{rule.id}/")]
        due = [
            each.value
            for ledger in self.people.ledgers_of(rule.workspace)
            for each in await self.store.list(DUE, f"{ledger}/")
            if each.value.rule == rule.id
        ]
        found = sorted((*over, *due), key=lambda each: (each.at, each.id), reverse=True)
        return found[:limit]

    async def tidy(self) -> bool:
        """Let go of what nobody looks at any more; say whether there may be more of it."""
        now = self.clock.now()
        await self.rules.load()
        old: list[Record[Any]] = [*self.rules.bound_before(now - KEPT)]
        for record in old[:BATCH]:
            self.rules.hide(record)
        old += await self._older(LINEAGE, lambda each: each.at < now - KEPT)
        old += await self._older(HOURLY, lambda each: each.since < now - HOUR)
        old += await self._old_firings(now - KEPT)
        if old:
            await self.store.commit(ledger_of(self.people.home), Change(drops=old[:BATCH]))
        return len(old) > BATCH

    async def _older(self, kind: Kind[Any], is_old: Callable[[Any], bool]) -> list[Record[Any]]:
        return [each for each in await self.store.list(kind) if is_old(each.value)]

    async def _old_firings(self, before: datetime) -> list[Record[Any]]:
        by_rule: dict[str, list[Record[Firing]]] = {}
        for each in await self.store.list(FIRING):
            by_rule.setdefault(each.value.rule, []).append(each)
        return [
            each
            for records in by_rule.values()
            for place, each in enumerate(reversed(records))
            if place >= KEPT_FIRINGS or each.value.at < before
        ]
