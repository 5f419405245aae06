"""From what waits and what there is to what is wanted, with a reason for everything.

Pure: the same arguments give the same plan, in whatever order they come, and planning
again without news changes nothing: it ends when all who wait have a place on what is there or
coming, or nothing more may be bought, and begins with asking just that.

Which shape is right is in `choice.py`, how many in `buying.py`, who fits where in `packing.py`,
who may go in `leaving.py`, what those wait for who wait in `waits.py`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

from clusterra.core.scaling import buying, sentences
from clusterra.core.scaling.buying import Purse
from clusterra.core.scaling.choice import Choice, Chooser
from clusterra.core.scaling.demand import Demand, Need
from clusterra.core.scaling.fleet import Phase, Shortage, Worker
from clusterra.core.scaling.leaving import idle_for_good, is_idle
from clusterra.core.scaling.outcome import Cause as Cause
from clusterra.core.scaling.outcome import Plan as Plan
from clusterra.core.scaling.outcome import Resize as Resize
from clusterra.core.scaling.outcome import Wait as Wait
from clusterra.core.scaling.packing import Packing, Want, coming
from clusterra.core.scaling.policy import Policy
from clusterra.core.scaling.rooms import Room, Rooms, Standing
from clusterra.core.scaling.serves import settled
from clusterra.core.scaling.shapes import Shape
from clusterra.core.scaling.waits import Waits


def plan(
    demand: Demand,
    workers: Sequence[Worker],
    policy: Policy,
    shapes: Mapping[str, Shape],
    shortages: Mapping[str, Shortage],
    now: datetime,
) -> Plan:
    """Decide what the fleet should be; `shortages` are the shapes that did not come lately."""
    chooser = Chooser(policy, shapes, shortages, now)
    needs = [settled(line.need, shapes.values()) for line in demand.lines]
    wants = [
        chooser.want(index, need, line.count)
        for index, (need, line) in enumerate(zip(needs, demand.lines, strict=True))
    ]
    growth = _Growth(wants, workers, chooser)
    growth.keep_minimum()
    packing = growth.serve()

    leave, soon = idle_for_good(workers, packing.rooms, policy, now)
    waits = Waits(wants, packing, chooser, growth.purse(), growth.desired().keys())
    times = [soon, *(shortage.until for shortage in chooser.short.values())]
    return Plan(
        desired=dict(sorted(growth.desired().items())),
        leave=leave,
        changes=growth.changes(packing),
        waits=waits.by_job(demand.lines),
        next_at=min((time for time in times if time is not None), default=None),
    )


class _Growth:
    """Workers being added until those who wait have a place."""

    def __init__(self, wants: Sequence[Want], workers: Sequence[Worker], chooser: Chooser) -> None:
        self.wants = wants
        self.workers = workers
        self.chooser = chooser
        self.policy = chooser.policy
        self.shapes = chooser.shapes
        self.rooms = rooms_of(workers)
        self.bought: Counter[str] = Counter()
        self.refused: dict[str, list[str]] = {}
        # Drained and idle ones go now; those that still run something are paid for until then.
        self.kept = Counter(
            worker.shape for worker in workers if worker.phase is not Phase.LEAVING or worker.busy
        )

    def desired(self) -> Counter[str]:
        return self.kept + self.bought

    def purse(self) -> Purse:
        """Return what the limits allow beside all that is there or bought."""
        desired, limit = self.desired(), self.policy.max_usd_per_hour
        purchase = self.policy.purchase
        if limit is not None:
            limit -= sum(
                number * (self.shapes[name].usd_per_hour(purchase) or 0)
                for name, number in desired.items()
                if name in self.shapes
            )
        return Purse(self.policy.max_workers - desired.total(), limit, purchase)

    def keep_minimum(self) -> None:
        usable = Counter(
            worker.shape for worker in self.workers if worker.phase in (Phase.READY, Phase.WARMING)
        )
        for name, number in sorted(self.policy.minimum.items()):
            shape = self.shapes.get(name)
            if shape is not None and name not in self.chooser.short:
                missing = min(number - usable[name], self.purse().affords(shape))
                self._buy(Counter({name: max(missing, 0)}))

    def serve(self) -> Packing:
        """Buy until all have a place or nothing more may be bought; return who is where."""
        while True:
            packing = self._packing()
            packing.densely()
            wants, choices = self._open(packing)
            if not wants:
                return packing
            some = buying.everything(packing, wants, choices, self.purse())
            if some is None:
                packing = self._packing()
                packing.by_priority()
                wants, choices = self._open(packing)
                some = buying.by_priority(packing, wants, choices, self.purse())
            if not some:
                return packing
            self._buy(some)
            self._remember(some, choices)

    def changes(self, packing: Packing) -> tuple[Resize, ...]:
        before = Counter(worker.shape for worker in self.workers)
        after = self.desired()
        return tuple(
            Resize(
                shape=name,
                before=before[name],
                after=after[name],
                reason=self._reason(name, before[name] - self.kept[name], packing),
                refused=tuple(dict.fromkeys(self.refused.get(name, ()))),
            )
            for name in sorted(before.keys() | after.keys())
            if before[name] != after[name]
        )

    def _packing(self) -> Packing:
        return Packing(self.wants, self.rooms, self.chooser.market)

    def _open(self, packing: Packing) -> tuple[list[Want], dict[int, Choice]]:
        """Return who is without a place and could be bought one."""
        choices = self.chooser.choose([want for want in self.wants if packing.left[want.index]])
        return [self.wants[index] for index, each in choices.items() if each.shapes], choices

    def _buy(self, some: Counter[str]) -> None:
        for name, number in some.items():
            if number:
                room = coming(self.shapes[name])
                self.rooms[room] = self.rooms.get(room, 0) + number
                self.bought[name] += number

    def _remember(self, some: Counter[str], choices: Mapping[int, Choice]) -> None:
        for choice in choices.values():
            for shape in choice.shapes:
                if some[shape.name]:
                    self.refused.setdefault(shape.name, []).extend(choice.refused)

    def _reason(self, name: str, gone: int, packing: Packing) -> str:
        reasons = []
        if self.bought[name]:
            jobs, biggest = _served_by(name, packing)
            if jobs:
                reasons.append(sentences.grown(jobs, biggest))
            if not jobs or self.policy.minimum.get(name):
                reasons.append(sentences.minimum(self.policy.minimum.get(name, 0)))
        if gone:
            reasons.append(sentences.shrunk(gone))
        return "; ".join(reasons)


def rooms_of(workers: Sequence[Worker]) -> Rooms:
    rooms: Rooms = {}
    for worker in workers:
        if worker.phase is Phase.WARMING:
            standing = Standing.COMING
        elif worker.phase is Phase.READY:
            standing = Standing.IDLE if is_idle(worker) else Standing.BUSY
        else:
            continue
        room = Room(standing, worker.shape, worker.cpus, worker.memory_mib, worker.gpus)
        if worker.busy:
            room = room._replace(empty=False)
        if worker.cpus > 0:
            rooms[room] = rooms.get(room, 0) + 1
    return rooms


def _served_by(name: str, packing: Packing) -> tuple[int, Need]:
    """Return how many jobs are to start on workers of a shape that come, and the largest need."""
    jobs, biggest = 0, Need()
    for each, taken in zip(packing.wants, packing.taken, strict=True):
        parts = sum(
            some.parts
            for some in taken
            if some.room.shape == name and some.room.standing is Standing.COMING
        )
        if parts:
            jobs += -(-parts // each.need.nodes)
            biggest = max(
                biggest, each.need, key=lambda need: (need.gpus, need.cpus, need.memory_mib)
            )
    return jobs, biggest
