"""Promises every place of workers keeps: the one in memory, processes of this machine, real slurmd.

An adapter for another place joins with a `World`: how, there, a worker is made ready or
killed, starts are made to fail, and the adapter is opened again.
"""

import asyncio
import os
import random
import shutil
import signal
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import pytest

from clusterra.adapters.clock import SystemClock
from clusterra.adapters.memory_workers import MemoryLand, MemoryWorkers
from clusterra.adapters.workers_local import LocalWorkers, Place
from clusterra.core.errors import Unreachable
from clusterra.core.scaling.edge import EdgeWorker, Failed
from clusterra.local.processes import children
from clusterra.local.tcp import WORKER_PORTS
from clusterra.ports import Workers, WorkerShape
from tests.agent.standin import StandIn
from tests.cluster import Running

SMALL = WorkerShape(
    name="small", arch="amd64", cpus=1, memory_mib=512, features=("general", "small")
)
LARGE = WorkerShape(name="large", arch="amd64", cpus=2, memory_mib=1024, features=("general",))


class World(Protocol):
    async def open(self) -> Workers:
        """Return an adapter on this place, as if another process had started it."""
        ...

    def make_ready(self, workers: Workers, name: str) -> None:
        """Let this worker answer, if it does not by itself."""
        ...

    def kill(self, workers: Workers, name: str) -> None:
        """Have this worker go by itself."""
        ...

    def fail_starts(self, why: str) -> None:
        """From now on, whatever is started does not come."""
        ...

    def cut_off(self, *, off: bool) -> None:
        """Have the place be out of reach, or back."""
        ...

    def is_gone(self, name: str) -> bool:
        """Say whether nothing of this worker is left at the place."""
        ...


class InMemory:
    def __init__(self) -> None:
        self.land = MemoryLand()

    async def open(self) -> Workers:
        return MemoryWorkers(SystemClock(), self.land)

    def make_ready(self, workers: Workers, name: str) -> None:
        assert isinstance(workers, MemoryWorkers)
        workers.answer(name)

    def kill(self, workers: Workers, name: str) -> None:
        assert isinstance(workers, MemoryWorkers)
        workers.die(name)

    def fail_starts(self, why: str) -> None:
        self.land.fail_with = why

    def cut_off(self, *, off: bool) -> None:
        self.land.reachable = not off

    def is_gone(self, name: str) -> bool:
        return name not in self.land.workers


class Processes:
    """Real processes of a program that stands in for slurmd."""

    def __init__(self, home: Path) -> None:
        self.stand_in = StandIn(home, first_port=random.choice(WORKER_PORTS))

    async def open(self) -> Workers:
        return await LocalWorkers.opened(self.stand_in.place, stop_patience=5)

    def make_ready(self, workers: Workers, name: str) -> None:
        self.stand_in.let(f"answer-{name}")

    def kill(self, workers: Workers, name: str) -> None:
        self.stand_in.kill(name)

    def fail_starts(self, why: str) -> None:
        self.stand_in.let("fail", why)

    def cut_off(self, *, off: bool) -> None:
        move(self.stand_in.place.directory, off=off)

    def is_gone(self, name: str) -> bool:
        named = [f"-N\0{name}\0".encode() in cmdline(pid) for pid in self.stand_in.pids()]
        return not any(named) and not list(self.stand_in.place.directory.glob(f"{name}.*"))


class RealSlurmd:
    """In the root file system of a cluster that is up; known to its slurmctld."""

    def __init__(self, running: Running, home: Path) -> None:
        [unshare] = children(running.pid)
        [guard] = children(unshare)
        self.running = running
        etc = running.path / "etc/slurm"
        self.conf = etc / "contract-node.conf"
        shutil.copy(etc / "slurm-node.conf", self.conf)
        root = rootfs(guard)
        self.place = Place(
            directory=home / "workers",
            first_port=random.choice(WORKER_PORTS),
            # Its files, but our processes: they are ours to signal, and need a /proc they are in.
            launch=(
                *("nsenter", f"--target={guard}", "--mount"),
                *("unshare", f"--mount-proc={root}/proc", "chroot", root),
            ),
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"},
            conf=f"/etc/slurm/{self.conf.name}",
        )

    async def open(self) -> Workers:
        return await LocalWorkers.opened(self.place)

    def make_ready(self, workers: Workers, name: str) -> None:
        return

    def kill(self, workers: Workers, name: str) -> None:
        for pid in self.pids(name):
            os.kill(pid, signal.SIGKILL)

    def fail_starts(self, why: str) -> None:
        # A file that is not there at all, slurmd would wait for.
        self.conf.write_text("NoSuchSetting=1\n")

    def cut_off(self, *, off: bool) -> None:
        move(self.place.directory, off=off)

    def is_gone(self, name: str) -> bool:
        return not self.pids(name)

    def forget(self) -> None:
        """Have slurmctld know nothing of them any more; there may be none it knows."""
        self.conf.unlink(missing_ok=True)
        ours = ",".join(f"{shape.name}-[1-4]" for shape in (SMALL, LARGE))
        subprocess.run(
            [*self.place.launch, "scontrol", "delete", f"NodeName={ours}"],
            env=dict(self.place.env),
            capture_output=True,
            check=False,
        )

    def pids(self, name: str) -> list[int]:
        every = (int(entry.name) for entry in Path("/proc").glob("[0-9]*"))
        mine = f"CLUSTERRA_WORKER={self.place.directory}/{name}".encode()
        return [pid for pid in every if mine in environ(pid).split(b"\0")]


