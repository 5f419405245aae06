"""Workers as slurmd processes: started, tended, found again, stopped.

Each worker has a task that tends it: it waits until slurmd answers, then until it ends, and
starts it again. One that never answered, or ends again and again, is given up and told of.
Nothing is asked twice a second for ever: the kernel says when a process ends, and a port
is asked ever more seldom.
"""

import asyncio
import signal
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count
from typing import Self

from clusterra.adapters.workers_local import slurmd
from clusterra.adapters.workers_local.kept import Kept, Note
from clusterra.adapters.workers_local.place import Place
from clusterra.adapters.workers_local.process import Process, adopt, search, spawn
from clusterra.core.errors import ClusterraError
from clusterra.core.scaling.edge import EdgeWorker, Failed
from clusterra.ports import WorkerShape

FIRST_LOOK, LOOK_LESS, SELDOM = 0.03, 1.3, 1.0
"""Seconds until a new slurmd is asked whether it answers, and how that grows up to what."""

PAUSES = (0.1, 0.3, 1.0, 3.0, 10.0)
"""Seconds before it is started again, by how often in a row it ended soon after its start. After
the last it is given up."""

STEADY = 10.0
"""Seconds after which an end is no longer one in a row."""

ANEW_WITHIN = 30.0
"""Seconds that workers which have to register anew are waited for."""

MARKER = "CLUSTERRA_WORKER"


@dataclass(slots=True, kw_only=True, eq=False)
class _Worker:
    note: Note
    process: Process | None = None
    ready: bool = False
    settled: asyncio.Event = field(default_factory=asyncio.Event)
    """It was ready, or will not be."""
    tending: asyncio.Task[None] | None = None
    leaving: asyncio.Task[None] | None = None

    @property
    def name(self) -> str:
        return self.note.name


