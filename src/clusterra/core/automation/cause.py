"""An event as automations look at it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from clusterra.core.events.event import Event
from clusterra.core.jobs.job import JobState


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """What an automation answers. It is kept with the answer: the ledger may be sealed by then."""

    id: str
    type: str
    ledger: str
    """A cluster's id, or `workspaces/…`."""

    seq: int
    at: datetime
    subject: str
    correlation: str = ""
    job_id: int | None = None
    label: str = ""
    name: str = ""
    user: str = ""
    state: str = ""
    run_id: str = ""
    restarts: int = 0
    is_task: bool = False
    """Of an array."""

    by: str = ""
    """The automation that did it, where one did."""

    answers: str = ""
    """The type of the event which that one answered."""

    @property
    def cluster(self) -> str:
        """The cluster it happened on; empty for what is the workspace's own."""
        return "" if "/" in self.ledger else self.ledger

    @property
    def is_copy(self) -> bool:
        """Told before, of the job that was answered; this one is for the job that was made."""
        by_automation = self.type.startswith("automation.")
        return by_automation and self.job_id is not None and self.subject != f"job/{self.job_id}"

    @property
    def job_state(self) -> JobState | None:
        return JobState(self.state) if self.state in JobState.__members__ else None

    @property
    def origin(self) -> str:
        """What it is about: one job, whatever becomes of its id later; else the event by itself."""
        if self.job_id is None:
            return f"event/{self.id}"
        return f"{self.correlation}/{self.job_id}"


def read_cause(event: Event) -> Cause:
    body = json.loads(event.body)
    data: Mapping[str, Any] = body["data"]
    by_automation = event.type.startswith("automation.")
    return Cause(
        id=event.id,
        type=event.type,
        ledger=event.cluster,
        seq=event.seq,
        at=event.at,
        subject=event.subject,
        correlation=_text(body, "correlationid"),
        job_id=data.get("job_id"),
        label=_text(data, "label"),
        # Else it is the name of something else: of an automation, of a webhook.
        name=_text(data, "name") if event.type.startswith("job.") else "",
        user=_text(data, "user"),
        state=_text(data, "state"),
        run_id=_text(data, "run_id"),
        restarts=data.get("restarts") or 0,
        is_task=data.get("array_id") is not None,
        by=_text(data, "id") if by_automation else "",
        answers=_text(data, "cause_type") if by_automation else "",
    )


def _text(data: Mapping[str, Any], name: str) -> str:
    value = data.get(name)
    return value if isinstance(value, str) else ""
