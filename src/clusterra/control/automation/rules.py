"""The automations there are, and everything that is done with them.

They are asked at every event, so they are held in memory; every change is committed
first, with its event, and shown here then. What another server changes is read again
after a while.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from clusterra.control.people.doing import Doer, told
from clusterra.control.people.drawn import new_id
from clusterra.core.automation.read import spelled
from clusterra.core.automation.rule import (
    RULE,
    Rule,
    RuleState,
    RuleWish,
    check_wish,
)
from clusterra.core.change import Change, Record
from clusterra.core.errors import Conflict, NotFound
from clusterra.core.events.catalogue import admin as facts
from clusterra.core.events.fact import Fact
from clusterra.core.ids import uuid8
from clusterra.core.people.person import ledger_of
from clusterra.core.quote import shown
from clusterra.ports import Clock, Store

MOST = 200
"""Automations of one workspace, those said with submissions not counted."""

REREAD = timedelta(seconds=30)

PREFIX = "aut_"


@dataclass(slots=True, kw_only=True)
class Rules:
    store: Store
    clock: Clock
    _records: dict[str, Record[Rule]] = field(default_factory=dict)
    _standing: defaultdict[str, dict[str, Rule]] = field(default_factory=lambda: defaultdict(dict))
    """By workspace: those that somebody made and that are not off."""

    _bound: defaultdict[str, dict[str, Rule]] = field(default_factory=lambda: defaultdict(dict))
    """By run id: what was said with that submission."""

    _bound_since: dict[str, int] = field(default_factory=dict)
    """By ledger: the event after which the first of those may answer one."""

    _read_at: datetime | None = None
    _changes: int = 0

    # --- asking

    async def load(self) -> None:
        """Read all that there is."""
        while True:
            changes = self._changes
            found = await self.store.list(RULE)
            if changes == self._changes:
                break
        for known in (self._records, self._standing, self._bound, self._bound_since):
            known.clear()
        for record in found:
            self.show(record)
        self._read_at = self.clock.now()

    async def refresh(self) -> None:
        """Read all again if that was a while ago."""
        now = self.clock.now()
        if self._read_at is None or now - self._read_at >= REREAD:
            await self.load()

    def find(self, id: str) -> Rule | None:
        record = self._records.get(id)
        return record.value if record else None

    def get(self, id: str) -> Rule:
        if (found := self.find(id)) is None:
            raise no_such_automation(id)
        return found

    def of(self, workspace: str) -> list[Rule]:
        """Return those that somebody made, by id."""
        mine = (record.value for record in self._records.values())
        return sorted(
            (each for each in mine if each.workspace == workspace and not each.once),
            key=lambda each: each.id,
        )

    def standing(self, workspace: str) -> Iterable[Rule]:
        """Return those that answer events of a workspace."""
        return self._standing[workspace].values() if workspace in self._standing else ()

    def earliest(self, workspace: str, ledger: str) -> int | None:
        """Return the event of a ledger after which anybody may answer one; None if nobody does."""
        found = [
            each.begins.get(ledger, 0)
            for each in self.standing(workspace)
            if not each.when.clusters or ledger in each.when.clusters
        ]
        if self.any_bound and ledger in self._bound_since:
            found.append(self._bound_since[ledger])
        return min(found, default=None)

    @property
    def any_bound(self) -> bool:
        return bool(self._bound)

    def bound(self, run_id: str) -> Sequence[Rule]:
        """Return what was said with a submission."""
        return tuple(self._bound[run_id].values()) if run_id in self._bound else ()

    def record(self, id: str) -> Record[Rule]:
        return self._records[id]

    def bound_before(self, then: datetime) -> list[Record[Rule]]:
        """Return what was said with submissions so long ago that nobody waits for it."""
        return [
            record
            for record in self._records.values()
            if record.value.once and record.value.created_at < then
        ]

    # --- changing

    async def make(
        self,
        wish: RuleWish,
        workspace: str,
        owner: str,
        *,
        by: Doer,
        ledgers: Sequence[str],
        operator: bool = False,
    ) -> Rule:
        """Make an automation of somebody, which answers what happens from now on."""
        check_wish(wish)
        await self.load()
        if len(self.of(workspace)) >= MOST:
            raise Conflict(
                f"{workspace} has {MOST} automations already, and that is the most.",
                hint="Remove one that nobody needs: clusterra automations list",
                code="too-many-automations",
            )
        now = self.clock.now()
        rule = Rule(
            id=new_id(PREFIX, now),
            workspace=workspace,
            owner=owner,
            name=wish.name or _named_by(wish),
            when=wish.when,
            actions=wish.actions,
            most=wish.most,
            backoff_seconds=wish.backoff_seconds,
            most_per_hour=wish.most_per_hour,
            state=wish.state,
            begins=await self._heads(ledgers),
            created_at=now,
            operator=operator,
        )
        fact = facts.AdminAutomationCreated(id=rule.id, name=rule.name)
        await self._put(Record(kind=RULE, id=rule.id, value=rule), fact, by)
        return rule

    async def edit(self, id: str, wish: RuleWish, *, by: Doer, ledgers: Sequence[str]) -> Rule:
        """Make an automation what is wished; it answers what happens from now on."""
        check_wish(wish)
        old = self.get(id)
        new = replace(
            old,
            name=wish.name or old.name,
            when=wish.when,
            actions=wish.actions,
            most=wish.most,
            backoff_seconds=wish.backoff_seconds,
            most_per_hour=wish.most_per_hour,
            state=wish.state,
        )
        if new == old:
            return old
        if (new.when, new.actions, new.state) != (old.when, old.actions, old.state):
            new = replace(new, begins=await self._heads(ledgers))
        fact = facts.AdminAutomationChanged(id=id, name=new.name, changed=_differences(old, new))
        await self._put(replace(self._records[id], value=new), fact, by)
        return new

    async def delete(self, id: str, *, by: Doer) -> Rule:
        """Take an automation away. What it has begun, it finishes no more."""
        rule = self.get(id)
        record = self._records[id]
        fact = facts.AdminAutomationDeleted(id=id, name=rule.name)
        draft = told(fact, actor=by.actor, subject=f"automation/{id}", at=self.clock.now())
        await self._commit(ledger_of(rule.workspace), Change(drops=[record], events=[draft]))
        self.hide(record)
        return rule

    async def bind(
        self,
        run_id: str,
        wishes: Sequence[RuleWish],
        *,
        cluster: str,
        workspace: str,
        owner: str,
        operator: bool,
    ) -> None:
        """Keep what was said with a submission; done again, it changes nothing."""
        begins = await self._heads([cluster])
        records = []
        for place, wish in enumerate(wishes):
            id = PREFIX + uuid8("then", run_id, place).replace("-", "")
            rule = Rule(
                id=id,
                workspace=workspace,
                owner=owner,
                name=wish.name,
                when=replace(wish.when, runs=(run_id,), clusters=(cluster,)),
                actions=wish.actions,
                most=wish.most,
                backoff_seconds=wish.backoff_seconds,
                most_per_hour=wish.most_per_hour,
                begins=begins,
                created_at=self.clock.now(),
                once=True,
                operator=operator,
            )
            if id not in self._records:
                records.append(Record(kind=RULE, id=id, value=rule))
        if records:
            await self._commit(cluster, Change(puts=records))
            for record in records:
                self.show(replace(record, version=record.version + 1))

    async def unbind(self, run_id: str) -> None:
        """Forget what was said with a submission that came to nothing."""
        records = [self._records[rule.id] for rule in self.bound(run_id)]
        if records:
            await self._commit(records[0].value.when.clusters[0], Change(drops=records))
            for record in records:
                self.hide(record)

    def show(self, record: Record[Rule]) -> None:
        """Take note of one as it is in the store."""
        self.hide(record)
        rule = record.value
        self._changes += 1
        self._records[rule.id] = record
        if rule.once:
            for run in rule.when.runs:
                self._bound[run][rule.id] = rule
            for ledger, head in rule.begins.items():
                self._bound_since[ledger] = min(head, self._bound_since.get(ledger, head))
        elif rule.state is not RuleState.OFF:
            self._standing[rule.workspace][rule.id] = rule

    def hide(self, record: Record[Rule]) -> None:
        """Take note that one is gone."""
        self._changes += 1
        old = self._records.pop(record.id, None)
        if old is None:
            return
        self._standing[old.value.workspace].pop(record.id, None)
        for run in old.value.when.runs:
            self._bound[run].pop(record.id, None)
            if not self._bound[run]:
                del self._bound[run]

    async def _heads(self, ledgers: Sequence[str]) -> dict[str, int]:
        return {each: (await self.store.head(each)).size for each in ledgers}

    async def _put(self, record: Record[Rule], fact: Fact, by: Doer) -> None:
        subject = f"automation/{record.id}"
        draft = told(fact, actor=by.actor, subject=subject, at=self.clock.now())
        ledger = ledger_of(record.value.workspace)
        await self._commit(ledger, Change(puts=[record], events=[draft]))
        self.show(replace(record, version=record.version + 1))

    async def _commit(self, ledger: str, change: Change) -> None:
        try:
            await self.store.commit(ledger, change)
        except Conflict:
            await self.load()
            raise


def no_such_automation(id: str) -> NotFound:
    return NotFound(
        f"There is no automation {shown(id)} here.",
        hint="`clusterra automations list` shows those you have.",
        code="automation-not-found",
    )


def _named_by(wish: RuleWish) -> str:
    acts = "-".join(dict.fromkeys(action.act.value for action in wish.actions))
    about = wish.when.types[0].removeprefix("job.").strip("*.") if wish.when.types else ""
    return f"{acts}-{about or 'any'}".replace("_", "-").replace(".", "-")


def _differences(old: Rule, new: Rule) -> tuple[str, ...]:
    """Say what is different; a script is not shown, the ledger holds none."""
    before, after = spelled(old), spelled(new)
    said = []
    for name, value in after.items():
        if value == before[name]:
            continue
        if name in ("when", "do"):
            said.append(f"{name}: changed")
        else:
            said.append(f"{name}: {before[name]} → {value}")
    return tuple(said)
