"""What holds jobs back beside the nodes themselves: limits, reservations, licences, partitions.

Read on demand, when somebody asks why a job waits: none of it is needed to run a cluster,
and the limits of a large site are thousands of rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class Holder(StrEnum):
    """Whose limit it is."""

    ASSOCIATION = "association"
    """Of an account, or of one person in an account."""

    QOS = "qos"


class Per(StrEnum):
    """Over what it is counted."""

    GROUP = "group"
    """All jobs under the holder together."""

    USER = "user"
    ACCOUNT = "account"
    JOB = "job"
    NODE = "node"


class Measure(StrEnum):
    AT_ONCE = "at-once"
    """An amount of a resource that jobs hold while they run."""

    MINUTES = "minutes"
    """A resource times minutes, as they add up over time."""

    RUN_MINUTES = "run-minutes"
    """A resource times the minutes that running jobs may still take."""

    JOBS = "jobs"
    """Jobs that run."""

    SUBMITTED = "submitted"
    """Jobs that wait or run."""

    WALL = "wall"
    """Minutes of a time limit; of a group, of run time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Which sort of limit it is, apart from whose and how high."""

    holder: Holder
    per: Per
    measure: Measure
    resource: str = ""
    """As Slurm names it: cpu, mem, node, billing, gres/gpu, license/matlab. Memory is MiB. Empty
    where jobs or time are counted."""

    least: bool = False
    """It is the least that a job must ask for, not the most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    rule: Rule
    of: str
    """The account or the QOS."""

    user: str = ""
    """The person whose share of the account it is; empty for the account as a whole."""

    amount: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits that one person's jobs in one account are under, and all those of QOS."""

    rows: tuple[Limit, ...] = ()
    parents: Mapping[str, str] = field(default_factory=dict)
    """Every account and the one above it: what a group's limit counts is also what is below."""

    def under(self, account: str, top: str) -> bool:
        """Say whether jobs of `account` are counted in the groups of `top`."""
        met: set[str] = set()
        while account and account not in met:
            if account == top:
                return True
            met.add(account)
            account = self.parents.get(account, "")
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    name: str
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    nodes: str = ""
    """Slurm's host list."""

    users: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()
    """Who may use it. Slurm writes `-ana` for everybody but ana."""

    partition: str = ""
    flags: tuple[str, ...] = ()

    def is_for(self, user: str, account: str) -> bool:
        """Say whether it may be used by this person in this account, as far as names tell."""
        return _admits(self.users, user) and _admits(self.accounts, account)


def _admits(names: tuple[str, ...], name: str) -> bool:
    if f"-{name}" in names:
        return False
    return name in names or all(each.startswith("-") for each in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Licence:
    name: str
    total: int
    used: int = 0
    free: int = 0
    reserved: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRules:
    """What a partition lets in."""

    name: str
    state: str = ""
    max_minutes: int | None = None
    max_nodes: int | None = None
    min_nodes: int = 0
    max_cpus_per_node: int | None = None
    """None is no limit, in all of these."""

    qos: str = ""
    """A QOS of its own, whose limits hold for all its jobs."""

    accounts: tuple[str, ...] = ()
    accounts_denied: tuple[str, ...] = ()
    qos_allowed: tuple[str, ...] = ()
    qos_denied: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    """Those that are let in; empty lets all in."""
