"""Find one job: in the store, else by asking Slurm for it once."""

import re

from clusterra.control.site import Site
from clusterra.core.access import Caller, sees
from clusterra.core.errors import Invalid, NotFound
from clusterra.core.jobs.job import Job, stands_for
from clusterra.core.jobs.query import Op, Query, Term
from clusterra.core.seen import Seen
from clusterra.ports import Store

_LABEL = re.compile(r"(\d+)(?:_(\d+))?")
_LARGEST_ID = 1 << 32


async def find_job(site: Site, label: str, caller: Caller, *, store: Store) -> Job:
    """Return the job called `41` or `43_5`; raise NotFound if neither we nor Slurm know it.

    One that the caller may not know of is not there either.

    A task that still waits has no job of its own: it is found as its array's entry.
    """
    id, task = _read(label)
    found = await known_job(site, label, store=store)
    if found is None or site.is_succeeded(found):
        found = await _ask_slurm(site, id, task)
    if found is None or not sees(caller, found.user):
        raise NotFound(
            f"There is no job {label} on {site.cluster.name}.",
            hint="`clusterra jobs list` shows the jobs there are.",
            code="job-not-found",
        )
    return found


async def known_job(site: Site, label: str, *, store: Store) -> Job | None:
    """Return the job of that name as it was last observed, whoever may see it."""
    id, task = _read(label)
    if task is None:
        return await store.job(site.cluster.id, id)
    return await _task(site, id, task, store)


def _read(label: str) -> tuple[int, int | None]:
    match = _LABEL.fullmatch(label)
    if match is None or int(match[1]) >= _LARGEST_ID:
        raise Invalid(
            f"{label!r} is not a job id.",
            hint="Job ids are numbers such as 41, or 43_5 for one task of an array.",
            at="job_id",
        )
    return int(match[1]), int(match[2]) if match[2] else None


async def _task(site: Site, array: int, task: int, store: Store) -> Job | None:
    terms = (
        Term(field="array", op=Op.IS, values=(array,)),
        Term(field="task", op=Op.IS, values=(task,)),
    )
    page = await store.jobs(site.cluster.id, Query(terms=terms, limit=1))
    if page.jobs:
        return page.jobs[0]
    waiting = await store.job(site.cluster.id, array)
    return waiting if waiting and stands_for(waiting, task) else None


async def _ask_slurm(site: Site, id: int, task: int | None) -> Job | None:
    """Look for a job that the observer has not met: brand new, or older than its history."""
    seen_at = site.recorder.clock.now()
    jobs = list(await site.slurm.job(id))
    info = site.sky.info
    if not jobs and (not isinstance(info, Seen) or info.value.accounting):
        jobs = list(await site.slurm.accounted([id]))
    await site.recorder.record(jobs, seen_at=seen_at)
    if task is not None:
        own = (job for job in jobs if job.array_task == task)
        return next(own, None) or next((job for job in jobs if stands_for(job, task)), None)
    return next((job for job in jobs if job.id == id), None)
