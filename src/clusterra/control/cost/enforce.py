"""Do what follows from quotas, again and again: tell, give notice, end jobs.

One round looks at everything anew and decides from that; what was told and what was announced
is in the store. So it does not matter which of several servers makes the round, nor how
often, nor that one dies between a notice and what it announced.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal

import structlog

from clusterra.control.change_job import cancel_job
from clusterra.control.cost.alerts import Alerts
from clusterra.control.cost.quota_standing import running
from clusterra.control.cost.quotas import QuotaBook
from clusterra.control.site import Site
from clusterra.core.access import Caller, Role
from clusterra.core.change import Change, Record
from clusterra.core.cost.going import (
    NOTICES,
    Going,
    Notice,
    Noticed,
    Notices,
    noticed,
    to_go,
)
from clusterra.core.cost.quota import Mode, subject_of
from clusterra.core.cost.quota_standing import HIGH_PERCENT, Standing, percent
from clusterra.core.errors import ClusterraError, Conflict, NotFound
from clusterra.core.events.catalogue.costs import JobCostOverQuota
from clusterra.core.events.catalogue.people import UserQuotaExceeded, UserQuotaHigh
from clusterra.core.events.derive import about, correlation
from clusterra.core.events.event import Draft
from clusterra.core.ids import uuid8
from clusterra.core.money import MICROS
from clusterra.core.people.person import ledger_of
from clusterra.ports import Clock, Store

log = structlog.get_logger()

QUOTA = Caller(user="", role=Role.ADMIN, part="quota")
"""In whose name jobs are ended."""

SEEN_WITHIN = timedelta(seconds=60)
"""How long all clusters of a workspace are waited for after a start. One that cannot be seen for
longer must not keep the quotas of the others from holding."""

MOST_REMEMBERED = 10_000
"""Of what was told. Beyond it is forgotten, and told again to the ledger, which takes it once."""


@dataclass(slots=True, kw_only=True)
class Enforcer:
    book: QuotaBook
    workspaces: Callable[[], Iterable[str]]
    store: Store
    clock: Clock
    _alerts: Alerts = field(init=False)
    _begun_at: datetime = field(init=False)
    _told: set[str] = field(default_factory=set)
    _notices: dict[str, Record[Notices]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._begun_at = self.clock.now()
        self._alerts = Alerts(store=self.store, clock=self.clock)

    async def enforce(self) -> bool:
        """Make a round; say whether jobs run, so that it is worth another soon."""
        busy = False
        for workspace in self.workspaces():
            try:
                busy |= await self._look_at(workspace)
            except ClusterraError as error:
                # One workspace that cannot be seen to keeps nobody from the others.
                log.warning("quota.round_failed", workspace=workspace, why=error.detail)
                busy = True
        return busy

    async def _look_at(self, workspace: str) -> bool:
        quotas = await self.book.reread(workspace)
        sites = self.book.sites_of(workspace)
        standings: Mapping[str, Standing] = {}
        due = self._alerts.are_due(workspace)
        if due or not quotas.are_none:
            standings = await self.book.standings(workspace)
            drafts = [draft for each in standings.values() for draft in _reached(workspace, each)]
            if due:
                drafts += await self._alerts.of_workspace(workspace, quotas, sites, standings)
            await self._tell(ledger_of(workspace), drafts)
        for site in sites:
            await self._tell(site.cluster.id, self._alerts.of_cluster(site, self._told))
        await self._end(sites, standings)
        return any(site.recorder.running for site in sites)

    async def _tell(self, ledger: str, drafts: Iterable[Draft]) -> None:
        new = [each for each in drafts if each.id not in self._told]
        if not new:
            return
        await self.store.commit(ledger, Change(events=new))
        if len(self._told) > MOST_REMEMBERED:
            self._told.clear()
        self._told.update(each.id for each in new)

    async def _end(self, sites: Sequence[Site], standings: Mapping[str, Standing]) -> None:
        # Of a cluster that has not been seen since the start it is not known what runs: who has
        # been given notice there would seem to be within their limit again.
        seen = [site for site in sites if site.sky.seen_at is not None]
        if len(seen) < len(sites) and abs(self.clock.now() - self._begun_at) < SEEN_WITHIN:
            return
        sites = seen
        known = {site.cluster.id: await self._known(site.cluster.id) for site in sites}
        told = {each.key for record in known.values() for each in record.value}
        over = [each for each in standings.values() if each.over_by]
        going = to_go(running(sites), over, told) if over else ()
        for site in sites:
            record = known[site.cluster.id]
            here = [each for each in going if each.running.cluster == site.cluster.id]
            found = noticed(record.value, here, self.clock.now())
            if found.notices == record.value or await self._announce(record, found):
                for each, notice in found.due:
                    await self._cancel(site, each, notice)

    async def _announce(self, record: Record[Notices], found: Noticed) -> bool:
        """Keep and tell the notices, in one; say whether we, and no other server, have done so."""
        put = replace(record, value=found.notices)
        drafts = [_notice_draft(each, notice) for each, notice in found.new]
        try:
            await self.store.commit(record.id, Change(puts=[put], events=drafts))
        except Conflict:
            self._notices.pop(record.id, None)
            return False
        self._notices[record.id] = replace(put, version=put.version + 1)
        return True

    async def _cancel(self, site: Site, each: Going, notice: Notice) -> None:
        job = each.running.open.job
        try:
            caller = replace(QUOTA, why=notice.why)
            await cancel_job(site, str(job.id), caller, store=self.store)
        except (Conflict, NotFound):
            return  # it ended by itself meanwhile, which is what was wanted
        except ClusterraError as error:
            log.warning(
                "quota.cancel_failed", cluster=site.cluster.id, job=job.id, why=error.detail
            )
            return
        log.info("quota.cancelled", cluster=site.cluster.id, job=job.id, person=each.standing.whose)

    async def _known(self, cluster: str) -> Record[Notices]:
        if cluster not in self._notices:
            self._notices[cluster] = await self.store.get(NOTICES, cluster, default=())
        return self._notices[cluster]


def _reached(workspace: str, standing: Standing) -> Iterable[Draft]:
    """Return what has been reached of the limits of a month and a day: told once for each."""
    quota = standing.quota
    if quota.mode is Mode.OBSERVE:
        return
    kinds = ((HIGH_PERCENT, UserQuotaHigh), (100, UserQuotaExceeded))
    for figures, limit in ((standing.month, standing.limit), (standing.day, quota.day)):
        share = percent(figures.spent, limit)
        for from_percent, kind in kinds:
            if limit is not None and share is not None and share >= from_percent:
                name = figures.period.name
                yield Draft(
                    id=uuid8(workspace, kind.type, standing.whose, name, limit),
                    fact=kind(
                        user=standing.whose,
                        used=_plain(figures.spent),
                        limit=_plain(limit),
                        currency="USD",
                        period=name,
                        workspace=workspace,
                        mode=quota.mode,
                    ),
                    at=standing.now,
                    actor=QUOTA.actor,
                    subject=subject_of(standing.whose),
                )


def _notice_draft(each: Going, notice: Notice) -> Draft:
    this = each.running
    job = this.open.job
    id, born = job.key
    return Draft(
        # With its moment: a notice that was withdrawn may have to be given again. That two
        # servers do not give the same one is seen to by the record it is committed with.
        id=uuid8(this.cluster, "job", id, born, job.restarts, "over_quota", notice.at),
        fact=JobCostOverQuota(
            **about(job, JobCostOverQuota),
            restarts=job.restarts,
            person=this.open.payer.person,
            usd_per_hour_micros=this.open.usd_per_hour,
            estimate=this.open.bill.estimate,
            cancels_at=notice.cancels_at,
            why=notice.why,
        ),
        at=notice.at,
        actor=QUOTA.actor,
        subject=f"job/{id}",
        correlation=correlation(job),
    )


def _plain(micros: int) -> str:
    """Return `41.20`; what is no whole cent, to the millionth."""
    return f"{Decimal(micros) / MICROS:.{6 if micros % 10_000 else 2}f}"
