"""Who of those who wait would get a place on workers that are there or coming.

Two answers. `densely` is for whether they suffice: it takes large jobs first and mixes them well.
`by_priority` is for who comes first where they do not: it takes the lines as Slurm would.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

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
from clusterra.core.scaling.shapes import Purchase, Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Want:
    """A line as it is planned: its need cut to nodes that exist."""

    index: int
    need: Need
    count: int
    suits: frozenset[str]
    """Shapes of the right kind, of whatever size."""

    home: str = ""
    """Where it goes if it can: a family and an architecture, or only that."""

    worth: float = 0.0
    """What it would cost by its share of the shape that suits it best, where price decides."""

    @property
    def alone(self) -> bool:
        """It is placed by itself: several nodes at once, or a node that is not shared."""
        return self.need.nodes > 1 or self.need.exclusive

    @property
    def item(self) -> Item:
        need = self.need
        return Item(need.cpus, need.memory_mib, need.gpus, self.index)


def suiting(need: Need, shapes: Mapping[str, Shape]) -> frozenset[str]:
    suits = frozenset(name for name, shape in shapes.items() if matches(need, shape))
    if not need.features and not need.gpu_model:
        # A worker of a shape that is in the table no more; its size is known all the same.
        suits |= {""}
    return suits


class Market:
    """What workers there can be, and what decides between them."""

    def __init__(self, shapes: Mapping[str, Shape], purchase: Purchase, *, by_price: bool) -> None:
        self.shapes = shapes
        self.purchase = purchase
        self.by_price = by_price

    def home(self, shape: Shape) -> str:
        return shape.arch if self.by_price else f"{shape.family} {shape.arch}"

    def cost(self, name: str) -> int:
        """Return its price or, where that is not known, a guess somewhat above what EC2 asks."""
        shape = self.shapes.get(name)
        if shape is None:
            return 1
        known = shape.usd_per_hour(self.purchase)
        if known is not None:
            return max(known, 1)
        return 40_000 * shape.vcpus + 4_000 * shape.memory_gib + 500_000 * shape.gpus

    def worth(self, need: Need, shapes: Iterable[Shape]) -> float:
        return min(
            self.cost(shape.name)
            * max(
                need.cpus / shape.cpus,
                need.memory_mib / max(shape.memory_mib, 1),
                need.gpus / max(shape.gpus, 1),
            )
            for shape in shapes
        )


class Whose(Enum):
    """Jobs whose turn it is to be placed."""

    GPUS = "those that need GPUs"
    HOME = "those that need none, on workers of their own family"
    ANY = "those that need none"

    def turn(self, want: Want, home: str) -> bool:
        if self is Whose.GPUS or want.need.gpus:
            return self is Whose.GPUS and want.need.gpus > 0
        return self is Whose.ANY or want.home == home


TURNS = (
    (Whose.GPUS, False),
    (Whose.GPUS, True),
    (Whose.HOME, False),
    (Whose.ANY, False),
    (Whose.HOME, True),
    (Whose.ANY, True),
)
"""Who is placed, and whether on workers that are still coming. On those each goes to its own family
first: so they were bought, and so all find a place again."""


def size(want: Want) -> tuple[float, ...]:
    """Sort the largest first, then who has less choice. 4 GiB are about as dear as a CPU."""
    need = want.need
    return -need.gpus, -need.cpus - need.memory_mib / 4096, -need.cpus, len(want.suits), want.index


class Packing:
    """Jobs being put onto workers; `left` says how many of each line have no place yet."""

    def __init__(self, wants: Sequence[Want], rooms: Rooms, market: Market) -> None:
        self.wants = wants
        self.market = market
        self.shapes = market.shapes
        self.rooms = dict(rooms)
        self.left = [want.count for want in wants]
        self.taken: list[list[Taken]] = [[] for _ in wants]
        shared = [want for want in wants if not want.alone]
        self._items = [want.item for want in sorted(shared, key=size)]
        self._by_shape: dict[tuple[str, Whose], Items] = {}

    def by_priority(self) -> None:
        for want in self.wants:
            self.place(want)

    def densely(self) -> None:
        """Jobs that stand alone first; then GPUs to those who need them, and the rest."""
        for want in sorted(self.wants, key=size):
            if want.alone:
                self.place(want)
        for whose, coming in TURNS:
            self._fill(whose, coming=coming)

    def place(self, want: Want) -> None:
        jobs = self.left[want.index]
        if not jobs or not self.rooms:
            return
        placed, taken = place(want.need, jobs, self.rooms, lambda room: self.suits(want, room))
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

    def _fill(self, whose: Whose, *, coming: bool) -> None:
        rooms = [
            room for room in in_order(self.rooms) if (room.standing is Standing.COMING) is coming
        ]
        if coming and self.market.by_price:
            # In the order in which they were bought, so that all find a place again.
            gains = Gains(self, {room: self._for(room, whose) for room in rooms if room.fresh})
            while best := gains.best():
                room, chosen = best
                self.apply(room, chosen, self.repeats(chosen, self.rooms[room]))
                if room not in self.rooms:
                    gains.exhausted(room)
        for room in rooms:
            items = self._for(room, whose).still(self.left)
            while self.rooms.get(room) and (chosen := pattern(room, items, self.left)):
                self.apply(room, chosen, self.repeats(chosen, self.rooms[room]))
                # It has used up a kind: without those that are gone the next is found sooner.
                items = items.still(self.left)

    def _for(self, room: Room, whose: Whose) -> Items:
        key = (room.shape, whose)
        if key not in self._by_shape:
            shape = self.shapes.get(room.shape)
            home = self.market.home(shape) if shape else ""
            some = [
                item
                for item in self._items
                if whose.turn(self.wants[item.line], home)
                and self.suits(self.wants[item.line], room)
            ]
            self._by_shape[key] = sorted_items(some, shape, room)
        return self._by_shape[key]

    def suits(self, want: Want, room: Room) -> bool:
        return (room.shape if room.shape in self.shapes else "") in want.suits


class Gains:
    """Which worker to fill next: the one whose mix is worth most for its price."""

    def __init__(self, packing: Packing, options: Mapping[Room, Items]) -> None:
        self.packing = packing
        self.options = dict(sorted(options.items()))
        self._mixes: dict[Room, tuple[float, dict[int, int]]] = {}
        self._tries = 0

    def best(self) -> tuple[Room, dict[int, int]] | None:
        left = self.packing.left
        for room in list(self.options):
            _, mix = self._mixes.get(room, (0.0, {}))
            # Jobs only become fewer: as long as there are enough for it, the mix stays the same.
            if not mix or any(left[line] < number for line, number in mix.items()):
                self._mix(room)
        self._tries += 1
        if not self._mixes:
            return None
        # Of two that give as much, one large worker rather than two small ones.
        room = max(self.options, key=lambda each: (self._mixes[each][0], each.cpus, each))
        return room, self._mixes[room][1]

    def exhausted(self, room: Room) -> None:
        """Say that there are no more of it."""
        del self.options[room], self._mixes[room]

    def _mix(self, room: Room) -> None:
        wants, left = self.packing.wants, self.packing.left
        items = self.options[room]
        if self._tries % 4 == 3:
            items = self.options[room] = items.still(left)
        mix = pattern(room, items, left)
        if mix:
            worth = sum(wants[line].worth * number for line, number in mix.items())
            gain = worth / self.packing.market.cost(room.shape)
            self._mixes[room] = round(gain, 9), mix
        else:
            del self.options[room]
            self._mixes.pop(room, None)


def sorted_items(items: Iterable[Item], shape: Shape | None, room: Room) -> Items:
    cpus, memory = (shape.cpus, shape.memory_mib) if shape else (room.cpus, room.memory_mib)
    thin: list[Item] = []
    fat: list[Item] = []
    for item in items:
        (fat if item.memory_mib * cpus > item.cpus * memory else thin).append(item)
    return Items(thin, fat, cpus, memory)


def coming(shape: Shape) -> Room:
    return Room(Standing.COMING, shape.name, shape.cpus, shape.memory_mib, shape.gpus)
