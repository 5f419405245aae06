"""Runs of jobs, from the rows that accounting has of them.

It has a row for each run, and where a run got or lost nodes one for each time between: those
are put together here, to what slurmctld says of such a job. A row after the first pretends that
the job was submitted when it got its present nodes.

Of a run that ended because its job was queued again, accounting says REQUEUED if somebody wanted
that, and NODE_FAIL or the like if Slurm did. What tells them from the end of the job is that
there is a row of a later run.
"""

from collections.abc import Iterable
from dataclasses import replace

from clusterra.adapters.slurmrest.accounting import PastJob, past_job
from clusterra.adapters.slurmrest.decode import moment, read_list, whole
from clusterra.adapters.slurmrest.stream import Piece
from clusterra.core.jobs.job import Job, JobState


class Runs:
    """Makes runs of rows, in the order in which accounting lists them."""

    def __init__(self) -> None:
        self._before: dict[int, Job] = {}
        """The part of a run that ended when it was resized, by the id of its job."""

    def read(self, data: Piece) -> list[Job]:
        found = map(self.take, read_list(data, PastJob))
        return [run for run in found if run is not None]

    def take(self, row: PastJob) -> Job | None:
        """Return the run that a row is the last of, if it is."""
        run = past_job(row)
        before = self._before.pop(run.id, None) if self._before else None
        if before and (before.ended_at, before.restarts) == (run.submitted_at, run.restarts):
            run = replace(
                run,
                born_at=before.born_at,
                submitted_at=before.submitted_at,
                started_at=before.started_at,
                resized_at=run.started_at,
                suspended_seconds=before.suspended_seconds + run.suspended_seconds,
            )
        if run.state is JobState.PENDING and "RESIZING" in run.flags:
            self._before[run.id] = replace(run, ended_at=moment(row.time.end))
            return None
        return run


def superseded(job: Job) -> bool:
    """Say whether this is an earlier run of a job that was queued again."""
    return job.state is JobState.PENDING and "REQUEUED" in job.flags


def earlier_runs(rows: Iterable[PastJob]) -> list[Job]:
    """Return the runs before the present one of a job, the first one first.

    Slurm starts its ids over some day: where the restart count does not go on, the rows before
    are those of another job.
    """
    runs, found = Runs(), list[Job]()
    for row in sorted(rows, key=_age):
        run = runs.take(row)
        if run is None:
            continue
        if found and not (found[-1].restarts < run.restarts and found[-1].user == run.user):
            found.clear()
        found.append(replace(run, ended_at=moment(row.time.end)))
    if found and not superseded(found[-1]):
        found.pop()
    return [_over(run) for run in found if run.started_at and run.ended_at]


def _over(run: Job) -> Job:
    """Return a run as one after which its job waited."""
    words = run.flags if run.state is JobState.PENDING else (run.state.value, *run.flags)
    return replace(
        run,
        state=JobState.PENDING,
        flags=tuple(dict.fromkeys((*words, "REQUEUED"))),
        exit_code=None,
        signal=None,
    )


def _age(row: PastJob) -> tuple[int, int, int]:
    return whole(row.time.submission) or 0, row.restart_cnt, whole(row.time.start) or 0
