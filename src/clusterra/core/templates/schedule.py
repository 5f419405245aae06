"""A recipe that is started again and again."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from clusterra.core.change import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    id: str
    cluster: str
    workspace: str
    owner: str
    """The person in whose name, with the rights they have then."""

    operator: bool
    """Whether they ran the server when they made it: its jobs are of its own user then."""

    user: str
    """The Linux user whose jobs they are."""

    template_id: str
    cron: str
    body: dict[str, Any]
    """What is submitted, as it was sent."""

    made_at: datetime
    next_at: datetime
    last_at: datetime | None = None
    last_job_id: int = 0
    last_run_id: str = ""
    last_problem: str = ""
    """Why the last time came to nothing; empty if it came to a job."""


SCHEDULE: Kind[Schedule] = Kind("schedule", Schedule)
"""By cluster and id."""