def move(directory: Path, *, off: bool) -> None:
    aside = directory.with_name("aside")
    (directory if off else aside).rename(aside if off else directory)


def cmdline(pid: int) -> bytes:
    with suppress(OSError):
        return (Path("/proc") / str(pid) / "cmdline").read_bytes()
    return b""


def environ(pid: int) -> bytes:
    with suppress(OSError):
        return (Path("/proc") / str(pid) / "environ").read_bytes()
    return b""


def rootfs(guard: int) -> str:
    """Return where the cluster's root file system is: what the guard has mounted over itself."""
    lines = (Path("/proc") / str(guard) / "mountinfo").read_text().splitlines()
    targets = [line.split()[4] for line in lines]
    [etc] = [each for each in targets if each.endswith("/etc/slurm")]
    return etc.removesuffix("/etc/slurm")


def in_memory(_: pytest.FixtureRequest) -> Iterator[World]:
    yield InMemory()


def as_processes(request: pytest.FixtureRequest) -> Iterator[World]:
    world = Processes(request.getfixturevalue("tmp_path") / "place")
    yield world
    world.stand_in.end_all()


def real(request: pytest.FixtureRequest) -> Iterator[World]:
    request.getfixturevalue("needs_root")
    world = RealSlurmd(
        request.getfixturevalue("running"), request.getfixturevalue("tmp_path") / "place"
    )
    yield world
    world.forget()


@pytest.fixture(
    params=[
        pytest.param(in_memory, id="memory"),
        pytest.param(as_processes, id="processes", marks=[pytest.mark.enable_socket]),
        pytest.param(real, id="slurmd", marks=[pytest.mark.e2e, pytest.mark.enable_socket]),
    ]
)
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    yield from request.param(request)


def run(world: World, story: Callable[[Workers], Awaitable[None]]) -> None:
    async def whole() -> None:
        workers = await world.open()
        try:
            await story(workers)
        finally:
            await workers.close()
            sweeper = await world.open()
            for each in await sweeper.present():
                await sweeper.remove(each.name)
            await sweeper.close()

    asyncio.run(whole())


async def names(workers: Workers) -> list[str]:
    return [each.name for each in await workers.present()]


async def eventually(true: Callable[[], Awaitable[bool]]) -> None:
    for _ in range(1500):
        if await true():
            return
        await asyncio.sleep(0.02)
    pytest.fail("it never was so")


async def named(workers: Workers, *expected: str) -> None:
    async def so() -> bool:
        return await names(workers) == list(expected)

    await eventually(so)


async def ready(world: World, workers: Workers, name: str) -> EdgeWorker:
    world.make_ready(workers, name)
    found: list[EdgeWorker] = []

    async def so() -> bool:
        found[:] = [each for each in await workers.present() if each.name == name and each.ready]
        return bool(found)

    await eventually(so)
    return found[0]


def test_as_many_are_started_as_are_asked_for_and_asking_again_starts_no_more(
    world: World,
) -> None:
    async def story(workers: Workers) -> None:
        assert await workers.present() == []

        await workers.resize(SMALL, 3)
        first = [(each.name, each.shape, each.since) for each in await workers.present()]
        await workers.resize(SMALL, 3)

        assert [each[:2] for each in first] == [
            ("small-1", "small"),
            ("small-2", "small"),
            ("small-3", "small"),
        ]
        again = [(each.name, each.shape, each.since) for each in await workers.present()]
        assert again == first

    run(world, story)


def test_a_worker_is_ready_when_it_answers(world: World) -> None:
    async def story(workers: Workers) -> None:
        await workers.resize(SMALL, 1)

        answering = await ready(world, workers, "small-1")

        assert (answering.name, answering.shape) == ("small-1", "small")
        assert await workers.failures() == []

    run(world, story)


def test_a_shape_is_resized_by_itself(world: World) -> None:
    async def story(workers: Workers) -> None:
        await workers.resize(SMALL, 1)
        await workers.resize(LARGE, 2)
        await workers.resize(SMALL, 0)

        await named(workers, "large-1", "large-2")

    run(world, story)


def test_fewer_takes_the_retired_then_those_not_ready_then_the_youngest(world: World) -> None:
    async def story(workers: Workers) -> None:
        for number in range(1, 5):
            await workers.resize(SMALL, number)
        for name in ("small-1", "small-2", "small-3", "small-4"):
            await ready(world, workers, name)

        await workers.resize(SMALL, 3, retire=["small-1", "no-such"])
        await named(workers, "small-2", "small-3", "small-4")

        await workers.resize(SMALL, 2)
        await named(workers, "small-2", "small-3")

    run(world, story)


