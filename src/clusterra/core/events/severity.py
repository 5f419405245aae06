"""How much an event matters: by its type, so that everybody who asks gets the same answer."""

from enum import StrEnum

from clusterra.core.events.filter import is_like


class Severity(StrEnum):
    """From what one may want to know to what somebody has to see to."""

    INFO = "info"
    NOTICE = "notice"
    WARNING = "warning"
    ERROR = "error"

    @property
    def rank(self) -> int:
        return list(Severity).index(self)


_BY_TYPE: tuple[tuple[Severity, tuple[str, ...]], ...] = (
    (
        Severity.ERROR,
        (
            "job.failed",
            "job.timeout",
            "job.out_of_memory",
            "job.node_fail",
            "job.lost",
            "job.cost.over_quota",
            "cluster.unreachable",
            "webhook.disabled",
            "automation.refused",
        ),
    ),
    (
        Severity.WARNING,
        (
            "job.preempted",
            "job.time_limit_near",
            "job.cost.over_estimate",
            "node.down",
            "node.spot_interrupted",
            "node.misclassified",
            "fleet.shortage",
            "fleet.cost.waste_high",
            "user.login_failed",
            "user.quota.*",
            "user.cost.unusual",
            "collector.gap",
            "webhook.failing",
            "webhook.delivery.dead",
            "automation.stopped",
        ),
    ),
    (
        Severity.NOTICE,
        (
            "job.completed",
            "job.cancelled",
            "job.requeued",
            "node.drained",
            "cluster.*",
            "user.access.*",
            "admin.*",
            "webhook.*",
            "automation.*",
        ),
    ),
)


def severity_of(type: str) -> Severity:
    for severity, globs in _BY_TYPE:
        if any(is_like(type, glob) for glob in globs):
            return severity
    return Severity.INFO
