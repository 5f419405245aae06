"""Where workers run."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from clusterra.core.scaling.edge import EdgeWorker, Failed


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerShape:
    """What every worker of one name offers to jobs."""

    name: str
    arch: str
    cpus: int
    memory_mib: int
    gpus: int = 0
    gpu_model: str = ""
    features: tuple[str, ...] = ()
    on_demand: bool = False


class Workers(Protocol):
    """Where workers run: processes of this machine, pods of a Kubernetes.

    A worker outlives whoever started it: another instance of the same adapter, on the same
    machine or namespace, finds it again. Every method raises Unreachable when the place
    could not be asked, and then has changed nothing it does not tell of later.
    """

    async def present(self) -> Sequence[EdgeWorker]:
        """Return every worker there is, starting ones included, by name."""
        ...

    async def resize(
        self,
        shape: WorkerShape,
        replicas: int,
        *,
        retire: Collection[str] = (),
        protected: Collection[str] = (),
    ) -> None:
        """Make it so many of this shape. Returns when they are started, not when they are ready.

        Those in `retire` go, and are no part of the number; no new one gets such a name. Fewer
        then takes those that are not ready, then the youngest. Never one in `protected`, even
        if more than `replicas` are left. Done again, it does nothing.
        """
        ...

    async def remove(self, name: str) -> None:
        """Stop one worker, and return when nothing of it is left. No such worker is fine."""
        ...

    async def failures(self) -> Sequence[Failed]:
        """Return what did not come or went by itself since this was last asked."""
        ...

    def watch(self, told: Callable[[], None]) -> None:
        """Call `told` on the event loop whenever a worker has come, become ready or gone."""
        ...

    async def close(self) -> None:
        """Let go of them without stopping any."""
        ...
