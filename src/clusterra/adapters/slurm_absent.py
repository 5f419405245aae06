"""A Slurm that cannot be asked: that of a cluster which was registered without one, or whose
key is lost."""

from typing import NoReturn

from clusterra.core.errors import Unreachable


class AbsentSlurm:
    """Answers every question with why there is nobody to ask."""

    def __init__(self, why: str) -> None:
        self._why = why

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise Unreachable(
            self._why,
            hint="Remove the cluster and add it again with --slurm and --jwt-key.",
            code="no-slurm",
        )

    async def _refuse_soon(self, *_: object, **__: object) -> NoReturn:
        self._refuse()

    all_jobs = history = _refuse
    about = states = job = accounted = earlier_runs = nodes = partitions = _refuse_soon
    peak_memory_mib = partition_rules = reservations = licences = limits = _refuse_soon
    submit = cancel = edit = requeue = stamp = enroll = _refuse_soon
    drain = resume = mark_down = delete_nodes = _refuse_soon

    async def close(self) -> None:
        """There is nothing to let go of."""
