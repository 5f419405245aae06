"""Why a job failed, as it travels."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class DetailView:
    label: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeEventView:
    node: str
    type: str
    at: datetime
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ResubmitView:
    """The same job again, the fix applied."""

    body: dict[str, Any]
    """To be posted to `/jobs/submit` as it is, or edited before."""

    changes: list[str]
    """How it differs from what was submitted, in words; empty if it does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnosisView:
    job_id: int
    label: str
    name: str
    user: str
    state: str
    failed: bool
    """False of a job that waits, runs, or completed: there is nothing to mend."""

    cause: str
    """One word: `out-of-memory`, `timeout`, `exit-code`, …; `none` if it has not failed."""

    sure: bool
    """False where it is a guess; the summary says so too."""

    summary: str
    exit_code: int | None
    signal: int | None
    ended_with: str
    """The two in words: `ended by signal 9 (SIGKILL)`."""

    details: list[DetailView]
    """The rows behind it, for people."""

    last_lines: list[str]
    memory_asked_mib: int
    memory_used_mib: int | None
    """As accounting saw it, over all nodes; null if that is not known."""

    time_limit_minutes: int | None
    ran_seconds: int | None
    node_events: list[NodeEventView]
    """What happened to its nodes around its end."""

    spot: bool
    """The cloud took back a machine it ran on."""

    cost_lost_micros: int | None
    """What it cost for nothing; null if that is not known, or it has not failed."""

    advice: str
    resubmit: ResubmitView | None
    resubmit_helps: bool
    """What is proposed may succeed; false where something has to be mended by hand first."""

    why_not: str
    """Why there is no `resubmit`; empty if there is."""
