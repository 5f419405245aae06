"""The books: what was paid for, by whom, in quarters of an hour.

Every event that tells of a final cost brings its entry; the ledger and the books take both
or neither, and each once. So what the books sum up to is what the events say, and nobody has
to go through a million of them to know a month.

Why quarters of an hour: no time zone begins its day at any other moment, so the days and
months of every zone are made of whole ones.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from clusterra.core.cost.charges import HOUR, Charge, accrued, between, seconds_between
from clusterra.core.errors import Invalid

QUARTER = timedelta(minutes=15)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_STEP = int(QUARTER.total_seconds())


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
        return self != NOTHING


NOTHING = Sums()


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

    def check(self) -> None:
        """Refuse a period of which the books cannot tell where it begins or ends."""
        for name, moment in (("since", self.since), ("until", self.until)):
            if moment != quarter_of(moment):
                raise Invalid(
                    f"The books are kept in quarters of an hour, and none begins at"
                    f" {moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC.",
                    hint="Say a moment at :00, :15, :30 or :45.",
                    at=name,
                    code="no-quarter",
                )


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

    @property
    def rank(self) -> tuple[int, datetime, int, datetime, int]:
        """The higher, the earlier in a list: the dearest, of equals the one that ended last."""
        run = self.run
        return self.micros, self.until, run.job_id, run.born_at, run.restarts

    def and_then(self, more: "PaidRun") -> "PaidRun":
        """Return the run with another part of it: one that changes its nodes is billed in parts."""
        return replace(
            more,
            since=min(self.since, more.since),
            until=max(self.until, more.until),
            micros=self.micros + more.micros,
            why_unknown=self.why_unknown or more.why_unknown,
            charges=self.charges + more.charges,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunQuery:
    """Which runs: those that were going on in a period, the most expensive first."""

    clusters: tuple[str, ...]
    since: datetime
    until: datetime
    person: str | None = None
    unknown: bool = False
    """Only those of which it is not known what they cost."""

    limit: int = 100


def quarter_of(moment: datetime) -> datetime:
    """Return the beginning of the quarter of an hour that a moment is in."""
    utc = moment.astimezone(UTC)
    return utc - (utc - _EPOCH) % QUARTER


def portions(entry: Entry) -> Iterable[tuple[int, Sums]]:
    """Return what an entry adds to which quarters of an hour; together exactly all of it.

    A quarter is told by its beginning, in seconds since 1970: a run of a month has thousands,
    and calendars are slow.
    """
    found: dict[int, Sums] = {}
    owed = 0
    for charge in entry.charges:
        rate = 0 if entry.why_unknown else charge.usd_per_hour or 0
        alike: dict[tuple[int, int], Sums] = {}  # whole quarters differ by a millionth at most
        for at, seconds in _cut(charge):
            before, owed = owed // HOUR, owed + rate * seconds
            part = seconds, owed // HOUR - before
            sums = alike.get(part)
            if sums is None:
                sums = alike[part] = _worth(entry, *part)
            found[at] = found[at] + sums if at in found else sums
    if entry.jobs or entry.why_unknown:
        over = seconds_between(_EPOCH, entry.until)
        last = over - over % _STEP
        counted = Sums(jobs=entry.jobs, unknown=int(bool(entry.why_unknown)))
        found[last] = found.get(last, NOTHING) + counted
    return found.items()


def within(entry: Entry, since: datetime, until: datetime) -> Sums:
    """Return what an entry comes to in a period, as the books would have it.

    Both ends are on a quarter of an hour. It is worked out without going through the quarters
    in between: this is asked of every running job whenever somebody looks.
    """
    micros = 0 if entry.why_unknown else between(entry.charges, since, until)
    pieces = ((max(each.since, since), min(each.until, until)) for each in entry.charges)
    seconds = sum(seconds_between(*piece) for piece in pieces if piece[0] < piece[1])
    sums = _worth(entry, seconds, micros)
    if (entry.jobs or entry.why_unknown) and since <= quarter_of(entry.until) < until:
        sums += Sums(jobs=entry.jobs, unknown=int(bool(entry.why_unknown)))
    return sums


def paid_run(cluster: str, entry: Entry) -> PaidRun | None:
    """Return the run that an entry is about, if it is about one."""
    if entry.run is None:
        return None
    return PaidRun(
        cluster=cluster,
        run=entry.run,
        payer=entry.payer,
        since=entry.charges[0].since if entry.charges else entry.until,
        until=entry.until,
        micros=0 if entry.why_unknown else accrued(entry.charges),
        why_unknown=entry.why_unknown,
        charges=entry.charges,
    )


def _cut(charge: Charge) -> Iterator[tuple[int, int]]:
    """Cut a charge at every full quarter of an hour; yield each quarter with its seconds."""
    since, until = seconds_between(_EPOCH, charge.since), seconds_between(_EPOCH, charge.until)
    at = since - since % _STEP
    while since < until:
        after = at + _STEP
        yield at, min(after, until) - since
        since = at = after


def _worth(entry: Entry, seconds: int, micros: int) -> Sums:
    return Sums(
        micros=micros,
        seconds=seconds,
        cpu_seconds=entry.cpus * seconds,
        gpu_seconds=entry.gpus * seconds,
    )
