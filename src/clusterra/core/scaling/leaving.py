"""Which workers have nothing to do and may go.

Growing is immediate and shrinking patient: a worker that comes late costs somebody minutes, one
that leaves late costs cents.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from clusterra.core.scaling.fleet import Phase, Worker
from clusterra.core.scaling.policy import Policy
from clusterra.core.scaling.rooms import Room, Standing


def is_idle(worker: Worker) -> bool:
    return worker.phase is Phase.READY and not worker.busy


def idle_for_good(
    workers: Sequence[Worker], untouched: Mapping[Room, int], policy: Policy, now: datetime
) -> tuple[tuple[str, ...], datetime | None]:
    """Return the names of those that may go, and when the next one will.

    `untouched` is the room that nobody who waits will take. Of workers that are alike the one
    that had something to do last is kept.
    """
    spare = _spare(workers, untouched)
    usable = Counter(
        worker.shape for worker in workers if worker.phase in (Phase.READY, Phase.WARMING)
    )
    patience = timedelta(seconds=policy.idle_seconds)
    leave: list[str] = []
    later: list[datetime] = []
    for worker in spare:
        if usable[worker.shape] <= policy.minimum.get(worker.shape, 0):
            continue
        usable[worker.shape] -= 1
        if worker.since + patience <= now:
            leave.append(worker.name)
        else:
            later.append(worker.since + patience)
    return tuple(sorted(leave)), min(later, default=None)


def _spare(workers: Sequence[Worker], untouched: Mapping[Room, int]) -> list[Worker]:
    """Return idle workers that no waiting job needs, the longest idle first."""
    left = {
        room: number
        for room, number in untouched.items()
        if room.fresh and room.standing is Standing.IDLE
    }
    spare = []
    for worker in sorted(filter(is_idle, workers), key=lambda each: (each.since, each.name)):
        room = Room(Standing.IDLE, worker.shape, worker.cpus, worker.memory_mib, worker.gpus)
        # One without any room is of no use to anybody, whatever made it so.
        if worker.cpus <= 0:
            spare.append(worker)
        elif left.get(room):
            left[room] -= 1
            spare.append(worker)
    return spare
