"""How many workers of which shape to start for jobs that found no place.

`everything` buys for all of them, in whatever order packs best; where limits do not allow that,
`by_priority` spends what is left on those who come first.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from clusterra.core.scaling.choice import Choice
from clusterra.core.scaling.demand import Need
from clusterra.core.scaling.packing import Gains, Packing, Want, coming, size, sorted_items
from clusterra.core.scaling.rooms import Items, capacity
from clusterra.core.scaling.shapes import Purchase, Shape


class Purse:
    """What the limits still allow."""

    def __init__(self, workers: int, micros: int | None, purchase: Purchase) -> None:
        self.workers = workers
        self.micros = micros
        self.purchase = purchase

    def affords(self, shape: Shape) -> int:
        """Return how many of them. Where spending is limited, none whose price is not known."""
        most = max(self.workers, 0)
        if self.micros is None:
            return most
        price = shape.usd_per_hour(self.purchase)
        if price is None:
            return 0
        return min(most, max(self.micros, 0) // price) if price else most

    def take(self, shape: Shape, number: int) -> bool:
        if number > self.affords(shape):
            return False
        self.workers -= number
        if self.micros is not None:
            self.micros -= number * (shape.usd_per_hour(self.purchase) or 0)
        return True


def everything(
    packing: Packing, wants: Sequence[Want], choices: Mapping[int, Choice], purse: Purse
) -> Counter[str] | None:
    """Buy for all of them; None if the limits do not allow it."""
    bought: Counter[str] = Counter()
    for want in sorted(wants, key=size):
        if want.alone and packing.left[want.index]:
            shape, number = _for_one(packing, want, choices[want.index].shapes)
            if not purse.take(shape, number):
                return None
            packing.add(shape, number)
            packing.place(want)
            bought[shape.name] += number
    gaps = bool(bought)
    for group in _groups([want for want in wants if not want.alone], choices):
        if gaps:
            packing.densely()
        some = _mix(packing, group, choices, purse)
        if some is None:
            return None
        bought += some
        # CPUs beside GPUs are for whoever needs none; a family is bought for by itself.
        gaps = any(want.need.gpus for want in group)
    return bought


def by_priority(
    packing: Packing, wants: Sequence[Want], choices: Mapping[int, Choice], purse: Purse
) -> Counter[str]:
    bought: Counter[str] = Counter()
    for want in wants:
        if bought:
            packing.place(want)
        choice = choices[want.index]
        while packing.left[want.index] and purse.workers > 0:
            shapes = dict.fromkeys((*choice.shapes, *choice.alone))
            shape, number = _most_served(packing, want, list(shapes), purse)
            if not number or not purse.take(shape, number):
                break
            packing.add(shape, number)
            packing.place(want)
            bought[shape.name] += number
    return bought


Capacities = Sequence[tuple[int, int]]
"""How many nodes' worth of a kind of job fit on one, and on how many that is so."""


def room_for(packing: Packing, want: Want) -> Capacities:
    return [
        (number, count)
        for room, count in packing.rooms.items()
        if (number := capacity(want.need, room)) and packing.suits(want, room)
    ]


def workers_for(need: Need, jobs: int, shape: Shape, room: Capacities) -> int:
    """Return how many more of a shape it takes for so many jobs, beside the room there is."""
    there = sum(min(number, jobs) * count for number, count in room)
    on_each = min(capacity(need, coming(shape)), jobs)
    return max(-(-(need.nodes * jobs - there) // on_each), 0)


def _most_served(
    packing: Packing, want: Want, shapes: Sequence[Shape], purse: Purse
) -> tuple[Shape, int]:
    """Return the shape of which as many as can be had serve most jobs, and how many these are."""
    room = room_for(packing, want)
    options = []
    for shape in shapes:
        jobs, number = _within(want.need, packing.left[want.index], shape, room, purse)
        options.append((-jobs, number * packing.market.cost(shape.name), shape.name, shape, number))
    *_, shape, number = min(options)
    return shape, number


def _within(need: Need, jobs: int, shape: Shape, room: Capacities, purse: Purse) -> tuple[int, int]:
    """Return for how many jobs the purse suffices, and how many workers that takes."""
    most, least, beyond = purse.affords(shape), 0, jobs + 1
    while most and beyond - least > 1:
        middle = (least + beyond) // 2
        if workers_for(need, middle, shape, room) <= most:
            least = middle
        else:
            beyond = middle
    return least, workers_for(need, least, shape, room) if least else 0


def _for_one(packing: Packing, want: Want, shapes: Sequence[Shape]) -> tuple[Shape, int]:
    jobs, room = packing.left[want.index], room_for(packing, want)
    numbers = [(shape, workers_for(want.need, jobs, shape, room)) for shape in shapes]
    return min(numbers, key=lambda one: (one[1] * packing.market.cost(one[0].name), one[0].name))


def _groups(wants: Sequence[Want], choices: Mapping[int, Choice]) -> list[list[Want]]:
    """Put together what may share workers, GPUs and large sizes first: others fill their gaps."""
    groups: dict[tuple[object, ...], list[Want]] = {}
    for want in wants:
        shapes = choices[want.index].shapes
        key = (
            -shapes[0].gpus if len(shapes) == 1 else -min(want.need.gpus, 1),
            -shapes[0].cpus if len(shapes) == 1 else 0,
            shapes[0].name if len(shapes) == 1 else f"{shapes[0].arch} {want.need.gpu_model}",
        )
        groups.setdefault(key, []).append(want)
    return [group for _, group in sorted(groups.items())]


def _mix(
    packing: Packing, group: Sequence[Want], choices: Mapping[int, Choice], purse: Purse
) -> Counter[str] | None:
    """Fill one worker after another, each of the shape that gives most for its price.

    A mix that fills CPUs and memory alike is worth more than the worker costs, half a worker less.
    """
    bought: Counter[str] = Counter()
    shapes = {shape.name: shape for want in group for shape in choices[want.index].shapes}
    items = {coming(shape): _items(group, choices, shape) for shape in shapes.values()}
    gains = Gains(packing, items)
    while best := gains.best():
        room, chosen = best
        shape = shapes[room.shape]
        number = packing.repeats(chosen, max(purse.affords(shape), 1))
        if not purse.take(shape, number):
            return None
        packing.add(shape, number)
        packing.apply(room, chosen, number)
        bought[shape.name] += number
    return bought


def _items(group: Sequence[Want], choices: Mapping[int, Choice], shape: Shape) -> Items:
    some = [want for want in group if shape in choices[want.index].shapes]
    return sorted_items([want.item for want in sorted(some, key=size)], shape, coming(shape))
