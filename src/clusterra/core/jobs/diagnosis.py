"""Why a job failed, from all that is known of its end; what it cost; and what would mend it.

What is a guess is called one: its sentence begins with «Probably».

What the job wrote is private to its owner. It may decide what the cause is, and is repeated
only where `Evidence.quotes` allows that.
"""

from dataclasses import dataclass

from clusterra.core.jobs.again import Adjustment
from clusterra.core.jobs.failed.cause import Cause as Cause
from clusterra.core.jobs.failed.endings import ended_with
from clusterra.core.jobs.failed.evidence import Evidence as Evidence
from clusterra.core.jobs.failed.evidence import NodeEvent as NodeEvent
from clusterra.core.jobs.failed.evidence import Verdict
from clusterra.core.jobs.failed.guesses import failed
from clusterra.core.jobs.failed.last_words import clue_in, memory_used_in
from clusterra.core.jobs.failed.verdicts import BY_STATE, cancelled, out_of_memory
from clusterra.core.jobs.job import Job, JobState
from clusterra.core.jobs.pending.words import memory, minutes
from clusterra.core.jobs.request import JobRequest
from clusterra.core.money import dollars
from clusterra.core.words import count, span

SHOWN = 10
"""Lines of output that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    label: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    job: Job
    cause: Cause
    summary: str
    """One sentence or two, in the job's own numbers."""

    advice: str = ""
    sure: bool = True
    ended_with: str = ""
    details: tuple[Detail, ...] = ()
    memory_used_mib: int | None = None
    node_events: tuple[NodeEvent, ...] = ()
    taken_back: tuple[str, ...] = ()
    """Those of its nodes that the cloud took back."""

    last_lines: tuple[str, ...] = ()
    lost_micros: int | None = None
    """What it cost for nothing; None if that is not known, or it has not failed."""

    fix: Adjustment | None = None
    """What may let it succeed; None where it has to be mended by hand, or not at all."""

    resubmit: JobRequest | None = None
    """What to submit again, the fix applied."""

    changes: tuple[str, ...] = ()
    """How that differs from what was submitted."""

    why_not: str = ""
    """Why it cannot be submitted again from here."""

    @property
    def failed(self) -> bool:
        return self.cause is not Cause.NONE


def diagnosis_of(evidence: Evidence) -> Diagnosis:
    """Say why a job ended as it did."""
    job = evidence.job
    used = evidence.memory_used_mib or memory_used_in(evidence.lines)
    verdict = _verdict(evidence, used)
    failed = verdict.cause is not Cause.NONE
    guess = "" if verdict.sure else "Probably "
    says = verdict.says if verdict.sure else f"{verdict.says[:1].lower()}{verdict.says[1:]}"
    return Diagnosis(
        job=job,
        cause=verdict.cause,
        summary=f"{guess}{says}",
        advice=verdict.advice,
        sure=verdict.sure,
        ended_with=ended_with(job),
        details=_details(evidence, used),
        memory_used_mib=used,
        node_events=evidence.node_events,
        taken_back=evidence.taken_back,
        last_lines=evidence.lines[-SHOWN:] if evidence.quotes else (),
        lost_micros=evidence.cost_micros if failed else None,
        fix=verdict.fix,
    )


def _verdict(evidence: Evidence, used: int | None) -> Verdict:
    job = evidence.job
    match job.state:
        case JobState.PENDING:
            return Verdict(cause=Cause.NONE, says="It is still waiting to start.")
        case JobState.RUNNING | JobState.SUSPENDED:
            return Verdict(cause=Cause.NONE, says=f"It is still {job.state.lower()}.")
        case JobState.COMPLETED:
            return Verdict(cause=Cause.NONE, says="It completed; there is nothing to mend.")
        case JobState.OUT_OF_MEMORY:
            return out_of_memory(evidence, used)
        case JobState.CANCELLED:
            return cancelled(evidence)
        case JobState.FAILED:
            return failed(evidence, used)
        case _:
            return BY_STATE[job.state](evidence)


def _details(evidence: Evidence, used: int | None) -> tuple[Detail, ...]:
    job = evidence.job
    how = ended_with(job).removeprefix("ended ")
    rows = [("ended", f"with {how}" if how.startswith("exit") else how)] if job.state.ended else []
    if job.memory_mib and job.started_at:
        asked = memory(job.memory_mib)
        seen = f"{asked} asked, what it used is not known"
        rows.append(("memory", seen if used is None else f"{memory(used)} of {asked}"))
    if job.started_at and job.ended_at:
        ran = span(job.ended_at - job.started_at)
        limit = job.time_limit_minutes
        rows.append(("time", f"{ran} of {minutes(limit)}" if limit else ran))
    rows += [("node", f"{each.node} {each.says}") for each in evidence.node_events]
    if job.nodes and not evidence.node_events:
        rows.append(("node", job.nodes))
    if job.restarts:
        rows.append(("restarts", f"put back into the queue {count(job.restarts, 'time')}"))
    if evidence.cost_micros is not None:
        rows.append(("cost", dollars(evidence.cost_micros)))
    elif evidence.cost_unknown:
        rows.append(("cost", f"not known: {evidence.cost_unknown}"))
    clue = clue_in(evidence.lines)
    if clue and evidence.quotes and job.state.ended and job.state is not JobState.COMPLETED:
        rows.append(("says", clue.line))
    if evidence.unread:
        rows.append(("output", evidence.unread))
    return tuple(Detail(label=label, value=value) for label, value in rows if value)
