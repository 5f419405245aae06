"""Read from accounting the jobs that ended while nobody was looking.

Once for the past before a cluster was first seen, day by day, newest first; and
after every time in which we could not look. It runs beside the observer and
never touches a job that is still alive: those are the observer's.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from clusterra.control.observe import batches
from clusterra.control.observed import OBSERVED, Observed
from clusterra.control.site import Site
from clusterra.core.change import Change
from clusterra.core.jobs.job import Job, continues
from clusterra.core.seen import Seen
from clusterra.ports import Clock, Store

DAY = timedelta(days=1)
MARGIN = timedelta(minutes=10)
"""Read again before a gap: accounting may have been behind when we stopped looking."""


async def read_past(site: Site, *, days: int, store: Store, clock: Clock) -> None:
    """Close the holes between what was observed and now, then note how far we have looked."""
    seen_at, since, info = site.sky.seen_at, site.sky.since, site.sky.info
    if seen_at is None or since is None:
        return
    if not isinstance(info, Seen) or not info.value.accounting:
        return
    record = await store.get(OBSERVED, site.cluster.id, default=Observed())
    observed = record.value
    for start, end in _holes(observed, since, clock.now() - timedelta(days=days)):
        if not site.budget.take(clock.now()):
            return  # the rest in a later round
        async for batch in batches(site.slurm.history(start, end)):
            ended = [job for job in batch if job.state.ended]
            known = await store.jobs_by_id(site.cluster.id, {job.id for job in ended})
            await site.recorder.record([job for job in ended if not _lives(job, known)])
        reached = min(start, observed.since or start)
        observed = replace(observed, since=reached, until=observed.until or end)
        record = replace(record, value=observed)
        await store.commit(site.cluster.id, Change(puts=[record]))
        record = replace(record, version=record.version + 1)
    await store.commit(
        site.cluster.id, Change(puts=[replace(record, value=replace(observed, until=seen_at))])
    )


def _lives(ended: Job, known: Mapping[int, Job]) -> bool:
    """Say whether a job whose end accounting shows is one that the observer is following.

    A period ends somewhere: of a job that was queued again and ended after it, accounting
    shows the run before, and Slurm 24.11 does not say that it was queued again.
    """
    job = known.get(ended.id)
    if job is None or job.state.ended:
        return False
    return job.born_at == ended.born_at or continues(job, ended) is not None


def _holes(
    observed: Observed, looking_since: datetime, oldest: datetime
) -> Iterator[tuple[datetime, datetime]]:
    """Yield the periods to read: the gap since we last looked, then the past, newest first."""
    if observed.until is not None and observed.until < looking_since:
        yield observed.until - MARGIN, looking_since
    until = observed.since or looking_since
    while until > oldest:
        since = max(until - DAY, oldest)
        yield since, until
        until = since
