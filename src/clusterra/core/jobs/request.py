"""What a person asks of Slurm: a job to run, or a change to one."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRequest:
    """A job ready to be handed to Slurm: complete, checked, and still without an owner."""

    script: str
    properties: dict[str, Any] = field(default_factory=dict)
    """slurmrestd's own job properties (`minimum_cpus`, `time_limit`, …), v0.0.44 spelling."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEdit:
    """What may be changed on a job that exists; None leaves a thing as it is."""

    name: str | None = None
    time_limit_minutes: int | None = None
    priority: int | None = None
    hold: bool | None = None

    def __bool__(self) -> bool:
        return any(
            value is not None
            for value in (self.name, self.time_limit_minutes, self.priority, self.hold)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """Slurm took the job."""

    job_id: int
    warnings: tuple[str, ...] = ()
    """What Slurm remarked while taking it, e.g. that a field was unknown to it."""
