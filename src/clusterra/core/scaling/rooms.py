"""Free room on workers, counted by likeness, and how jobs take it up.

Workers with as much free are one entry with a count, so that a thousand fresh workers take no
longer than one. Two ways to fill them: `place` puts jobs of one kind wherever they fit, as
Slurm does with the job at the head of its queue; `pattern` fills one worker with a mix that
leaves little over, which is what buying goes by.
"""

from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple

from clusterra.core.scaling.demand import Need


class Standing(IntEnum):
    """In the order in which room is taken."""

    BUSY = 0
    """Ready, and has work already."""

    IDLE = 1
    COMING = 2
    """Warming, or about to be asked for."""


class Room(NamedTuple):
    standing: Standing
    shape: str
    cpus: int
    memory_mib: int
    gpus: int
    empty: bool = True
    """Nobody is on it: a job that shares with nobody may have it."""

    fresh: bool = True
    """As it was before anything was planned onto it."""


Rooms = dict[Room, int]
"""How many there are of each."""


class Taken(NamedTuple):
    """Jobs of one kind on workers that were alike."""

    room: Room
    parts: int
    """Nodes' worth of jobs."""

    workers: int


def capacity(need: Need, room: Room) -> int:
    """Return how many nodes' worth of such jobs fit on it, by size alone."""
    if need.cpus > room.cpus or need.memory_mib > room.memory_mib or need.gpus > room.gpus:
        return 0
    if need.exclusive:
        return int(room.empty)
    number = room.cpus // need.cpus
    if need.memory_mib:
        number = min(number, room.memory_mib // need.memory_mib)
    if need.gpus:
        number = min(number, room.gpus // need.gpus)
    return number


def after(room: Room, need: Need, parts: int) -> Room:
    """Return what is left of it with so many on it."""
    if need.exclusive:
        return room._replace(cpus=0, memory_mib=0, gpus=0, empty=False, fresh=False)
    return room._replace(
        cpus=room.cpus - parts * need.cpus,
        memory_mib=room.memory_mib - parts * need.memory_mib,
        gpus=room.gpus - parts * need.gpus,
        empty=False,
        fresh=False,
    )


def place(
    need: Need, jobs: int, rooms: Rooms, suits: Callable[[Room], bool]
) -> tuple[int, list[Taken]]:
    """Put up to so many jobs onto the rooms; return how many found a place, and where.

    A job over several nodes is there with all of them or not at all, one part to a worker.
    """
    fits = [
        (room, number, count)
        for room, count in rooms.items()
        if (number := capacity(need, room)) and suits(room)
    ]
    fits.sort(key=lambda fit: _preference(need, fit[0], fit[1]))
    placed = most_jobs(need.nodes, jobs, [(number, count) for _, number, count in fits])
    parts, taken = placed * need.nodes, []
    for room, number, count in fits:
        on_each = min(number, placed)
        if parts <= 0:
            break
        full = min(count, parts // on_each)
        if full:
            taken.append(_take(rooms, room, need, on_each, full))
            parts -= full * on_each
        if parts and full < count:
            taken.append(_take(rooms, room, need, parts, 1))
            parts = 0
    return placed, taken


def most_jobs(nodes: int, jobs: int, capacities: Sequence[tuple[int, int]]) -> int:
    """Return how many jobs of so many nodes fit on workers that hold (number, how many such).

    J jobs fit if the workers together hold their parts, no worker more than J of them: dealt out
    in turn, the parts of one job then come to lie on different workers.
    """
    least, beyond = 0, jobs + 1
    while beyond - least > 1:
        middle = (least + beyond) // 2
        if sum(min(number, middle) * count for number, count in capacities) >= nodes * middle:
            least = middle
        else:
            beyond = middle
    return least


def _take(rooms: Rooms, room: Room, need: Need, parts: int, workers: int) -> Taken:
    move(rooms, room, after(room, need, parts), workers)
    return Taken(room, parts * workers, workers)


def move(rooms: Rooms, room: Room, to: Room, workers: int) -> None:
    rooms[room] -= workers
    if not rooms[room]:
        del rooms[room]
    if to.cpus:
        rooms[to] = rooms.get(to, 0) + workers


def _preference(need: Need, room: Room, number: int) -> tuple[object, ...]:
    """Prefer those that run already, then those without idle GPUs, then those that fit closely."""
    if need.exclusive:
        return room.standing, room.gpus - need.gpus, room.cpus, room.memory_mib, room
    spare = room.gpus - number * need.gpus
    left = after(room, need, number)
    waste = left.cpus / room.cpus + left.memory_mib / max(room.memory_mib, 1)
    return room.standing, spare, round(waste, 6), room


class Item(NamedTuple):
    """A kind of job, as patterns are made of."""

    cpus: int
    memory_mib: int
    gpus: int
    line: int
    """Its place among the lines."""


class Items(NamedTuple):
    """Kinds that may go onto workers of one shape, the largest first."""

    thin: Sequence[Item]
    """Those that need less memory to a CPU than it has."""

    fat: Sequence[Item]
    cpus: int
    memory_mib: int
    """What it has of both."""

    def still(self, left: Sequence[int]) -> "Items":
        """Leave out those of which there are no more."""
        thin = [item for item in self.thin if left[item.line]]
        fat = [item for item in self.fat if left[item.line]]
        return self._replace(thin=thin, fat=fat)


def pattern(room: Room, items: Items, left: Sequence[int]) -> dict[int, int]:
    """Fill one such worker; return how many of which kind.

    Taking thin ones when memory runs out sooner and fat ones when CPUs do uses up both.
    """
    chosen: dict[int, int] = {}
    cpus, memory, gpus = room.cpus, room.memory_mib, room.gpus
    fitting = [_Fitting(items.thin, left, chosen), _Fitting(items.fat, left, chosen)]
    while cpus:
        wants_fat = memory * items.cpus > cpus * items.memory_mib
        item = fitting[wants_fat].next(cpus, memory, gpus) or fitting[not wants_fat].next(
            cpus, memory, gpus
        )
        if item is None:
            break
        chosen[item.line] = chosen.get(item.line, 0) + 1
        cpus -= item.cpus
        memory -= item.memory_mib
        gpus -= item.gpus
    return chosen


class _Fitting:
    """The largest item that still fits. What does not fit now will not fit later."""

    def __init__(self, items: Sequence[Item], left: Sequence[int], used: dict[int, int]) -> None:
        self.items = items
        self.left = left
        self.used = used
        self.at = 0

    def next(self, cpus: int, memory: int, gpus: int) -> Item | None:
        items, left, used = self.items, self.left, self.used
        for at in range(self.at, len(items)):
            needs_cpus, needs_memory, needs_gpus, line = items[at]
            if (
                needs_cpus <= cpus
                and needs_memory <= memory
                and needs_gpus <= gpus
                and left[line] > used.get(line, 0)
            ):
                self.at = at
                return items[at]
        self.at = len(items)
        return None


def in_order(rooms: Rooms) -> Iterator[Room]:
    """Yield them as they are to be filled: those without GPUs first, then small ones."""
    yield from sorted(
        rooms, key=lambda room: (room.standing, room.gpus, room.cpus, room.memory_mib, room)
    )
