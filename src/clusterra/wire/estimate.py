"""What a job would come to, as it travels.

Money is whole millionths of a dollar; null is "not known", and why is said beside it. The
planner behind it is not imported: a terminal that shows this has no need of it.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterra.wire.why import EstimateView

if TYPE_CHECKING:
    from clusterra.core.cost.estimate.alternatives import Alternative
    from clusterra.core.cost.estimate.outlook import Outlook
    from clusterra.core.scaling.shapes import Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeView:
    name: str
    arch: str
    cpus: int
    """What each worker offers to jobs; so are the next three."""
    memory_mib: int
    gpus: int
    gpu_model: str
    types: list[str]
    """Machines of EC2 that are this shape, the cheapest first."""

    @classmethod
    def of(cls, shape: "Shape") -> "ShapeView":
        return cls(
            name=shape.name,
            arch=shape.arch,
            cpus=shape.cpus,
            memory_mib=shape.memory_mib,
            gpus=shape.gpus,
            gpu_model=shape.gpu_model,
            types=list(shape.types),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforeView:
    """How jobs of the same name, of the same person, went that ended well."""

    jobs: int
    median_seconds: float
    longest_seconds: float
    likely_micros: int | None
    """What this one costs if it takes as long as half of those."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaEffectView:
    """What the job would do to a quota."""

    whose: str
    """A person; empty is all of the workspace together."""
    mode: str
    limit_micros: int | None
    """Of this month; null is no limit."""
    spent_micros: int
    projected_micros: int
    """With all that runs or waits taken to its time limit."""
    left_micros: int | None
    """What is not spent of the limit."""
    after_micros: int | None
    """What is projected with this job too; null if it is not known what it costs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlternativeView:
    kind: str
    """spot, architecture, memory, cpus, share, gpu or time."""
    say: str
    option: str
    """What to write, as `--mem 14G`."""
    shape: str
    usd_per_hour_micros: int | None
    total_micros: int | None
    saved_micros: int
    """Of the total; per hour where there is no time limit."""
    saved_percent: int
    in_time: str
    """What it costs in time; empty if nothing."""

    @classmethod
    def of(cls, each: "Alternative") -> "AlternativeView":
        return cls(
            kind=each.kind.value,
            say=each.say,
            option=each.option,
            shape=each.priced.shape,
            usd_per_hour_micros=each.priced.usd_per_hour,
            total_micros=each.priced.total,
            saved_micros=each.saved,
            saved_percent=each.percent,
            in_time=each.in_time,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEstimate:
    """Nothing was submitted."""

    name: str
    user: str
    shape: ShapeView | None
    """Null where workers are not ours to start, or none can hold it."""
    node: str
    """One that has room for it now; empty if none has, or others come first."""
    workers: int
    """How many it is spread over."""
    available: str
    """Its workers are free `now`, `start` for it, are `starting` already, or wait for something
    else (`waits`); or that is `unknown`."""
    available_said: str
    worker_seconds: float | None
    """How long such a worker usually takes to come."""
    tasks: int
    """Of an array; amounts are for all of them."""
    usd_per_hour_micros: int | None
    """Its share of its workers, while it runs."""
    worker_usd_per_hour_micros: int | None
    """One whole worker."""
    time_limit_minutes: int | None
    total_micros: int | None
    """If it takes all its time."""
    basis: str
    """What was priced, and who said so."""
    estimate: bool
    """Nobody pays this: workers of one machine are priced as what they stand for."""
    why_unknown: str
    start: EstimateView | None
    why_no_start: str
    before: BeforeView | None
    quotas: list[QuotaEffectView]
    over: list[str]
    """The limits that it would break, the strictest first."""
    refused: bool
    """A quota would keep it out."""
    alternatives: list[AlternativeView]
    warnings: list[str]

    @classmethod
    def of(cls, found: "Outlook", remarks: tuple[str, ...] = ()) -> "JobEstimate":
        priced, past = found.priced, found.before
        return cls(
            name=found.job.name,
            user=found.job.user,
            shape=None if found.shape is None else ShapeView.of(found.shape),
            node=found.node,
            workers=priced.workers,
            available=found.available.value,
            available_said=found.wait.sentence if found.wait else "",
            worker_seconds=found.worker_seconds,
            tasks=priced.tasks,
            usd_per_hour_micros=priced.usd_per_hour,
            worker_usd_per_hour_micros=priced.worker_usd_per_hour,
            time_limit_minutes=priced.minutes,
            total_micros=priced.total,
            basis=priced.basis,
            estimate=priced.estimate,
            why_unknown=priced.why_unknown,
            start=None if found.start is None else EstimateView.of(found.start),
            why_no_start=found.why_no_start,
            before=None
            if past is None
            else BeforeView(
                jobs=past.jobs,
                median_seconds=past.median_seconds,
                longest_seconds=past.longest_seconds,
                likely_micros=found.likely,
            ),
            quotas=[
                QuotaEffectView(
                    whose=each.whose,
                    mode=each.quota.mode.value,
                    limit_micros=each.limit,
                    spent_micros=each.month.spent,
                    projected_micros=each.month.projected + each.month.waiting,
                    left_micros=each.left,
                    after_micros=after,
                )
                for each, after in found.after_it()
            ],
            over=[each.sentence for each in found.objections],
            refused=any(each.blocks for each in found.objections),
            alternatives=[AlternativeView.of(each) for each in found.alternatives],
            warnings=[*remarks, *found.warnings],
        )
