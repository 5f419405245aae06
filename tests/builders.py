"""Things to test with. Every builder makes a valid thing; a test names only what it is about."""

from datetime import UTC, datetime
from typing import Any

from clusterra.core.jobs.job import Job, JobState

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def a_job(id: int = 1, *, state: JobState = JobState.PENDING, **facts: Any) -> Job:
    submitted_at = facts.pop("submitted_at", NOON)
    defaults: dict[str, Any] = {
        "born_at": submitted_at,
        "name": "align",
        "user": "ana",
        "account": "lab",
        "partition": "main",
        "cpus": 2,
        "nodes_wanted": 1,
        "memory_mib": 4096,
    }
    return Job(id=id, state=state, submitted_at=submitted_at, **(defaults | facts))
