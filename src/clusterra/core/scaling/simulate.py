"""What a policy would have cost, and how long jobs would have waited: a queue on a virtual clock.

The planner is the real one. What is simple here is the world around it: a worker comes a
fixed time after it was asked for and never fails, Slurm places jobs first come first
served, and a worker is paid for by the second from when it was asked for until it is gone.
The same arguments give the same outcome, to the millionth of a dollar.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from heapq import heappop, heappush

from clusterra.core.scaling.demand import Need
from clusterra.core.scaling.fleet import Phase, Worker
from clusterra.core.scaling.plan import Plan, plan
from clusterra.core.scaling.policy import Policy
from clusterra.core.scaling.shapes import Shape
from clusterra.core.scaling.yard import Arrival, Pretended, Queue, Started

BOOT_SECONDS = 60
"""From asking a cloud for a worker until Slurm uses it."""

EVERY_SECONDS = 20
"""How often the fleet is planned if nobody wakes the planner."""

PATIENCE = 6 * 3600
"""Seconds in which nothing starts or runs, after which what still waits is given up."""

_BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """In seconds, over the jobs that ran."""

    mean: float = 0
    p50: int = 0
    p95: int = 0
    longest: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    jobs: int
    never_ran: int
    cost_micros: int | None
    """Millionths of a dollar; None if a worker without a known price was used."""

    waits: Waits
    busy_seconds: int
    """Of all workers together, with at least one job; so are the next two."""

    idle_seconds: int
    warming_seconds: int
    peak_workers: int
    started_workers: int
    seconds: int
    """From the beginning until the last worker was gone."""

    plans: int
    """How often the fleet was planned."""


def simulate(
    arrivals: Sequence[Arrival],
    policy: Policy,
    shapes: Mapping[str, Shape],
    *,
    boot_seconds: int = BOOT_SECONDS,
    boots: Mapping[str, int] | None = None,
) -> Outcome:
    """Run a queue through a policy. `boots` says which shapes take another time to come."""
    run = _Run(
        policy=policy,
        shapes=shapes,
        boot_seconds=boot_seconds,
        boots=boots or {},
        queue=Queue(shapes=shapes),
        coming=sorted(enumerate(arrivals), key=lambda each: (each[1].at, each[0]), reverse=True),
    )
    while (moment := run.next_moment()) is not None:
        run.advance(moment)
    return run.outcome(len(arrivals))


@dataclass(slots=True, kw_only=True)
class _Run:
    policy: Policy
    shapes: Mapping[str, Shape]
    boot_seconds: int
    boots: Mapping[str, int]
    coming: list[tuple[int, Arrival]]
    """The last one comes first."""

    queue: Queue
    workers: dict[str, Pretended] = field(default_factory=dict)
    """By name, the oldest first."""

    now: int = 0
    stirred: int = 0
    """When something last came, started or ended."""

    plan_at: int | None = 0
    """When the fleet is planned next; None until something happens."""

    next_at: datetime | None = None
    ends: list[tuple[int, int, Started]] = field(default_factory=list)
    wakes: list[tuple[int, int, Pretended]] = field(default_factory=list)
    numbers: int = 0
    plans: int = 0
    peak: int = 0
    paid: int = 0
    """In millionths of a dollar times seconds of an hour, so that nothing is rounded early."""

    unpriced: bool = False
    spent: Counter[str] = field(default_factory=Counter)
    """Seconds of workers that are gone: busy, warming, idle."""

    waits: list[int] = field(default_factory=list)

    def next_moment(self) -> int | None:
        known = [self.ends[0][0]] if self.ends else []
        known += [self.wakes[0][0]] if self.wakes else []
        known += [self.coming[-1][1].at] if self.coming else []
        known += [self.plan_at] if self.plan_at is not None else []
        if not known or (not self.ends and not self.coming and self._hopeless(min(known))):
            return None
        return max(self.now, min(known))

    def _hopeless(self, moment: int) -> bool:
        longest = max((self.boot_seconds, *self.boots.values()))
        return moment - self.stirred > PATIENCE + 2 * (self.policy.idle_seconds + longest)

    def advance(self, moment: int) -> None:
        self.now = moment
        changed = [*self._end(), *self._wake()]
        fresh = self._arrive()
        if changed or fresh:
            ready = [worker for worker in self.workers.values() if worker.phase is Phase.READY]
            # A dict and not a set: it keeps the order, and so the outcome.
            for started in self.queue.start(ready, dict.fromkeys(changed), fresh, moment):
                self._started(started)
            self.stirred = moment
            self._plan_by(moment + -moment % EVERY_SECONDS)
        if any(need in self.queue.lines for need in fresh) or moment == self.plan_at:
            self._round()

    def _end(self) -> list[Pretended]:
        free = []
        while self.ends and self.ends[0][0] <= self.now:
            _, _, ended = heappop(self.ends)
            for worker, part in zip(ended.on, ended.parts, strict=True):
                worker.give_back(part, self.now)
                free.append(worker)
        return free

    def _wake(self) -> list[Pretended]:
        awake = []
        while self.wakes and self.wakes[0][0] <= self.now:
            _, _, worker = heappop(self.wakes)
            worker.phase, worker.ready_at, worker.idle_since = Phase.READY, self.now, self.now
            awake.append(worker)
        return awake

    def _arrive(self) -> set[Need]:
        came = set()
        while self.coming and self.coming[-1][1].at <= self.now:
            number, job = self.coming.pop()
            came.add(self.queue.add(number, job))
        return came

    def _started(self, started: Started) -> None:
        self.waits.append(self.now - started.job.at)
        self.numbers += 1
        heappush(self.ends, (self.now + max(started.job.seconds, 1), self.numbers, started))

    def _plan_by(self, moment: int) -> None:
        self.plan_at = moment if self.plan_at is None else min(self.plan_at, moment)

    def _round(self) -> None:
        if self._nothing_to_decide():
            self.plan_at = None
        else:
            self._plan()

    def _nothing_to_decide(self) -> bool:
        """Say whether any plan would leave all as it is: no worker can go, and none is to come.

        In a busy hour at the limit that is most rounds, and planning is most of the work.
        """
        if any(not each.jobs and each.phase is not Phase.WARMING for each in self.workers.values()):
            return False
        full = len(self.workers) >= self.policy.max_workers
        return full or (not self.queue.lines and not self.policy.minimum)

    def _plan(self) -> None:
        self.plans += 1
        seen = [self._as_seen(each) for each in self.workers.values()]
        decided = plan(self.queue.demand(), seen, self.policy, self.shapes, {}, self._clock())
        self._apply(decided)
        self.plan_at = None
        if decided.leave:
            self._plan_by(self.now + 1)  # what was drained is counted out when it is seen to be
        elif decided.next_at is not None:
            due = -((_BEGINNING - decided.next_at) // timedelta(seconds=1))
            # A moment that has passed and changed nothing will not change anything.
            if due > self.now:
                self._plan_by(due + -due % EVERY_SECONDS)

    def _clock(self) -> datetime:
        return _BEGINNING + timedelta(seconds=self.now)

    def _as_seen(self, each: Pretended) -> Worker:
        since = each.asked_at if each.phase is Phase.WARMING else each.idle_since
        takes = each.phase is not Phase.LEAVING
        return Worker(
            shape=each.shape.name,
            phase=each.phase,
            name=each.name,
            since=_BEGINNING + timedelta(seconds=since),
            busy=each.jobs > 0,
            cpus=each.cpus if takes else 0,
            memory_mib=each.memory_mib if takes else 0,
            gpus=each.gpus if takes else 0,
        )

    def _apply(self, decided: Plan) -> None:
        # Those that were drained before are counted out already: what is wanted, is beside them.
        for worker in [each for each in self.workers.values() if each.phase is Phase.LEAVING]:
            self._gone(self.workers.pop(worker.name))
        there = Counter(each.shape.name for each in self.workers.values())
        for shape, number in decided.desired.items():
            for _ in range(number - there[shape]):
                self._ask_for(self.shapes[shape])
        for name in decided.leave:
            self.workers[name].phase = Phase.LEAVING
        self.peak = max(self.peak, len(self.workers))

    def _ask_for(self, shape: Shape) -> None:
        self.numbers += 1
        name = f"{shape.name}-{self.numbers}"
        worker = Pretended(name=name, shape=shape, asked_at=self.now)
        self.workers[name] = worker
        boot = self.boots.get(shape.name, self.boot_seconds)
        heappush(self.wakes, (self.now + boot, self.numbers, worker))

    def _gone(self, worker: Pretended) -> None:
        price = worker.shape.usd_per_hour(self.policy.purchase)
        self.unpriced |= price is None
        self.paid += (price or 0) * (self.now - worker.asked_at)
        ready = self.now if worker.phase is Phase.WARMING else worker.ready_at
        self.spent["warming"] += ready - worker.asked_at
        self.spent["busy"] += worker.busy_seconds
        self.spent["idle"] += self.now - ready - worker.busy_seconds
        self.spent["workers"] += 1

    def outcome(self, jobs: int) -> Outcome:
        for worker in self.workers.values():  # those that are always kept
            self._gone(worker)
        return Outcome(
            jobs=jobs,
            never_ran=len(self.queue),
            cost_micros=None if self.unpriced else round_half_up(self.paid, 3600),
            waits=_waits(sorted(self.waits)),
            busy_seconds=self.spent["busy"],
            idle_seconds=self.spent["idle"],
            warming_seconds=self.spent["warming"],
            peak_workers=self.peak,
            started_workers=self.spent["workers"],
            seconds=self.now,
            plans=self.plans,
        )


def round_half_up(number: int, divisor: int) -> int:
    return (2 * number + divisor) // (2 * divisor)


def _waits(ordered: Sequence[int]) -> Waits:
    if not ordered:
        return Waits()
    last = len(ordered) - 1
    return Waits(
        mean=round(sum(ordered) / len(ordered), 1),
        p50=ordered[last * 50 // 100],
        p95=ordered[-(-last * 95 // 100)],
        longest=ordered[-1],
    )
