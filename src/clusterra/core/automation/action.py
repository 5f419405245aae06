"""What an automation can do, as data: nothing here is code of a user's."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from clusterra.core.jobs.again import AS_IS, MORE_MEMORY, MORE_TIME, Adjustment, adjustment_for
from clusterra.core.jobs.job import JobState


class Act(StrEnum):
    NOTIFY = "notify"
    """Tell a webhook of the event, whatever else that wants to hear."""

    CALL = "call"
    """The same, as one says it of a program that is called."""

    SUBMIT = "submit"
    REQUEUE = "requeue"
    RETRY = "retry"
    """Submit the same job again, with more of what it ran out of."""

    @property
    def starts_jobs(self) -> bool:
        return self in (Act.SUBMIT, Act.REQUEUE, Act.RETRY)

    @property
    def needs_job(self) -> bool:
        """Acts on the very job that the event is about."""
        return self in (Act.REQUEUE, Act.RETRY)

    @property
    def tells(self) -> bool:
        return self in (Act.NOTIFY, Act.CALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Submit:
    script: str = field(default="", repr=False)
    template: str = ""
    """Instead of a script: the id of a recipe."""

    cluster: str = ""
    """Where; empty is where the event happened."""

    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """As beside the script of a submission: `cpus`, `memory`, `env`, …; with a template also its
    `params` and `inputs`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    memory_factor: float = MORE_MEMORY
    time_factor: float = MORE_TIME
    most_memory_mib: int | None = None
    """On one node."""

    most_time_minutes: int | None = None
    plain: bool = False
    """Also a job that simply failed, as it is: its exit code was not 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One thing to do. What stands beside `act` belongs to it; the rest is empty."""

    act: Act
    endpoint: str = ""
    """Of NOTIFY and CALL: `whk_…`."""

    submit: Submit = field(default_factory=Submit)
    retry: Retry = field(default_factory=Retry)


def adjustment_of(retry: Retry, state: JobState) -> Adjustment | None:
    """Return how a job that ended so is submitted again; None if it is not."""
    usual = adjustment_for(state)
    if usual is None:
        return AS_IS if retry.plain and state is JobState.FAILED else None
    return Adjustment(
        memory_factor=1.0 if usual.memory_factor == 1.0 else retry.memory_factor,
        time_factor=1.0 if usual.time_factor == 1.0 else retry.time_factor,
        most_memory_mib=retry.most_memory_mib,
        most_time_minutes=retry.most_time_minutes,
    )