class LocalWorkers:
    """Use `opened`; two of them in one place are not possible."""

    def __init__(
        self, place: Place, *, patience: float, stop_patience: float, pauses: Sequence[float]
    ) -> None:
        self._place = place
        self._kept = Kept(place.directory, place.logs or place.directory)
        self._patience = patience
        self._stop_patience = stop_patience
        self._pauses = pauses
        self._workers: dict[str, _Worker] = {}
        self._failed: list[Failed] = []
        self._told: list[Callable[[], None]] = []

    @classmethod
    async def opened(
        cls,
        place: Place,
        *,
        patience: float = 480,
        stop_patience: float = 10,
        pauses: Sequence[float] = PAUSES,
    ) -> Self:
        """Find the workers there are, and tend them from now on.

        One that does not answer within `patience` seconds is stopped and told of; one that
        is told to end has `stop_patience`. Raises Refused if another agent tends them.
        """
        made = cls(place, patience=patience, stop_patience=stop_patience, pauses=pauses)
        made._kept.lock()
        for note in made._kept.notes():
            made._take_up(note)
        return made

    async def register_anew(self) -> None:
        """Restart every slurmd, and return when they answer again.

        A slurmctld that has crashed knows of their jobs only what it had saved; they tell it.
        """
        there = [each for each in self._workers.values() if each.leaving is None]
        await asyncio.gather(*(self._restart(each) for each in there))
        waiting = [asyncio.create_task(each.settled.wait()) for each in there]
        if waiting:
            _, late = await asyncio.wait(waiting, timeout=ANEW_WITHIN)
            for task in late:
                task.cancel()

    async def present(self) -> Sequence[EdgeWorker]:
        self._kept.check()
        return [
            EdgeWorker(
                name=name, shape=each.note.shape.name, since=each.note.since, ready=each.ready
            )
            for name, each in sorted(self._workers.items())
        ]

    async def resize(
        self,
        shape: WorkerShape,
        replicas: int,
        *,
        retire: Collection[str] = (),
        protected: Collection[str] = (),
    ) -> None:
        self._kept.check()
        staying = [
            each
            for each in self._workers.values()
            if each.note.shape.name == shape.name and each.leaving is None
        ]
        free = [each for each in staying if each.name not in protected]
        free.sort(key=lambda each: each.note.since, reverse=True)
        free.sort(key=lambda each: (each.name not in retire, each.ready))
        retiring = sum(each.name in retire for each in free)
        for each in free[: max(len(staying) - replicas, retiring)]:
            self._leave(each)
        for _ in range(replicas - (len(staying) - retiring)):
            self._add(slurmd.checked(shape), never=retire)
            await asyncio.sleep(0)

    async def remove(self, name: str) -> None:
        self._kept.check()
        if (worker := self._workers.get(name)) is not None:
            await asyncio.shield(self._leave(worker))

    async def failures(self) -> Sequence[Failed]:
        failed, self._failed = self._failed, []
        return failed

    def watch(self, told: Callable[[], None]) -> None:
        self._told.append(told)

    async def close(self) -> None:
        tasks = [task for each in self._workers.values() for task in (each.tending, each.leaving)]
        await _end(*tasks)
        for each in self._workers.values():
            if each.process is not None:
                each.process.let_go()
        self._workers.clear()
        self._kept.unlock()

    # --- coming and going

    def _add(self, shape: WorkerShape, *, never: Collection[str]) -> None:
        names = (f"{shape.name}-{number}" for number in count(1))
        name = next(each for each in names if each not in self._workers and each not in never)
        taken = {each.note.port for each in self._workers.values()}
        now = datetime.now(UTC)
        try:
            port = slurmd.free_port(self._place.first_port, taken)
        except ClusterraError as error:
            self._failed.append(Failed(shape=shape.name, name=name, why=error.detail, at=now))
            self._tell()
            return
        note = Note(name=name, shape=shape, port=port, since=now, life=self._kept.life)
        self._kept.begin_log(name)
        self._kept.put(note)
        self._tend(_Worker(note=note))

    def _take_up(self, note: Note) -> None:
        process = adopt(note.pid, note.started) if note.pid else search(*self._marks(note.name))
        worker = _Worker(note=note, process=process)
        if process is None and not note.was_ready:
            self._give_up(worker, "slurmd ended while no agent looked after it")
        else:
            self._tend(worker)

    def _tend(self, worker: _Worker) -> None:
        self._workers[worker.name] = worker
        if worker.process is None and not self._start(worker):
            return
        worker.tending = asyncio.create_task(self._live(worker))
        self._tell()

    def _leave(self, worker: _Worker) -> asyncio.Task[None]:
        if worker.leaving is None:
            worker.ready = False
            worker.leaving = asyncio.create_task(self._stop(worker))
            self._tell()
        return worker.leaving

    async def _stop(self, worker: _Worker) -> None:
        await _end(worker.tending)
        if worker.process is not None:
            await worker.process.stop(self._stop_patience)
        self._forget(worker)

    async def _restart(self, worker: _Worker) -> None:
        await _end(worker.tending)
        if worker.process is not None:
            if await slurmd.answers(worker.note.port):
                # Nobody may have noticed yet; but jobs may run there, which are not to be lost.
                self._keep(worker, replace(worker.note, was_ready=True))
            await worker.process.stop(self._stop_patience)
        worker.process, worker.ready = None, False
        worker.settled.clear()
        if worker.leaving is None:
            self._tend(worker)

    # --- the life of one

    async def _live(self, worker: _Worker) -> None:
        pauses, loop = iter(self._pauses), asyncio.get_running_loop()
        while worker.process is not None:
            begun = loop.time()
            why = await self._awaited(worker, worker.process)
            if not why:
                self._be_ready(worker)
                await asyncio.shield(worker.process.ended)
                why = self._last_words(worker, "slurmd ended")
            worker.process, worker.ready = None, False
            if loop.time() - begun > STEADY:
                pauses = iter(self._pauses)
            pause = next(pauses, None)
            if not worker.note.was_ready or pause is None:
                self._give_up(worker, why)
                return
            self._tell()
            await asyncio.sleep(pause)
            self._start(worker)

    def _start(self, worker: _Worker) -> bool:
        """Start slurmd; False, and told of, if that is not possible."""
        note = replace(worker.note, pid=0, started=0)
        name, first = note.name, not note.was_ready
        argv = slurmd.command(self._place, note.shape, name, note.port, first=first)
        mark, _ = self._marks(name)
        key, _, value = mark.partition("=")
        try:
            self._kept.put(note)
            process = spawn(argv, {**self._place.env, key: value}, self._kept.log(name))
        except OSError as error:
            self._give_up(worker, f"slurmd could not be started: {error.strerror}")
            return False
        except ClusterraError as error:
            self._give_up(worker, error.detail)
            return False
        worker.process = process
        self._keep(worker, replace(note, pid=process.pid, started=process.started))
        return True

    async def _awaited(self, worker: _Worker, process: Process) -> str:
        """Return when it answers; why it will not, otherwise."""
        loop = asyncio.get_running_loop()
        give_up, gap = loop.time() + self._patience, FIRST_LOOK
        while loop.time() < give_up:
            ended, _ = await asyncio.wait({process.ended}, timeout=gap)
            if ended:
                return self._last_words(worker, "slurmd ended before it answered")
            if await slurmd.answers(worker.note.port):
                return ""
            gap = min(gap * LOOK_LESS, SELDOM)
        process.send(signal.SIGTERM)
        await process.stop(self._stop_patience)
        return self._last_words(worker, f"slurmd did not answer within {self._patience:g} s")

    def _be_ready(self, worker: _Worker) -> None:
        worker.ready = True
        self._keep(worker, replace(worker.note, was_ready=True))
        worker.settled.set()
        self._tell()

    def _give_up(self, worker: _Worker, why: str) -> None:
        note = worker.note
        self._failed.append(
            Failed(shape=note.shape.name, name=note.name, why=why, at=datetime.now(UTC))
        )
        # Its log stays for whoever wants to know, until the next one of its name.
        self._forget(worker, log=False)

    def _forget(self, worker: _Worker, *, log: bool = True) -> None:
        if self._workers.get(worker.name, worker) is not worker:
            return  # forgotten before, and there is another of its name
        self._kept.drop(worker.name, log=log)
        self._workers.pop(worker.name, None)
        worker.settled.set()
        self._tell()

    def _keep(self, worker: _Worker, note: Note) -> None:
        worker.note = note
        try:
            self._kept.put(note)
        except ClusterraError:
            # It runs, and `search` finds it by its environment; the next `present` complains.
            return

    def _last_words(self, worker: _Worker, what: str) -> str:
        said = self._kept.last_words(worker.name)
        return f"{what}: {said}" if said else what

    def _marks(self, name: str) -> tuple[str, str]:
        return f"{MARKER}={self._place.directory}/{name}", name

    def _tell(self) -> None:
        for told in self._told:
            told()


def _running(tasks: Collection[asyncio.Task[None] | None]) -> Iterator[asyncio.Task[None]]:
    return (task for task in tasks if task is not None and not task.done())


async def _end(*tasks: asyncio.Task[None] | None) -> None:
    ending = list(_running(tasks))
    for task in ending:
        task.cancel()
    await asyncio.gather(*ending, return_exceptions=True)
