"""Guess when a job will start, put the guess on record, and see how earlier ones did.

A guess is settled when somebody next asks: nothing has to run for it. One record per cluster
holds the last few hundred, so it never grows.
"""

from datetime import datetime

from clusterra.control.site import Site
from clusterra.core.change import Change, Record
from clusterra.core.errors import Conflict
from clusterra.core.jobs.forecast import (
    FORECASTS,
    Ahead,
    Estimate,
    Forecasts,
    Past,
    estimate,
    predicted,
    settled,
)
from clusterra.core.jobs.job import Job
from clusterra.core.jobs.query import STATE_WORDS, Op, Query, Sort, Term
from clusterra.ports import Store

HISTORY = 200
"""Jobs that ended last, from which it is guessed."""

_ENDED = Term(field="state", op=Op.IS, values=STATE_WORDS["ended"])


async def foreseen(
    site: Site,
    job: Job,
    ahead: Ahead,
    starts: tuple[float, ...],
    *,
    store: Store,
    now: datetime,
) -> Estimate:
    cluster = site.cluster.id
    record = await store.get(FORECASTS, cluster, Forecasts())
    known = await store.jobs_by_id(cluster, record.value.open_ids)
    forecasts = settled(record.value, known)
    past = await _past(site, job, starts, store)
    guess = estimate(ahead, past, now=now, calibration=forecasts.calibration)
    await _keep(cluster, record, predicted(forecasts, job, guess, now), store)
    return guess


async def guessed(
    site: Site,
    job: Job,
    ahead: Ahead,
    starts: tuple[float, ...],
    *,
    store: Store,
    now: datetime,
) -> Estimate:
    """Guess without a record: about a job that may never be submitted."""
    record = await store.get(FORECASTS, site.cluster.id, Forecasts())
    past = await _past(site, job, starts, store)
    return estimate(ahead, past, now=now, calibration=record.value.calibration)


async def _keep(
    cluster: str, record: Record[Forecasts], forecasts: Forecasts, store: Store
) -> None:
    if forecasts == record.value:
        return
    put = Record(kind=FORECASTS, id=cluster, value=forecasts, version=record.version)
    try:
        await store.commit(cluster, Change(puts=[put]))
    except Conflict:
        return  # somebody else asked in the same moment; theirs is on record, and is enough


async def _past(site: Site, job: Job, starts: tuple[float, ...], store: Store) -> Past:
    query = Query(terms=(_ENDED,), sort=Sort.ENDED, limit=HISTORY)
    ran = [
        each
        for each in (await store.jobs(site.cluster.id, query)).jobs
        if each.started_at is not None and each.ended_at is not None and each.nodes
    ]
    return Past(
        shares=tuple(
            (each.ended_at - each.started_at).total_seconds() / (each.time_limit_minutes * 60)
            for each in ran
            if each.started_at and each.ended_at and each.time_limit_minutes
        ),
        starts=starts,
        waits=tuple(
            max((each.started_at - (each.eligible_at or each.submitted_at)).total_seconds(), 0.0)
            for each in ran
            if each.started_at and each.partition == job.partition
        ),
    )
