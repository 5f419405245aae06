"""Workers in a dict, for tests. They come, answer and die when a test says so."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from clusterra.core.errors import Unreachable
from clusterra.core.scaling.edge import EdgeWorker, Failed
from clusterra.ports import Clock, WorkerShape


@dataclass(slots=True, kw_only=True)
class MemoryLand:
    """Where they run: it outlives whoever started them."""

    workers: dict[str, EdgeWorker] = field(default_factory=dict)
    reachable: bool = True
    fail_with: str = ""
    """Why whatever is started now does not come; empty if it does."""


class MemoryWorkers:
    def __init__(self, clock: Clock, land: MemoryLand | None = None) -> None:
        self.land = land or MemoryLand()
        self._clock = clock
        self._failed: list[Failed] = []
        self._told: list[Callable[[], None]] = []

    async def present(self) -> Sequence[EdgeWorker]:
        self._check()
        return [each for _, each in sorted(self.land.workers.items())]

    async def resize(
        self,
        shape: WorkerShape,
        replicas: int,
        *,
        retire: Collection[str] = (),
        protected: Collection[str] = (),
    ) -> None:
        self._check()
        there = [each for each in self.land.workers.values() if each.shape == shape.name]
        free = [each for each in there if each.name not in protected]
        free.sort(key=lambda each: each.since, reverse=True)
        free.sort(key=lambda each: (each.name not in retire, each.ready))
        retiring = sum(each.name in retire for each in free)
        for each in free[: max(len(there) - replicas, retiring)]:
            await self.remove(each.name)
        for _ in range(replicas - (len(there) - retiring)):
            self._start(shape, never=retire)

    async def remove(self, name: str) -> None:
        self._check()
        if self.land.workers.pop(name, None) is not None:
            self._tell()

    async def failures(self) -> Sequence[Failed]:
        failed, self._failed = self._failed, []
        return failed

    def watch(self, told: Callable[[], None]) -> None:
        self._told.append(told)

    async def close(self) -> None:
        self._told.clear()

    # --- what a test makes happen

    def answer(self, name: str) -> None:
        """Have a worker become ready."""
        self.land.workers[name] = replace(self.land.workers[name], ready=True)
        self._tell()

    def die(self, name: str, why: str = "slurmd ended") -> None:
        """Have a worker go by itself."""
        self._fail(self.land.workers.pop(name), why)

    def _start(self, shape: WorkerShape, *, never: Collection[str]) -> None:
        names = (f"{shape.name}-{number}" for number in count(1))
        name = next(each for each in names if each not in (*self.land.workers, *never))
        worker = EdgeWorker(name=name, shape=shape.name, since=self._clock.now())
        if self.land.fail_with:
            self._fail(worker, self.land.fail_with)
        else:
            self.land.workers[name] = worker
            self._tell()

    def _fail(self, worker: EdgeWorker, why: str) -> None:
        self._failed.append(
            Failed(shape=worker.shape, name=worker.name, why=why, at=self._clock.now())
        )
        self._tell()

    def _check(self) -> None:
        if not self.land.reachable:
            raise Unreachable(
                "The place of the workers cannot be reached.", hint="Try again later."
            )

    def _tell(self) -> None:
        for told in self._told:
            told()
