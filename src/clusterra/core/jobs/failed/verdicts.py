"""Ends of jobs for which Slurm itself says why."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from clusterra.core.jobs.again import AS_IS, Adjustment, adjustment_for
from clusterra.core.jobs.failed.cause import Cause
from clusterra.core.jobs.failed.evidence import Evidence, Verdict
from clusterra.core.jobs.failed.last_words import killed_in
from clusterra.core.jobs.job import Job, JobState
from clusterra.core.jobs.pending.words import memory, minutes
from clusterra.core.words import listed, span

SEEN_IN_TIME = 0.5
"""Of what it asked for: with less, it grew too fast for Slurm, which looks every few seconds."""


def after(job: Job) -> str:
    """Return ` after 2m 04s`; nothing if it never ran."""
    if job.started_at is None or job.ended_at is None:
        return ""
    return f" after {span(job.ended_at - job.started_at)}"


def out_of_memory(evidence: Evidence, used: int | None, *, sure: bool = True) -> Verdict:
    job, fix = evidence.job, _more_than(used, evidence.job)
    asked, more = "", ""
    if job.memory_mib:
        asked = f"; it asked for {memory(job.memory_mib)}"
        more = f", such as {memory(round(job.memory_mib * fix.memory_factor))}"
    if job.memory_mib and used is not None and used >= job.memory_mib * SEEN_IN_TIME:
        asked = f": it asked for {memory(job.memory_mib)} and reached {memory(used)}"
    elif job.memory_mib and sure:
        asked = f": it asked for {memory(job.memory_mib)} and needed more"
    killed = killed_in(evidence.lines) if evidence.quotes else ""
    what = f" `{killed}` was killed." if killed else ""
    return Verdict(
        cause=Cause.OUT_OF_MEMORY,
        says=f"Ran out of memory{after(job)}{asked}.{what}",
        advice=f"Submit it again with more memory{more}.",
        sure=sure,
        fix=fix,
    )


def _more_than(used: int | None, job: Job) -> Adjustment:
    """Return half as much again: of what it asked for, or of what it had where that was more.

    Where Slurm looks every few seconds, a job is well past its limit before it is ended.
    """
    usual = adjustment_for(JobState.OUT_OF_MEMORY) or AS_IS
    if used is None or used <= job.memory_mib or not job.memory_mib:
        return usual
    return replace(usual, memory_factor=usual.memory_factor * used / job.memory_mib)


def timeout(evidence: Evidence) -> Verdict:
    limit = evidence.job.time_limit_minutes
    fix = adjustment_for(JobState.TIMEOUT) or AS_IS
    more = f", such as {minutes(round(limit * fix.time_factor))}" if limit else ""
    of = f" of {minutes(limit)}" if limit else ""
    return Verdict(
        cause=Cause.TIMEOUT,
        says=f"Reached its time limit{of} and was ended.",
        advice=f"Submit it again with more time{more}, or have it continue from where it was.",
        fix=fix,
    )


def _deadline(evidence: Evidence) -> Verdict:
    return Verdict(
        cause=Cause.DEADLINE,
        says=f"It could not be done by its deadline and was ended{after(evidence.job)}.",
        advice="Submit it again without that deadline, or with a later one.",
        fix=adjustment_for(JobState.DEADLINE),
    )


_AGAIN = "It was not its doing: submit it again as it is."


def node_failed(evidence: Evidence) -> Verdict:
    if evidence.taken_back:
        names = listed(evidence.taken_back, most=3)
        return Verdict(
            cause=Cause.SPOT_INTERRUPTED,
            says=f"The cloud took back {names}{after(evidence.job)}, while it ran there.",
            advice=f"{_AGAIN} With --requeue it would have been queued again by itself.",
            fix=AS_IS,
        )
    down = [each for each in evidence.node_events if each.type == "node.down"]
    where = listed((each.node for each in down), most=3) or evidence.job.nodes or "its node"
    why = next((f": {each.reason.rstrip('.')}" for each in down if each.reason), "")
    return Verdict(
        cause=Cause.NODE_FAILED,
        says=f"It was lost with {where}{after(evidence.job)}{why}.",
        advice=_AGAIN,
        fix=AS_IS,
    )


def preempted(evidence: Evidence) -> Verdict:
    return Verdict(
        cause=Cause.PREEMPTED,
        says=f"It made room for a more important job{after(evidence.job)}.",
        advice=_AGAIN,
        fix=AS_IS,
    )


def launch_failed(evidence: Evidence) -> Verdict:
    where = f" on {evidence.job.nodes}" if evidence.job.nodes else ""
    return Verdict(
        cause=Cause.LAUNCH_FAILED,
        says=f"It could not be started{where}: the node was not ready for it.",
        advice=_AGAIN,
        fix=AS_IS,
    )


def _lost(_: Evidence) -> Verdict:
    return Verdict(
        cause=Cause.LOST,
        says="Slurm knows it neither as live nor as ended, so how it ended is not known.",
        advice="Look at its output; submit it again if it is not complete.",
        fix=AS_IS,
    )


BY_STATE: Mapping[JobState, Callable[[Evidence], Verdict]] = {
    JobState.TIMEOUT: timeout,
    JobState.DEADLINE: _deadline,
    JobState.NODE_FAIL: node_failed,
    JobState.PREEMPTED: preempted,
    JobState.BOOT_FAIL: launch_failed,
    JobState.LOST: _lost,
}


def cancelled(evidence: Evidence) -> Verdict:
    job = evidence.job
    when = after(job) or " before it started"
    kind, _, who = evidence.cancelled_by.partition(":")
    why = f": {evidence.cancelled_why.rstrip('.')}" if evidence.cancelled_why else ""
    if evidence.cancelled_by == "system:quota":
        return Verdict(
            cause=Cause.QUOTA,
            says=f"It was cancelled{when} by a quota{why}.",
            advice="Have an admin raise the quota, or wait for the next period.",
        )
    if "DependencyNeverSatisfied" in job.reason:
        return Verdict(
            cause=Cause.DEPENDENCY,
            says="It never started: the job it depends on did not end as it needs.",
            advice="Mend that job first, then submit this one with the new job's id.",
        )
    by = f" by {who}" if kind == "user" and who else ""
    return Verdict(cause=Cause.CANCELLED, says=f"It was cancelled{by}{when}{why}.")
