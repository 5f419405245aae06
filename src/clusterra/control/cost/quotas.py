"""The quotas of every workspace: known, set, raised, and asked before a job is taken.

Kept in memory, so that where nobody is limited a submission asks nobody; written with the
event that tells of it. Another server's changes are seen by the round of `enforce`.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from clusterra.control.cost.price import priced
from clusterra.control.cost.queued import Queued
from clusterra.control.cost.quota_standing import Standings, running
from clusterra.control.people.directory import TRIES
from clusterra.control.people.doing import Doer, told
from clusterra.control.site import Site
from clusterra.core.change import Change, Record
from clusterra.core.cost.admission import HINT, Objection, QuotaExceeded, objections, uncounted
from clusterra.core.cost.estimate.priced import Priced
from clusterra.core.cost.going import to_go
from clusterra.core.cost.quota import QUOTAS, WORKSPACE, Mode, Quotas, subject_of
from clusterra.core.cost.quota_edit import (
    EVERYBODY,
    QuotaEdit,
    differences,
    edited,
    like_everybody,
    raised,
)
from clusterra.core.cost.quota_standing import Standing, follows
from clusterra.core.errors import Conflict
from clusterra.core.events.catalogue import admin as facts
from clusterra.core.events.fact import Fact
from clusterra.core.jobs.request import JobRequest
from clusterra.core.people.person import ledger_of
from clusterra.ports import Clock, Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What a job would do to the quotas that count for it."""

    standings: Sequence[Standing]
    """Without the job: the person's, and the workspace's."""

    objections: Sequence[Objection]
    """The strictest first."""

    uncounted: str = ""
    """Why it does not count, where it does not."""

    @property
    def warnings(self) -> tuple[str, ...]:
        said = [each.sentence for each in self.objections]
        return (*said, self.uncounted) if self.uncounted else tuple(said)


