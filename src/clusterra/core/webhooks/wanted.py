"""Which events people want to be told of, where they did not say."""

from collections.abc import Sequence

from clusterra.core.webhooks.endpoint import Format

DEFAULT_TYPES: tuple[str, ...] = (
    "job.completed",
    "job.failed",
    "job.timeout",
    "job.out_of_memory",
    "job.node_fail",
    "job.preempted",
    "job.cancelled",
    "job.lost",
    "job.cost.over_*",
    "user.quota.*",
    "cluster.unreachable",
    "cluster.recovered",
    "fleet.shortage",
    "webhook.*",
    "automation.*",
)
"""How things ended, and what somebody has to see to."""

_BESIDE_ANOTHER = frozenset({"job.cost.estimated", "job.cost.finalized"})
"""What they say stands in the message about the start or the end of the job."""


def types_for(format: Format, named: Sequence[str]) -> tuple[str, ...]:
    """Return what an endpoint is told of: what was named; else all, or what people want to know."""
    return tuple(named) or (DEFAULT_TYPES if format.is_chat else ())


def worth_telling(type: str, format: Format, named: Sequence[str]) -> bool:
    """Say whether an event that is meant is worth a message: `job.*` means no costs in a chat."""
    return not format.is_chat or type not in _BESIDE_ANOTHER or type in named
