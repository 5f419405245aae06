"""Cancel, hold, release, requeue and edit jobs, singly or by query."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from clusterra.control.find import find_job
from clusterra.control.site import Site
from clusterra.core.access import Caller, check_may_change
from clusterra.core.errors import ClusterraError, Conflict, Unanswered
from clusterra.core.jobs.job import Job, JobState
from clusterra.core.jobs.query import STATE_WORDS, Op, Query, Term
from clusterra.core.jobs.request import JobEdit
from clusterra.ports import Store

Act = Callable[[Job, str | None], Awaitable[None]]


async def cancel_job(site: Site, label: str, caller: Caller, *, store: Store) -> Job:
    async def act(job: Job, user: str | None) -> None:
        _refuse_if_ended(job, "cancelled")
        await site.slurm.cancel(job.id, user=user)

    return await _on_job(site, label, caller, act, store, what="cancelled")


async def hold_job(site: Site, label: str, caller: Caller, *, store: Store) -> Job:
    async def act(job: Job, user: str | None) -> None:
        if job.state is not JobState.PENDING:
            raise Conflict(
                f"Job {job.label} is {job.state.lower()}; only a waiting job can be held.",
                hint=f"Stop it with `clusterra jobs cancel {job.label}`."
                if not job.state.ended
                else "Submit it again instead.",
                code="job-not-waiting",
            )
        await site.slurm.edit(job.id, JobEdit(hold=True), user=user)

    return await _on_job(site, label, caller, act, store, what="held")


async def release_job(site: Site, label: str, caller: Caller, *, store: Store) -> Job:
    async def act(job: Job, user: str | None) -> None:
        _refuse_if_ended(job, "released")
        await site.slurm.edit(job.id, JobEdit(hold=False), user=user)

    return await _on_job(site, label, caller, act, store, what="released")


async def requeue_job(site: Site, label: str, caller: Caller, *, store: Store) -> Job:
    async def act(job: Job, user: str | None) -> None:
        if job.state is JobState.PENDING:
            raise Conflict(
                f"Job {job.label} is waiting already.",
                hint="There is nothing to requeue.",
                code="job-waiting",
            )
        await site.slurm.requeue(job.id, user=user)

    return await _on_job(site, label, caller, act, store, what="requeued")


async def edit_job(site: Site, label: str, edit: JobEdit, caller: Caller, *, store: Store) -> Job:
    async def act(job: Job, user: str | None) -> None:
        _refuse_if_ended(job, "changed")
        await site.slurm.edit(job.id, edit, user=user)

    return await _on_job(site, label, caller, act, store)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled:
    jobs: Sequence[Job]
    failed: Sequence[tuple[Job, str]] = ()


async def cancel_jobs(
    site: Site, query: Query, caller: Caller, *, dry_run: bool, store: Store
) -> Cancelled:
    """Cancel the live jobs that a query finds and the caller may change; or only list them."""
    live = Term(field="state", op=Op.IS, values=STATE_WORDS["live"])
    mine = Term(field="user", op=Op.IS, values=(caller.user.lower(),))
    terms = (*query.terms, live) if caller.admin else (*query.terms, live, mine)
    query = replace(query, terms=terms, limit=1000)
    found: list[Job] = []
    while True:
        page = await store.jobs(site.cluster.id, query)
        found += page.jobs
        if page.next is None:
            break
        query = replace(query, after=page.next)
    if dry_run:
        return Cancelled(jobs=found)
    if found:
        await site.recorder.acts.note(found, "cancelled", caller)
    done, failed = [], []
    for job in found:
        try:
            await site.slurm.cancel(job.id, user=_in_whose_name(caller, job))
            done.append(job)
        except Conflict:
            done.append(job)  # it ended by itself meanwhile, which is what was wanted
        except ClusterraError as error:
            failed.append((job, error.detail))
    await site.recorder.acts.withdraw([job for job, _ in failed], "cancelled")
    site.wake()
    return Cancelled(jobs=done, failed=failed)


async def _on_job(
    site: Site, label: str, caller: Caller, act: Act, store: Store, *, what: str = ""
) -> Job:
    """Act on a job; `what` is what the ledger will say was done, and by whom."""
    job = await find_job(site, label, caller, store=store)
    check_may_change(caller, job)
    if what:
        await site.recorder.acts.note([job], what, caller)
    try:
        await act(job, _in_whose_name(caller, job))
    except Unanswered:
        raise  # it may have happened
    except ClusterraError:
        if what:
            await site.recorder.acts.withdraw([job], what)
        raise
    site.wake()
    return job


def _in_whose_name(caller: Caller, job: Job) -> str | None:
    """Act as the owner of one's own job; on another's, an admin acts as the service."""
    return caller.user if caller.user == job.user else None


def _refuse_if_ended(job: Job, done: str) -> None:
    if job.state.ended:
        raise Conflict(
            f"Job {job.label} has ended already ({job.state.lower()}); it cannot be {done}.",
            hint=f"See how it ended: clusterra jobs show {job.label}",
            code="job-ended",
        )
