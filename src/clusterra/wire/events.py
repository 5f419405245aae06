"""Events as they travel: CloudEvents 1.0, the stored bytes of the ledger.

The server never makes these values: it hands out bytes. They say in OpenAPI what those
bytes are, and give clients a type to read them into.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from clusterra.wire.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class EventView:
    specversion: str
    """`1.0`, of CloudEvents."""
    id: str
    """The same for everybody who sees the same fact; no ledger has it twice."""
    source: str
    """Whose ledger it is in: `/clusters/{id}`, or `/workspaces/{id}` for what people do."""
    type: str
    """What happened: `job.started`."""
    subject: str
    """What it happened to: `job/41`, `node/w1`, `cluster`."""
    time: datetime
    """When it happened."""
    timestamp: datetime
    """The same moment, under the name that Standard Webhooks asks for."""
    recordedtime: datetime
    """When the ledger took it."""
    sequence: str
    """Its number in the cluster's ledger, with leading zeros: no gaps, and the order of reading."""
    authtype: str
    """Who did it: `user`, or `system` where nobody did."""
    authid: str
    """Which user, or which part of the system."""
    correlationid: str
    """What ties events of one undertaking together: a run, an array."""
    dataschema: str
    """Name of the schema of `data`: `urn:clusterra:event:job.started:1`."""
    datacontenttype: str
    """`application/json`."""
    data: dict[str, Any]
    """The facts, by type."""

    @property
    def seq(self) -> int:
        return int(self.sequence)

    @property
    def actor(self) -> str:
        return f"{self.authtype}:{self.authid}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPage:
    events: list[EventView]
    """Oldest first."""
    next: str | None
    """Pass it back as `cursor` for the following page; null on the last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TooOldProblem(Problem):
    """A problem document that says where reading can begin."""

    oldest: int
    """The first sequence number that can still be read."""
    cursor: str
    """The cursor of the page that begins there."""
