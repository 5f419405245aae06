"""Who of those who wait would get a place on workers that are there or coming.

Two answers. `densely` is for whether they suffice: it takes large jobs first and mixes them well.
`by_priority` is for who comes first where they do not: it takes the lines as Slurm would.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from clusterra.core.scaling.demand import Need
from clusterra.core.scaling.rooms import (
    Item,
    Items,
    Room,
    Rooms,
    Standing,
    Taken,
    in_order,
    move,
    pattern,
    place,
)
from clusterra.core.scaling.serves import matches
from clusterra.core.scaling.shapes import Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Want:
    """A line as it is planned: its need cut to nodes that exist."""

    index: int
    need: Need
    count: int
    suits: frozenset[str]
    """Shapes of the right kind, of whatever size."""

    @property
    def alone(self) -> bool:
        """It is placed by itself: several nodes at once, or a node that is not shared."""
        return self.need.nodes > 1 or self.need.exclusive

    @property
    def item(self) -> Item:
        need = self.need
        return Item(need.cpus, need.memory_mib, need.gpus, self.index)


def want(index: int, need: Need, count: int, shapes: Mapping[str, Shape]) -> Want:
    suits = frozenset(name for name, shape in shapes.items() if matches(need, shape))
    if not need.features and not need.gpu_model:
        # A worker of a shape that is in the table no more; its size is known all the same.
        suits |= {""}
    return Want(index=index, need=need, count=count, suits=suits)


def size(item: Item) -> tuple[float, ...]:
    """Sort the largest first. 4 GiB are about as dear as a CPU."""
    return -item.gpus, -item.cpus - item.memory_mib / 4096, -item.cpus, item.index


class Packing:
    """Jobs being put onto workers; `left` says how many of each line have no place yet."""

    def __init__(self, wants: Sequence[Want], rooms: Rooms, shapes: Mapping[str, Shape]) -> None:
        self.wants = wants
        self.shapes = shapes
        self.rooms = dict(rooms)
        self.left = [want.count for want in wants]
        self.taken: list[list[Taken]] = [[] for _ in wants]
        shared = [want for want in wants if not want.alone]
        self._items = sorted((want.item for want in shared), key=size)
        self._by_shape: dict[tuple[str, bool], Items] = {}

    def by_priority(self) -> None:
        for want in self.wants:
            self.place(want)

    def densely(self) -> None:
        """Jobs that stand alone first; then GPUs to those who need them, and the rest."""
        for want in sorted(self.wants, key=lambda want: size(want.item)):
            if want.alone:
                self.place(want)
        self._fill(lambda room: room.gpus > 0, gpus=True)
        self._fill(lambda room: not room.gpus, gpus=False)
        self._fill(lambda room: room.gpus > 0, gpus=False)

    def place(self, want: Want) -> None:
        jobs = self.left[want.index]
        if not jobs or not self.rooms:
            return
        placed, taken = place(want.need, jobs, self.rooms, self._suits(want))
        self.left[want.index] -= placed
        self.taken[want.index] += taken

    def add(self, shape: Shape, workers: int) -> None:
        """Let so many more come."""
        if workers:
            room = coming(shape)
            self.rooms[room] = self.rooms.get(room, 0) + workers

    def apply(self, room: Room, chosen: Mapping[int, int], workers: int) -> None:
        """Put the same mix onto several workers that are alike."""
        rest = room
        for index, number in chosen.items():
            need = self.wants[index].need
            rest = rest._replace(
                cpus=rest.cpus - number * need.cpus,
                memory_mib=rest.memory_mib - number * need.memory_mib,
                gpus=rest.gpus - number * need.gpus,
                empty=False,
                fresh=False,
            )
            self.left[index] -= number * workers
            self.taken[index].append(Taken(room, number * workers, workers))
        move(self.rooms, room, rest, workers)

    def repeats(self, chosen: Mapping[int, int], most: int) -> int:
        """Return how often a mix can be used before one of its kinds runs out."""
        return min(most, *(self.left[index] // number for index, number in chosen.items()))

    def _fill(self, where: Callable[[Room], bool], *, gpus: bool) -> None:
        for room in list(in_order(self.rooms)):
            if not where(room):
                continue
            items = self._for(room, gpus=gpus)
            while self.rooms.get(room) and (chosen := pattern(room, items, self.left)):
                self.apply(room, chosen, self.repeats(chosen, self.rooms[room]))

    def _for(self, room: Room, *, gpus: bool) -> Items:
        known = room.shape if room.shape in self.shapes else ""
        key = (known, gpus)
        if key not in self._by_shape:
            wants = self.wants
            some = [
                item
                for item in self._items
                if bool(item.gpus) is gpus and known in wants[item.index].suits
            ]
            self._by_shape[key] = sorted_items(some, self.shapes.get(known), room)
        return self._by_shape[key]

    def _suits(self, want: Want) -> Callable[[str], bool]:
        shapes, suits = self.shapes, want.suits
        return lambda shape: (shape if shape in shapes else "") in suits


def sorted_items(items: Iterable[Item], shape: Shape | None, room: Room) -> Items:
    cpus, memory = (shape.cpus, shape.memory_mib) if shape else (room.cpus, room.memory_mib)
    thin, fat = [], []
    for item in items:
        (fat if item.memory_mib * cpus > item.cpus * memory else thin).append(item)
    return Items(thin, fat, cpus, memory)


def coming(shape: Shape) -> Room:
    return Room(Standing.COMING, shape.name, shape.cpus, shape.memory_mib, shape.gpus)
