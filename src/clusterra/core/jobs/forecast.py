"""When a waiting job will start: a band from this cluster's own history, and how often it held.

What has to happen first is played through many times: workers take as long to come as others
of their shape did, jobs run for as much of their limit as jobs here do. Nothing is left to
chance: the same question gives the same band. Eight starts of ten should fall inside it;
`calibration` says how many did.
"""

import hashlib
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from heapq import heapify, heappop, heappush

from clusterra.core.change import Kind
from clusterra.core.jobs.job import Job

PLAYS = 80
LOW, HIGH = 0.1, 0.9

KEPT = 500
"""Predictions that are remembered of a cluster, open and settled together."""

ENOUGH = 5
"""Samples from which on a history is called one."""

SHARES_UNKNOWN = (0.01, 0.05, 0.2, 0.5, 1.0)
"""How much of its time limit a job uses, where none has ended yet: anything."""

STARTS_UNKNOWN = (2.0, 5.0, 30.0, 120.0, 300.0)
"""Seconds until a worker is there, where none has come yet: a process of this machine takes two, a
machine of a cloud minutes."""

NO_LIMIT = 24 * 60
"""Minutes that a job without a time limit is taken to have."""

MOMENT = 2.0
"""Seconds that Slurm may take to start a job that could start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How earlier guesses on this cluster did."""

    predictions: int = 0
    """Those that have been settled: the job has started."""

    inside: int = 0
    """Those of them whose job started inside the band."""

    @property
    def share(self) -> float | None:
        return round(self.inside / self.predictions, 3) if self.predictions else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    low: datetime
    likely: datetime
    high: datetime
    basis: str
    calibration: Calibration = field(default_factory=Calibration)


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What happened on this cluster before."""

    shares: tuple[float, ...] = ()
    """How much of their time limit jobs used that ended lately."""

    starts: tuple[float, ...] = ()
    """Seconds from asking for a worker of the shape to its being there."""

    waits: tuple[float, ...] = ()
    """Seconds that jobs in the same partition waited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """A job that holds, or will hold, some of what is waited for."""

    id: int
    amount: int = 1
    started_at: datetime | None = None
    limit_minutes: int | None = None

    @classmethod
    def of(cls, job: Job, amount: int) -> "Runner":
        return cls(
            id=job.id,
            amount=amount,
            started_at=job.started_at,
            limit_minutes=job.time_limit_minutes,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Race:
    """Something of which there is too little: who has it, who comes first, what is needed."""

    running: tuple[Runner, ...] = ()
    ahead: tuple[Runner, ...] = ()
    free: int = 0
    need: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """All that has to happen before a job starts."""

    race: Race | None = None
    awaited: tuple[datetime, ...] = ()
    """When each worker was asked for that it waits for."""

    shape: str = ""
    not_before: datetime | None = None
    expected_at: datetime | None = None
    """Slurm's own guess, which takes every job to run to its limit."""


def estimate(ahead: Ahead, past: Past, *, now: datetime, calibration: Calibration) -> Estimate:
    waits = sorted(_play(ahead, past, now, play) for play in range(PLAYS))
    slack = MOMENT if ahead.race or ahead.awaited or ahead.not_before else 0.0
    low, likely, high = (quantile(waits, q) for q in (LOW, 0.5, HIGH))
    if not ahead.race and not ahead.awaited and not ahead.not_before:
        low, likely, high = _as_before(past)
    guess = (ahead.expected_at - now).total_seconds() if ahead.expected_at else None
    if guess is not None and ahead.race and likely < guess < high:
        high = guess
    # Slurm's times are whole seconds, cut off.
    return Estimate(
        low=_at(now, low).replace(microsecond=0),
        likely=_at(now, likely + slack / 2),
        high=_at(now, high + slack) + timedelta(seconds=1),
        basis=_basis(ahead, past, guess),
        calibration=calibration,
    )


def _at(now: datetime, seconds: float) -> datetime:
    return now + timedelta(seconds=max(seconds, 0))


def _as_before(past: Past) -> tuple[float, float, float]:
    waits = sorted(past.waits) if len(past.waits) >= ENOUGH else [0.0, 1.0, 2.0, 5.0, 30.0]
    return quantile(waits, LOW), quantile(waits, 0.5), quantile(waits, HIGH)


def _play(ahead: Ahead, past: Past, now: datetime, play: int) -> float:
    """Return after how many seconds it starts, this time."""
    seconds = 0.0
    if ahead.not_before is not None:
        seconds = max(seconds, (ahead.not_before - now).total_seconds())
    starts = sorted(past.starts) if past.starts else list(STARTS_UNKNOWN)
    for number, asked in enumerate(ahead.awaited):
        took = drawn(starts, _chance(play, f"worker/{number}"), over=(now - asked).total_seconds())
        seconds = max(seconds, took - (now - asked).total_seconds())
    if ahead.race is not None:
        shares = sorted(past.shares) if len(past.shares) >= ENOUGH else list(SHARES_UNKNOWN)
        seconds = max(seconds, _run(ahead.race, shares, now, play))
    return seconds


def _run(race: Race, shares: Sequence[float], now: datetime, play: int) -> float:
    """Let jobs end and the ones ahead start, until there is room for ours."""
    ends = [(_left(each, shares, now, play), each.id, each.amount) for each in race.running]
    heapify(ends)
    free, clock = race.free, 0.0
    for waiting in (*race.ahead, Runner(id=-1, amount=race.need)):
        while free < waiting.amount and ends:
            clock, _, amount = heappop(ends)
            free += amount
        if waiting.id == -1:
            break
        if free >= waiting.amount:
            free -= waiting.amount
            runs = _left(replace(waiting, started_at=None), shares, now, play)
            heappush(ends, (clock + runs, waiting.id, waiting.amount))
    return clock


def _left(job: Runner, shares: Sequence[float], now: datetime, play: int) -> float:
    """Return how many seconds a job still runs, this time."""
    limit = (job.limit_minutes or NO_LIMIT) * 60.0
    ran = (now - job.started_at).total_seconds() if job.started_at else 0.0
    share = drawn(shares, _chance(play, f"job/{job.id}"), over=ran / limit)
    return max(share * limit - ran, 0.0)


def _chance(play: int, what: str) -> float:
    """Return a number from 0 to 1 that is always the same for the same play of the same thing."""
    digest = hashlib.blake2b(f"{play}/{what}".encode(), digest_size=6).digest()
    return int.from_bytes(digest, "big") / (1 << 48)


def drawn(samples: Sequence[float], chance: float, *, over: float = 0.0) -> float:
    """Return a value like `samples`, which are sorted, of those that are over something.

    What has lasted longer than anything before lasts half as long again.
    """
    rest = samples[bisect_right(samples, over) :]
    if not rest:
        return over * (1 + chance / 2) + chance
    # A little beyond both ends: the next one is seldom between all those before it.
    reach = (rest[-1] - rest[0]) / len(rest) / 2 if len(rest) > 1 else rest[0] / 2
    widened = [max(rest[0] - reach, over), *rest[1:-1], rest[-1] + reach]
    return quantile(widened, chance)


def quantile(samples: Sequence[float], q: float) -> float:
    """Return the value under which this share of the samples lies; they are sorted."""
    place = q * (len(samples) - 1)
    under = int(place)
    above = min(under + 1, len(samples) - 1)
    return samples[under] + (samples[above] - samples[under]) * (place - under)


def _basis(ahead: Ahead, past: Past, guess: float | None) -> str:
    parts = []
    if ahead.awaited:
        parts.append(
            f"{_number(len(past.starts), f'{ahead.shape} worker')} that came before"
            if past.starts
            else f"no {ahead.shape or 'such'} worker has come here yet, so this is a wide guess"
        )
    if ahead.race is not None:
        parts.append(
            f"how much of their limit {_number(len(past.shares), 'job')} used here"
            if len(past.shares) >= ENOUGH
            else "hardly any job has ended here yet, so this is a wide guess"
        )
    if ahead.not_before is not None:
        parts.append("the time it may not start before")
    if not parts:
        parts.append(
            f"how long {_number(len(past.waits), 'job')} waited in this partition"
            if len(past.waits) >= ENOUGH
            else "hardly any job has started here yet, so this is a wide guess"
        )
    if guess is not None and guess > 0:
        parts.append("Slurm's own guess")
    return "From " + "; ".join(parts) if "guess" not in parts[0] else parts[0].capitalize()


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """A guess that was made once, for the record. Times are seconds since 1970."""

    job_id: int
    born: int
    made: int
    low: int
    high: int
    started: int | None = None

    @property
    def inside(self) -> bool:
        return self.started is not None and self.low <= self.started <= self.high


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecasts:
    """The guesses of a cluster, oldest first; the last `KEPT` of them."""

    predictions: tuple[Prediction, ...] = ()

    @property
    def calibration(self) -> Calibration:
        settled = [each for each in self.predictions if each.started is not None]
        return Calibration(predictions=len(settled), inside=sum(each.inside for each in settled))

    @property
    def open_ids(self) -> set[int]:
        return {each.job_id for each in self.predictions if each.started is None}

    def knows(self, job: Job) -> bool:
        return any((each.job_id, each.born) == job.key for each in self.predictions)


FORECASTS: Kind[Forecasts] = Kind("forecasts", Forecasts)
"""By cluster."""


def predicted(forecasts: Forecasts, job: Job, guess: Estimate, now: datetime) -> Forecasts:
    """Put a first guess on record; a second one about the same job is not counted."""
    if forecasts.knows(job):
        return forecasts
    id, born = job.key
    made = Prediction(
        job_id=id,
        born=born,
        made=int(now.timestamp()),
        low=int(guess.low.timestamp()),
        high=int(guess.high.timestamp()),
    )
    return Forecasts(predictions=(*forecasts.predictions, made)[-KEPT:])


def settled(forecasts: Forecasts, jobs: Mapping[int, Job]) -> Forecasts:
    """Compare guesses with what became of their jobs.

    One whose job ended without starting, or that nobody knows any more, was about nothing.
    """
    kept = []
    for each in forecasts.predictions:
        job = jobs.get(each.job_id)
        if each.started is not None:
            kept.append(each)
        elif job is not None and job.key == (each.job_id, each.born):
            if job.started_at is not None and job.nodes:
                kept.append(replace(each, started=int(job.started_at.timestamp())))
            elif not job.state.ended:
                kept.append(each)
    return Forecasts(predictions=tuple(kept))