def test_a_retired_one_goes_and_another_of_another_name_takes_its_place(world: World) -> None:
    async def story(workers: Workers) -> None:
        await workers.resize(SMALL, 1)
        await ready(world, workers, "small-1")

        for _ in range(2):
            await workers.resize(SMALL, 1, retire=["small-1"])
            await named(workers, "small-2")

    run(world, story)


def test_one_that_is_not_ready_goes_before_one_that_is(world: World) -> None:
    if isinstance(world, RealSlurmd):
        pytest.skip("A real slurmd is ready when it is: nobody holds it back.")

    async def story(workers: Workers) -> None:
        await workers.resize(SMALL, 1)
        await workers.resize(SMALL, 2)
        await ready(world, workers, "small-2")

        await workers.resize(SMALL, 1)

        await named(workers, "small-2")

    run(world, story)


def test_a_protected_worker_is_never_taken(world: World) -> None:
    async def story(workers: Workers) -> None:
        await workers.resize(SMALL, 3)

        await workers.resize(SMALL, 0, retire=["small-2"], protected=["small-2", "small-3"])

        await named(workers, "small-2", "small-3")

    run(world, story)


def test_of_a_removed_worker_nothing_is_left_and_its_name_is_free(world: World) -> None:
    async def story(workers: Workers) -> None:
        await workers.resize(SMALL, 2)
        await ready(world, workers, "small-1")

        await workers.remove("small-1")
        await workers.remove("small-1")
        await workers.remove("never-was")

        assert await names(workers) == ["small-2"]
        assert world.is_gone("small-1")
        assert await workers.failures() == []
        await workers.resize(SMALL, 2)
        assert await names(workers) == ["small-1", "small-2"]

    run(world, story)


def test_another_instance_finds_the_workers_again(world: World) -> None:
    async def story(workers: Workers) -> None:
        await workers.resize(SMALL, 2)
        await workers.resize(LARGE, 1)
        await ready(world, workers, "small-1")
        before = [(each.name, each.shape, each.since) for each in await workers.present()]
        await workers.close()

        other = await world.open()

        after = [(each.name, each.shape, each.since) for each in await other.present()]
        assert after == before
        await ready(world, other, "small-1")
        await other.resize(SMALL, 2)
        await other.resize(LARGE, 0)
        await named(other, "small-1", "small-2")
        assert await other.failures() == []
        await other.close()

    run(world, story)


def test_what_does_not_come_is_told_once_and_is_not_there(world: World) -> None:
    async def story(workers: Workers) -> None:
        world.fail_starts("fatal: no room")

        await workers.resize(SMALL, 2)

        told: list[Failed] = []

        async def so() -> bool:
            told.extend(await workers.failures())
            return len(told) == 2

        await eventually(so)
        assert await names(workers) == []
        assert all(each.name.startswith("small-") and each.shape == "small" for each in told)
        assert all("fatal" in each.why for each in told)
        assert await workers.failures() == []

    run(world, story)


def test_what_goes_by_itself_comes_back_or_is_told_of(world: World) -> None:
    async def story(workers: Workers) -> None:
        await workers.resize(SMALL, 2)
        before = await ready(world, workers, "small-1")
        told = asyncio.Event()
        workers.watch(told.set)

        world.kill(workers, "small-1")
        async with asyncio.timeout(30):
            await told.wait()

        async def so() -> bool:
            if any(each.name == "small-1" for each in await workers.failures()):
                return await names(workers) == ["small-2"]
            return any(
                each.name == "small-1" and each.ready and each.since == before.since
                for each in await workers.present()
            )

        await eventually(so)

    run(world, story)


def test_whoever_watches_is_told_of_coming_answering_and_going(world: World) -> None:
    async def story(workers: Workers) -> None:
        told = asyncio.Event()
        workers.watch(told.set)

        async def heard() -> None:
            async with asyncio.timeout(30):
                await told.wait()
            told.clear()

        await workers.resize(SMALL, 1)
        await heard()
        await ready(world, workers, "small-1")
        await heard()
        await workers.remove("small-1")
        await heard()

    run(world, story)


def test_a_place_out_of_reach_says_so_and_nothing_is_changed(world: World) -> None:
    async def story(workers: Workers) -> None:
        await workers.resize(SMALL, 1)
        await ready(world, workers, "small-1")

        world.cut_off(off=True)
        with pytest.raises(Unreachable):
            await workers.present()
        with pytest.raises(Unreachable):
            await workers.resize(SMALL, 3)
        with pytest.raises(Unreachable):
            await workers.resize(SMALL, 0)
        with pytest.raises(Unreachable):
            await workers.remove("small-1")

        world.cut_off(off=False)
        assert await names(workers) == ["small-1"]
        assert await workers.failures() == []

    run(world, story)
