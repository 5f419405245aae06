"""Jobs of a period by what they cost in it, the most expensive first."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeAlias

from clusterra.control.cost.usage import running
from clusterra.control.site import Site
from clusterra.core.cost.books import PaidRun, Payer, RunQuery
from clusterra.core.cost.charges import between
from clusterra.core.cost.open import Open
from clusterra.core.cost.periods import Period
from clusterra.ports import Store

MORE = 100
"""How many runs more than asked for are looked at: a job may have several, and one that was
dear as a whole need not have been in the period."""

Named: TypeAlias = tuple[str, int, datetime]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpent:
    """A job, and what it cost in a period."""

    cluster: str
    job_id: int
    label: str
    name: str
    payer: Payer
    booked: int = 0
    pending: int = 0
    """Of the run that goes on."""

    usd_per_hour: int | None = None
    """What it costs now; None if it does not run, or if that is not known."""

    running: bool = False
    why_unknown: str = ""

    @property
    def micros(self) -> int:
        return self.booked + self.pending


async def dearest(
    sites: Sequence[Site], period: Period, *, person: str | None, limit: int, store: Store
) -> Sequence[JobSpent]:
    query = RunQuery(
        clusters=tuple(site.cluster.id for site in sites),
        since=period.since,
        until=period.until,
        person=person,
        limit=2 * limit + MORE,
    )
    return _ranked(await store.paid_runs(query), sites, period, person)[:limit]


async def unpriced(
    sites: Sequence[Site], period: Period, *, person: str | None, limit: int, store: Store
) -> Sequence[JobSpent]:
    """Return jobs of which it is not known what they cost, with the reason."""
    query = RunQuery(
        clusters=tuple(site.cluster.id for site in sites),
        since=period.since,
        until=period.until,
        person=person,
        unknown=True,
        limit=limit,
    )
    jobs = _ranked(await store.paid_runs(query), sites, period, person)
    return [each for each in jobs if each.why_unknown][:limit]


def still_running(
    sites: Iterable[Site], period: Period, *, person: str | None
) -> Sequence[JobSpent]:
    """Return what goes on of what ran in a period, with what that run has come to in it."""
    return _ranked((), sites, period, person)


def _ranked(
    runs: Iterable[PaidRun], sites: Iterable[Site], period: Period, person: str | None
) -> Sequence[JobSpent]:
    found: dict[Named, JobSpent] = {}
    for run in runs:
        key = run.cluster, run.run.job_id, run.run.born_at
        found[key] = _with_run(found.get(key), run, period)
    for site in sites:
        for each in running(site, period.since, period.until, person):
            key = site.cluster.id, each.job.id, each.job.born_at
            found[key] = _with_open(found.get(key), site, each, period)
    return sorted(found.values(), key=lambda job: (-job.micros, -job.job_id, job.cluster))


def _with_run(known: JobSpent | None, paid: PaidRun, period: Period) -> JobSpent:
    job = known or JobSpent(
        cluster=paid.cluster,
        job_id=paid.run.job_id,
        label=paid.run.label,
        name=paid.run.name,
        payer=paid.payer,
    )
    return replace(
        job,
        booked=job.booked + _in(paid, period),
        why_unknown=job.why_unknown or paid.why_unknown,
    )


def _in(paid: PaidRun, period: Period) -> int:
    if paid.why_unknown:
        return 0
    if period.since <= paid.since and paid.until <= period.until:
        return paid.micros  # one that was billed in parts was rounded with each
    return between(paid.charges, period.since, period.until)


def _with_open(known: JobSpent | None, site: Site, open: Open, period: Period) -> JobSpent:
    job = known or JobSpent(
        cluster=site.cluster.id,
        job_id=open.job.id,
        label=open.job.label,
        name=open.job.name,
        payer=open.payer,
    )
    why = open.bill.why_unknown
    return replace(
        job,
        pending=0 if why else between(open.bill.charges, period.since, period.until),
        usd_per_hour=open.usd_per_hour,
        running=True,
        why_unknown=job.why_unknown or why,
    )