@dataclass(slots=True, kw_only=True)
class QuotaBook:
    store: Store
    clock: Clock
    sites: Callable[[], Iterable[Site]]
    person_of: Callable[[str], str] = str
    """Who is behind a Linux user."""

    changed: Callable[[], None] = lambda: None
    """Have what follows from the quotas done now."""

    _known: dict[str, Record[Quotas]] = field(default_factory=dict)
    _turns: defaultdict[str, asyncio.Lock] = field(
        default_factory=lambda: defaultdict(asyncio.Lock)
    )
    """From looking at what somebody has spent to taking their job: of two jobs that are submitted
    at once, the second is told of the first."""

    _queued: Queued = field(init=False)
    _standings: Standings = field(init=False)

    def __post_init__(self) -> None:
        self._standings = Standings(store=self.store)
        self._queued = Queued(store=self.store, clock=self.clock)

    def sites_of(self, workspace: str) -> Sequence[Site]:
        return [site for site in self.sites() if site.workspace == workspace]

    async def of(self, workspace: str) -> Quotas:
        return (self._known.get(workspace) or await self._read(workspace)).value

    async def reread(self, workspace: str) -> Quotas:
        """Return them as the store has them: another server may have changed them."""
        return (await self._read(workspace)).value

    async def standing(self, workspace: str, whose: str) -> Standing:
        """Return how a person stands, or for `WORKSPACE` all together."""
        quotas, sites = await self.of(workspace), self.sites_of(workspace)
        return await self._standings.of(sites, quotas, whose, now=self.clock.now())

    async def standings(self, workspace: str, people: Iterable[str] = ()) -> Mapping[str, Standing]:
        """Return how the workspace stands, and everybody who spends, has a quota, or is named."""
        quotas, sites = await self.of(workspace), self.sites_of(workspace)
        named = {*people, *quotas.people}
        return await self._standings.of_all(sites, quotas, now=self.clock.now(), people=named)

    async def follows(self, workspace: str, whose: str) -> Sequence[str]:
        """Say what the quotas as they are now do to those who are over them."""
        quotas, sites = await self.of(workspace), self.sites_of(workspace)
        standings = await self.standings(workspace)
        going = Counter(each.standing.whose for each in to_go(running(sites), standings.values()))
        concerned = [
            each
            for each in standings
            if each == whose
            or (whose == EVERYBODY and each != WORKSPACE and each not in quotas.people)
        ]
        said = [follows(standings[each], going[each]) for each in concerned]
        return [each for each in said if each]

    # --- before a job is taken

    async def admit(
        self, site: Site, request: JobRequest, user: str, run_id: str
    ) -> tuple[str, ...]:
        """Raise QuotaExceeded if a job may not be submitted; return what to say if it may."""
        quotas, person = await self.of(site.workspace), self.person_of(user)
        counts = [each for each in (person, WORKSPACE) if _speaks(quotas, each)]
        if not counts:
            return ()
        async with self._turns[site.workspace]:
            cost = await priced(site, request, store=self.store)
            effect = await self._effect(site, cost, quotas, counts, brief=True)
            if effect.objections and effect.objections[0].blocks:
                raise QuotaExceeded(effect.objections[0].sentence, hint=HINT)
            self._queued.take(site.workspace, person, run_id, cost)
        # A job whose price is not known is let in, also where others would be kept out: a price
        # list with a gap would otherwise stop everybody who needs that machine.
        return effect.warnings

    def let_go(self, run_id: str) -> None:
        """Take note that Slurm did not take a job that was admitted."""
        self._queued.let_go(run_id)

    async def effect(self, site: Site, cost: Priced, *, user: str) -> Effect:
        """Say what a job that costs this would do to the quotas that count for it."""
        quotas = await self.of(site.workspace)
        return await self._effect(site, cost, quotas, (self.person_of(user), WORKSPACE))

    async def _effect(
        self,
        site: Site,
        cost: Priced,
        quotas: Quotas,
        whose: Iterable[str],
        *,
        brief: bool = False,
    ) -> Effect:
        sites, now = self.sites_of(site.workspace), self.clock.now()
        standings = [
            await self._queued.counted(
                site.workspace,
                await self._standings.of(sites, quotas, each, now=now, brief=brief),
                sites,
                self.person_of,
            )
            for each in whose
        ]
        return Effect(
            standings=standings,
            objections=objections(standings, cost),
            uncounted=uncounted(standings, cost),
        )

    # --- what admins do

    async def set(
        self, workspace: str, whose: str, edit: QuotaEdit, *, by: Doer, why: str = ""
    ) -> tuple[str, ...]:
        """Change somebody's quota and return what is different; `EVERYBODY` is whose none is."""
        return await self._change(
            workspace, whose, lambda quotas: edited(quotas, whose, edit), by=by, why=why
        )

    async def take_away(self, workspace: str, person: str, *, by: Doer) -> tuple[str, ...]:
        """Let everybody's quota count for somebody again."""
        return await self._change(
            workspace, person, lambda quotas: like_everybody(quotas, person), by=by
        )

    async def allow_more(
        self, workspace: str, whose: str, *, micros: int, until: datetime, why: str, by: Doer
    ) -> None:
        """Raise the limit of somebody's month until a moment; 0 ends that."""
        now = self.clock.now()

        def more(quotas: Quotas) -> tuple[Quotas, Fact]:
            after = raised(quotas, whose, micros=micros, until=until, by=by.name, at=now, why=why)
            return after, facts.AdminQuotaRaised(
                id=whose or workspace,
                workspace=workspace,
                email=whose,
                why=why,
                micros=micros,
                until=until if micros else None,
            )

        await self._write(workspace, whose, more, by)

    async def _change(
        self,
        workspace: str,
        whose: str,
        change: Callable[[Quotas], Quotas],
        *,
        by: Doer,
        why: str = "",
    ) -> tuple[str, ...]:
        changed: tuple[str, ...] = ()

        def differently(quotas: Quotas) -> tuple[Quotas, Fact]:
            nonlocal changed
            after = change(quotas)
            changed = differences(quotas, after, whose)
            return after, facts.AdminQuotaChanged(
                id=whose or workspace,
                workspace=workspace,
                email=whose,
                changed=changed,
                why=why,
            )

        await self._write(workspace, whose, differently, by)
        return changed

    async def _write(
        self,
        workspace: str,
        whose: str,
        change: Callable[[Quotas], tuple[Quotas, Fact]],
        by: Doer,
    ) -> None:
        """Change quotas and tell of it; begin again if somebody else was quicker."""
        for again in reversed(range(TRIES)):
            record = await self._read(workspace)
            after, fact = change(record.value)
            if after == record.value:
                return
            put = replace(record, value=after)
            about = "workspace" if whose == EVERYBODY else subject_of(whose)
            draft = told(fact, actor=by.actor, subject=about, at=self.clock.now())
            try:
                both = Change(puts=[put], events=[draft])
                await self.store.commit(ledger_of(workspace), both)
            except Conflict:
                if not again:
                    raise
                continue
            self._known[workspace] = replace(put, version=put.version + 1)
            self.changed()
            return

    async def _read(self, workspace: str) -> Record[Quotas]:
        record = await self.store.get(QUOTAS, workspace, default=Quotas())
        known = self._known.get(workspace)
        if known is None or record.version >= known.version:
            # Else it was changed here while this was on its way.
            self._known[workspace] = record
        return self._known[workspace]


def _speaks(quotas: Quotas, whose: str) -> bool:
    """Say whether somebody's quota may have anything to say about a job."""
    quota = quotas.of(whose)
    return not quota.is_none and quota.mode is not Mode.OBSERVE
