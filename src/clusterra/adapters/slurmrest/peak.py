"""How much memory a job was seen to use, from the steps that accounting has of it.

Slurm looks at the processes of a step every few seconds and keeps, for each task, the most it
saw. slurmrestd lists that under `requested`, in bytes; `total` is the sum over the tasks.
"""

from collections.abc import Iterable

import msgspec

from clusterra.adapters.slurmrest.accounting import Trackable
from clusterra.adapters.slurmrest.decode import Figure

_UNSEEN = 1 << 62
"""More than any machine has: how Slurm writes, in 64 bits, that it does not know."""


class Seen(msgspec.Struct, frozen=True, gc=False):
    total: list[Trackable] = []


class StepTres(msgspec.Struct, frozen=True, gc=False):
    requested: Seen = Seen()


class Step(msgspec.Struct, frozen=True, gc=False):
    tres: StepTres = StepTres()


class SteppedJob(msgspec.Struct, frozen=True, gc=False):
    job_id: int = 0
    steps: list[Step] = []


def peak_memory_mib(rows: Iterable[SteppedJob]) -> int | None:
    """Return the most that one step used, over all its nodes; None if none was looked at."""
    seen = [
        number
        for row in rows
        for step in row.steps
        for each in step.tres.requested.total
        if each.type == "mem" and 0 < (number := _bytes(each)) < _UNSEEN
    ]
    return -(-max(seen) // (1 << 20)) if seen else None


def _bytes(each: Trackable) -> int:
    """Return the number as it is: 4 GiB of bytes is more than Slurm's 32-bit numbers hold."""
    count = each.count.number if isinstance(each.count, Figure) else each.count
    return int(count or 0)
