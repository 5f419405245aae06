"""The books: what was paid for, by whom, in quarters of an hour.

Every event that tells of a final cost brings its entry; the ledger and the books take both
or neither, and each once. So what the books sum up to is what the events say, and nobody has
to go through a million of them to know a month.

Why quarters of an hour: no time zone begins its day at any other moment, so the days and
months of every zone are made of whole ones.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from clusterra.core.cost.charges import HOUR, Charge, seconds_between

QUARTER = timedelta(minutes=15)


class What(StrEnum):
    """What was paid for: work, or one of the ways in which a machine does none."""

    JOB = "job"
    WARMING = "warming"
    """It was asked for and is not ready for jobs yet."""

    IDLE = "idle"
    """It is ready and has none."""

    UNUSED = "unused"
    """The part of a busy machine that no job has."""

    LEAVING = "leaving"
    """It is on its way out."""

    CLOSED = "closed"
    """Slurm cannot use it, or an admin keeps jobs away."""


WASTE = frozenset(What) - {What.JOB}


@dataclass(frozen=True, slots=True, kw_only=True)
class Payer:
    """To whom it is put down. Waste is the workspace's, and nobody's in particular."""

    person: str = ""
    """E-mail; the Linux user of somebody who is no person here."""

    account: str = ""
    partition: str = ""
    template: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Which job, and which of its runs."""

    job_id: int
    born_at: datetime
    restarts: int = 0
    label: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What one event adds to the books."""

    payer: Payer
    what: What = What.JOB
    charges: tuple[Charge, ...] = ()
    cpus: int = 0
    gpus: int = 0
    until: datetime
    """When it was over: what has no length, as the number of jobs, is counted there."""

    jobs: int = 0
    """1 with the last part of a job."""

    why_unknown: str = ""
    """Then nothing is added but the time, and that something is not known."""

    run: Run | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    micros: int = 0
    jobs: int = 0
    unknown: int = 0
    """Of how many entries it is not known what they cost. They are in no sum."""

    seconds: int = 0
    cpu_seconds: int = 0
    gpu_seconds: int = 0

    def __add__(self, other: "Sums") -> "Sums":
        return Sums(
            micros=self.micros + other.micros,
            jobs=self.jobs + other.jobs,
            unknown=self.unknown + other.unknown,
            seconds=self.seconds + other.seconds,
            cpu_seconds=self.cpu_seconds + other.cpu_seconds,
            gpu_seconds=self.gpu_seconds + other.gpu_seconds,
        )

    def __bool__(self) -> bool:
        return self != _NOTHING


_NOTHING = Sums()


class By(StrEnum):
    """What sums can be told apart by."""

    CLUSTER = "cluster"
    PERSON = "person"
    ACCOUNT = "account"
    PARTITION = "partition"
    TEMPLATE = "template"
    WHAT = "what"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """A question to the books."""

    clusters: tuple[str, ...]
    since: datetime
    until: datetime
    """Both on a quarter of an hour."""

    by: tuple[By, ...] = ()
    person: str | None = None
    """Only what is put down to them."""

    what: frozenset[What] = frozenset(What)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    key: tuple[str, ...]
    """The values of `Spending.by`, in its order."""

    sums: Sums


@dataclass(frozen=True, slots=True, kw_only=True)
class PaidRun:
    """A run of a job that is in the books, whole."""

    cluster: str
    run: Run
    payer: Payer
    since: datetime
    until: datetime
    micros: int
    why_unknown: str = ""
    charges: tuple[Charge, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunQuery:
    """Which runs: those that were going on in a period, the most expensive first."""

    clusters: tuple[str, ...]
    since: datetime
    until: datetime
    person: str | None = None
    limit: int = 100


def quarter_of(moment: datetime) -> datetime:
    """Return the beginning of the quarter of an hour that a moment is in."""
    utc = moment.astimezone(UTC)
    return utc.replace(minute=utc.minute - utc.minute % 15, second=0, microsecond=0)


def portions(entry: Entry) -> Iterable[tuple[datetime, Sums]]:
    """Return what an entry adds to which quarters of an hour; together exactly all of it."""
    found: dict[datetime, Sums] = {}
    owed = 0
    for charge in entry.charges:
        rate = 0 if entry.why_unknown else charge.usd_per_hour or 0
        for quarter, seconds in _quarters(charge.since, charge.until):
            before, owed = owed // HOUR, owed + rate * seconds
            found[quarter] = found.get(quarter, _NOTHING) + Sums(
                micros=owed // HOUR - before,
                seconds=seconds,
                cpu_seconds=entry.cpus * seconds,
                gpu_seconds=entry.gpus * seconds,
            )
    last = quarter_of(entry.until)
    counted = Sums(jobs=entry.jobs, unknown=bool(entry.why_unknown))
    if counted:
        found[last] = found.get(last, _NOTHING) + counted
    return found.items()


def within(entry: Entry, since: datetime, until: datetime) -> Sums:
    """Return what an entry comes to in a period, as the books would have it."""
    return sum((sums for at, sums in portions(entry) if since <= at < until), _NOTHING)


def _quarters(since: datetime, until: datetime) -> Iterator[tuple[datetime, int]]:
    """Cut a time into quarters of an hour; return each with the seconds that are in it."""
    quarter = quarter_of(since)
    while since < until:
        end = min(quarter + QUARTER, until)
        yield quarter, seconds_between(since, end)
        since = quarter = quarter + QUARTER
