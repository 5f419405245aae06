"""Automations as they travel."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """Which events are answered. Each part narrows; an empty one narrows nothing."""

    types: list[str] = field(default_factory=list)
    """Events or globs, as `job.out_of_memory`, `job.*`."""
    clusters: list[str] = field(default_factory=list)
    people: list[str] = field(default_factory=list)
    """E-mails or Linux users."""
    partitions: list[str] = field(default_factory=list)
    states: list[str] = field(default_factory=list)
    """Slurm's words: FAILED, TIMEOUT."""
    names: list[str] = field(default_factory=list)
    """Names of jobs, or globs."""
    severity: str = ""
    """Nothing below: `info`, `notice`, `warning` or `error`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddAutomation:
    when: When
    do: list[dict[str, Any]]
    """Each names one thing: `{"retry": {"memory_factor": 1.5, "time_factor": 2, "most_memory": "64G",
    "most_time": "24h", "plain": false}}`, `{"requeue": {}}`, `{"submit": {"script": "…", "cluster": "",
    "options": {…}}}`, `{"notify": "whk_…"}`, `{"call": "whk_…"}`."""
    name: str = ""
    workspace: str = ""
    """The only one there is, if left out."""
    most: int = 1
    """How often it may start something along one chain of jobs."""
    backoff: str | int = 0
    """How long it waits before it acts, as `5m` or seconds; twice as long each time."""
    most_per_hour: int = 100
    """How often it may act at all, on each cluster."""
    state: str = "on"
    """`on`, `off` or `dry_run`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditAutomation:
    """What is left out stays as it is."""

    when: When | None = None
    do: list[dict[str, Any]] | None = None
    name: str | None = None
    most: int | None = None
    backoff: str | int | None = None
    most_per_hour: int | None = None
    state: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AutomationView:
    id: str
    name: str
    workspace: str
    owner: str
    """E-mail of whoever made it, and in whose name it acts; empty if they are gone."""
    when: When
    do: list[dict[str, Any]]
    most: int
    backoff_seconds: int
    most_per_hour: int
    state: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AutomationPage:
    automations: list[AutomationView]
    total: int
    next: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AutomationDeleted:
    id: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FiringView:
    id: str
    at: datetime
    """When the event was met."""
    state: str
    """`due`, `done`, `refused`, `stopped` or `dry`."""
    action: str
    cause: str
    """Id of the event."""
    cause_type: str
    cluster: str
    """Whose ledger it is in."""
    job_id: int | None
    label: str
    """The job's id as people write it."""
    name: str
    """The job's."""
    made_job_id: int | None
    changed: list[str]
    """What is different from the job that it answers."""
    due_at: datetime
    ended_at: datetime | None
    tries: int
    code: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FiringPage:
    firings: list[FiringView]
    next: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearseAutomation:
    """An automation that there is, or one as it would be made."""

    id: str = ""
    automation: AddAutomation | None = None
    workspace: str = ""
    since: str = ""
    """RFC 3339, or an age as `30d`, which it is if left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WouldView:
    at: datetime
    cause: str
    cause_type: str
    cluster: str
    job_id: int | None
    label: str
    name: str
    user: str
    action: str
    stopped: str
    """Why it would not have acted after all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    since: datetime
    events: int
    """How many were read."""
    acted: int
    stopped: int
    jobs: int
    """For how many jobs it would have acted."""
    started: int
    """How many jobs it would have submitted or requeued."""
    cost_micros: int
    """What the jobs that it would have run again cost, in millionths of a dollar."""
    cost_unknown: int
    """Of how many of them that is not known."""
    would: list[WouldView]
    """The first 50."""
    cut_off: bool
    """There were more events than are read."""
