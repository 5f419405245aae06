"""What each waiting job waits for, as far as the fleet is concerned."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import repeat

from clusterra.core.scaling import sentences
from clusterra.core.scaling.buying import Purse, room_for, workers_for
from clusterra.core.scaling.choice import Chooser
from clusterra.core.scaling.demand import Line
from clusterra.core.scaling.outcome import Cause, Wait
from clusterra.core.scaling.packing import Packing, Want
from clusterra.core.scaling.rooms import Standing
from clusterra.core.scaling.serves import holds, nearest, right_kinds
from clusterra.core.words import listed


class Waits:
    def __init__(
        self,
        wants: Sequence[Want],
        packing: Packing,
        chooser: Chooser,
        purse: Purse,
        present: Collection[str],
    ) -> None:
        self.wants = wants
        self.packing = packing
        self.chooser = chooser
        self.purse = purse
        self.present = frozenset(present)

    def by_job(self, lines: Sequence[Line]) -> Mapping[int, Wait]:
        waits: dict[int, Wait] = {}
        for want, line in zip(self.wants, lines, strict=True):
            waits.update(_dealt(line, self._segments(want)))
        return waits

    def _segments(self, want: Want) -> list[tuple[int, Wait]]:
        """Return how many of a line's jobs wait for what, the first in line first."""
        need, left = want.need, self.packing.left[want.index]
        placed = want.count - left
        workers: dict[str, int] = {}
        here = 0
        for taken in self.packing.taken[want.index]:
            if taken.room.standing is Standing.COMING:
                workers[taken.room.shape] = workers.get(taken.room.shape, 0) + taken.workers
            else:
                here += taken.parts
        now = min(here // need.nodes, placed) if workers else placed
        segments = []
        if now:
            segments.append((now, Wait(cause=Cause.ROOM, sentence=sentences.room(now, need))))
        if placed > now:
            shape = max(sorted(workers), key=lambda name: workers[name])
            sentence = f"{sentences.jobs_need(placed - now, need)}; {sentences.starting(workers)}"
            wait = Wait(cause=Cause.WARMING, shape=shape, workers=workers[shape], sentence=sentence)
            segments.append((placed - now, wait))
        if left:
            segments.append((left, self._blocked(want, left)))
        return segments

    def _blocked(self, want: Want, left: int) -> Wait:
        need, policy = want.need, self.chooser.policy
        choice = self.chooser.choose([want])[want.index]
        if not choice.shapes and choice.short:
            until = min(self.chooser.short[name].until for name in choice.short)
            sentence = sentences.scarce(left, need, choice.short, until)
            return Wait(cause=Cause.SHORTAGE, shape=choice.short[0], sentence=sentence)
        if not choice.shapes:
            return self._never(want, left)
        shape = choice.shapes[0]
        room = room_for(self.packing, want)
        workers = workers_for(want.need, left, shape, room)
        one = workers_for(want.need, 1, shape, room)
        if one > self.purse.workers or policy.max_usd_per_hour is None:
            cause = Cause.MAX_WORKERS
            sentence = sentences.at_most_workers(left, need, policy.max_workers)
        else:
            cause = Cause.MAX_SPEND
            price = shape.usd_per_hour(policy.purchase)
            limit = policy.max_usd_per_hour
            sentence = sentences.at_most_spend(left, need, limit, shape, price)
        return Wait(cause=cause, shape=shape.name, workers=workers, sentence=sentence)

    def _never(self, want: Want, left: int) -> Wait:
        need, shapes = want.need, self.chooser.shapes
        for name in sorted(self.present & want.suits):
            if holds(need, shapes[name]):
                sentence = sentences.taken_up(left, need, name)
                return Wait(cause=Cause.ROOM, shape=name, sentence=sentence)
        near = nearest(need, shapes)
        return Wait(
            cause=Cause.NEVER,
            shape=near.name if near else "",
            sentence=sentences.never(left, need, near, why=self._why_never(want)),
        )

    def _why_never(self, want: Want) -> str:
        need, shapes = want.need, self.chooser.shapes
        kinds = right_kinds(need, shapes.values())
        if need.gpu_model and all(shape.gpu_model != need.gpu_model for shape in shapes.values()):
            return f"there is no shape with {need.gpu_model} GPUs"
        if need.gpus and not any(shape.gpus for shape in shapes.values()):
            return "there is no shape with GPUs"
        if not kinds:
            return f"no shape satisfies the constraint {need.features!r}"
        allowed = self.chooser.policy.architectures
        if any(holds(need, shape) for shape in kinds):
            return f"it would take another architecture than {listed(allowed)}"
        return "no shape can hold that"


def _dealt(line: Line, segments: Sequence[tuple[int, Wait]]) -> Iterator[tuple[int, Wait]]:
    """Deal the segments out to the line's entries; an array is told what most of it waits for."""
    if len(segments) == 1:
        yield from zip((id for id, _ in line.jobs), repeat(segments[0][1]), strict=False)
        return
    rest = iter(segments)
    there, wait = next(rest)
    for id, number in line.jobs:
        most, told, missing = 0, wait, number
        while missing > there:
            if there > most:
                most, told = there, wait
            missing -= there
            there, wait = next(rest)
        yield id, wait if missing > most else told
        there -= missing
