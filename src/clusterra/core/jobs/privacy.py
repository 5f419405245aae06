"""What somebody sees of a job that is not theirs, where a workspace keeps people's jobs apart."""

from dataclasses import replace

from clusterra.core.access import Caller, OthersJobs, sees_whole
from clusterra.core.jobs.job import Job
from clusterra.core.jobs.query import Op, Query, Sort, Term

_KEPT = frozenset({"name", "run", "text"})
"""Fields of a query that ask for what is kept from others."""


def shown_to(caller: Caller, job: Job) -> Job:
    """Return the job as the caller may see it: all of it, or only that it is there."""
    if sees_whole(caller, job.user):
        return job
    return replace(
        job,
        name="",
        features="",
        dependency="",
        work_dir="",
        stdout="",
        stderr="",
        comment="",
        run_id="",
    )


def as_seen_by(caller: Caller, query: Query) -> Query:
    """Return the query for what the caller may find.

    Who asks for a name and is told which jobs have it, has been told their names: a
    question about what is kept from them is put to their own jobs only.
    """
    if caller.admin or caller.others_jobs is OthersJobs.DETAILS:
        return query
    asks_more = query.sort is Sort.NAME or any(term.field in _KEPT for term in query.terms)
    if caller.others_jobs is OthersJobs.QUEUE and not asks_more:
        return query
    mine = Term(field="user", op=Op.IS, values=(caller.user.lower(),))
    return replace(query, terms=(*query.terms, mine))
