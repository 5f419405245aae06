"""What usage can be told apart by, and what of it together."""

from collections.abc import Sequence
from enum import StrEnum

from clusterra.core.errors import Invalid


class Dimension(StrEnum):
    PERSON = "person"
    WORKSPACE = "workspace"
    ACCOUNT = "account"
    PARTITION = "partition"
    TEMPLATE = "template"
    CLUSTER = "cluster"
    WHAT = "what"
    JOB = "job"
    DAY = "day"
    MONTH = "month"


TIMES = frozenset({Dimension.DAY, Dimension.MONTH})
PLACES = TIMES | {Dimension.CLUSTER, Dimension.WORKSPACE}
"""What waste can be told apart by as well."""


def check(by: Sequence[Dimension]) -> None:
    """Refuse what cannot be told apart together."""
    if Dimension.JOB in by and len(by) > 1:
        raise Invalid(
            "Jobs are told apart by nothing else: each has one owner, account and queue anyway.",
            hint="Ask by=job alone; every row says whose job it is.",
            at="by",
        )
    if len(TIMES & set(by)) > 1:
        raise Invalid("A day is in one month.", hint="Ask by day or by month.", at="by")
