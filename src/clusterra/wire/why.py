"""Why a job waits, as it travels."""

from dataclasses import dataclass
from datetime import datetime

from clusterra.core.jobs.forecast import Estimate
from clusterra.core.jobs.job import Job, JobState
from clusterra.core.jobs.pending.why import Evidence, Link, Why


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceView:
    """A row that a claim rests on."""

    kind: str
    """event, job, node, partition, limit, reservation, licence or plan."""
    id: str
    """Of an event its id; of a plan the version of the fleet; else a name."""
    at: datetime | None
    """When it was seen, or happened."""
    says: dict[str, str | int | float | bool | None]

    @classmethod
    def of(cls, row: Evidence) -> "EvidenceView":
        return cls(kind=row.kind.value, id=row.id, at=row.at, says=dict(row.says))


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkView:
    kind: str
    claim: str
    evidence: list[EvidenceView]

    @classmethod
    def of(cls, link: Link) -> "LinkView":
        return cls(
            kind=link.kind.value,
            claim=link.claim,
            evidence=[EvidenceView.of(row) for row in link.evidence],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SoonerView:
    say: str
    command: str
    """What to type for it; empty where it is not one command."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationView:
    predictions: int
    """Earlier guesses on this cluster whose job has started since."""
    inside: int
    """Those of them that held: the job started inside the band."""
    share: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateView:
    low: datetime
    likely: datetime
    high: datetime
    basis: str
    """What the guess is made of."""
    calibration: CalibrationView

    @classmethod
    def of(cls, guess: Estimate) -> "EstimateView":
        made = guess.calibration
        return cls(
            low=guess.low,
            likely=guess.likely,
            high=guess.high,
            basis=guess.basis,
            calibration=CalibrationView(
                predictions=made.predictions, inside=made.inside, share=made.share
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyView:
    job_id: int
    label: str
    state: str
    reason: str
    """Slurm's own code."""
    waiting: bool
    kind: str
    """What sort of thing it waits for."""
    summary: str
    chain: list[LinkView]
    """Each claim with the rows behind it; the cause first."""
    sooner: list[SoonerView]
    """What would start it sooner."""
    estimate: EstimateView | None
    """Null where time alone will not start it, or it has started."""
    unseen: list[str]
    """What could not be looked at, and why."""
    at: datetime
    """When this was said."""

    @classmethod
    def of(cls, job: Job, why: Why, at: datetime) -> "WhyView":
        return cls(
            job_id=job.id,
            label=job.label,
            state=job.state.value,
            reason=job.reason,
            waiting=job.state is JobState.PENDING,
            kind=why.kind.value,
            summary=why.summary,
            chain=[LinkView.of(link) for link in why.chain],
            sooner=[SoonerView(say=each.say, command=each.command) for each in why.sooner],
            estimate=None if why.estimate is None else EstimateView.of(why.estimate),
            unseen=list(why.unseen),
            at=at,
        )
