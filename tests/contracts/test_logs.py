"""What every way to a job's output keeps to: memory, files, our agent, the public agent."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from clusterra.adapters import logs_agent
from clusterra.adapters.inotify import Inotify
from clusterra.adapters.logs_agent import AgentLogs
from clusterra.adapters.logs_local import LocalLogs
from clusterra.adapters.memory_logs import MemoryLogs
from clusterra.control.output.search import search
from clusterra.core.jobs.job import Job
from clusterra.core.scaling.log_door import LogDoor
from clusterra.edge.door import Door
from clusterra.ports import Log, Logs
from tests.builders import a_job
from tests.public_logs import public_agent

pytestmark = pytest.mark.enable_socket

KEY = "s3cret"


class NoInotify(Inotify):
    """A machine on which nothing more can be watched."""

    def watch(self, descriptor: int, mask: int, told: Callable[[], None]) -> Callable[[], None]:
        raise OSError(28, "No space left on device")


@dataclass
class Scene:
    logs: Logs
    write: Callable[[bytes], None]
    """Have the job's file contain exactly this, whatever it was."""

    job: Job

    async def open(self) -> Log:
        found = await self.logs.open(self.job)
        assert found is not None
        return found


@asynccontextmanager
async def scene(kind: str, base: Path) -> AsyncIterator[Scene]:
    job = a_job(id=7, user="ana", stdout="/home/ana/slurm-7.out", stderr="")
    home = base / "home/ana"
    home.mkdir(parents=True)
    file = home / "slurm-7.out"
    async with AsyncExitStack() as stack:
        logs: Logs
        if kind == "memory":
            logs = memory = MemoryLogs()
            yield Scene(logs, lambda data: memory.written.__setitem__(7, data), job)
            return
        if kind == "our agent":
            door = Door(base / "home", lambda: KEY)
            port = await door.open("127.0.0.1", 0)
            stack.push_async_callback(door.close)
            logs = AgentLogs(lambda: LogDoor(url=f"http://127.0.0.1:{port}", key=KEY))
        elif kind == "public agent":
            url = await stack.enter_async_context(public_agent(base / "home", KEY))
            logs = AgentLogs(lambda: LogDoor(url=url, key=KEY))
        else:
            inotify = NoInotify() if kind == "files, unwatched" else None
            logs = LocalLogs(base, single_user=True, inotify=inotify)
        stack.push_async_callback(logs.close)
        yield Scene(logs, lambda data: _rewrite(file, data), job)


def _rewrite(file: Path, data: bytes) -> None:
    """Add to it if it can be added to, as a job does; else make it shorter first."""
    there = file.read_bytes() if file.exists() else b""
    with file.open("r+b" if file.exists() else "wb") as opened:
        if data.startswith(there):
            opened.seek(len(there))
            opened.write(data[len(there) :])
        else:
            opened.truncate(0)
            opened.write(data)


KINDS = ("memory", "files", "files, unwatched", "our agent", "public agent")

Story = Callable[[Scene], Awaitable[None]]


@pytest.fixture(params=KINDS)
def play(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Story], None]:
    monkeypatch.setattr(logs_agent, "REST", 0.01)

    def run(story: Story) -> None:
        async def whole() -> None:
            async with asyncio.timeout(20), scene(request.param, tmp_path) as made:
                await story(made)

        asyncio.run(whole())

    return run


def test_what_is_not_there_is_none_and_what_is_empty_is_empty(
    play: Callable[[Story], None],
) -> None:
    async def story(scene: Scene) -> None:
        assert await scene.logs.open(scene.job) is None
        assert await scene.logs.read(scene.job, tail=10) is None
        scene.write(b"")
        log = await scene.open()

        assert log.size == 0
        assert (await log.read(0, 10)).data == b""
        assert [piece async for piece in log.pieces(0, 0)] == []

    play(story)


def test_any_bytes_of_it_can_be_read_and_the_size_is_told(play: Callable[[Story], None]) -> None:
    data = bytes(range(256)) * 4096

    async def story(scene: Scene) -> None:
        scene.write(data)
        log = await scene.open()
        middle, end, beyond = (
            await log.read(100, 1000),
            await log.read(len(data) - 5, 1000),
            await log.read(len(data), 10),
        )
        last = await scene.logs.read(scene.job, tail=7)

        assert log.size == len(data)
        assert (middle.data, middle.offset) == (data[100:1100], 100)
        assert (end.data, end.size) == (data[-5:], len(data))
        assert (beyond.data, beyond.size) == (b"", len(data))
        assert last is not None
        assert (last.data, last.offset) == (data[-7:], len(data) - 7)
        for start, stop in ((0, len(data)), (300_000, 700_001), (len(data) - 1, len(data))):
            assert b"".join([each async for each in log.pieces(start, stop)]) == data[start:stop]

    play(story)


def test_what_is_added_is_waited_for_and_read(play: Callable[[Story], None]) -> None:
    async def story(scene: Scene) -> None:
        scene.write(b"one\n")
        log = await scene.open()
        waiting = asyncio.create_task(log.grown(4, 60))
        scene.write(b"one\ntwo\n")
        await waiting

        assert (await log.read(4, 100)).data == b"two\n"
        await log.grown(4, 60)  # it is longer already

    play(story)


def test_a_file_that_became_shorter_is_shorter_than_what_is_asked_for(
    play: Callable[[Story], None],
) -> None:
    async def story(scene: Scene) -> None:
        scene.write(b"a long first try\n")
        log = await scene.open()
        scene.write(b"again\n")

        assert (await log.read(17, 100)).size < 17

    play(story)


def test_a_file_that_comes_later_is_waited_for(play: Callable[[Story], None]) -> None:
    async def story(scene: Scene) -> None:
        async def there() -> None:
            while await scene.logs.open(scene.job) is None:
                await scene.logs.appears(scene.job, seconds=0.2)

        waiting = asyncio.create_task(there())
        await asyncio.sleep(0)
        scene.write(b"one\n")
        await waiting

    play(story)


def test_text_is_found_wherever_pieces_are_cut(play: Callable[[Story], None]) -> None:
    async def story(scene: Scene) -> None:
        scene.write(b"x" * ((1 << 20) - 3) + b"\nneedle\n" + b"y" * 300_000 + b"needle")
        found = await search(await scene.open(), b"needle", ignore_case=False, limit=10)

        assert [(each.line, each.at) for each in found] == [(2, (1 << 20) - 2), (3, 1348581)]

    play(story)


def _open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_no_descriptor_is_left_open_by_who_closes_twice_or_stops_waiting(tmp_path: Path) -> None:
    async def story() -> None:
        before = _open_files()
        async with scene("files", tmp_path) as made:
            made.write(b"one\n")
            log = await made.open()
            leaving = [log.grown(4, 60), made.open(), made.logs.appears(made.job, seconds=60)]
            for each in leaving:
                task = asyncio.create_task(each)
                await asyncio.sleep(0)
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
            log.close()
            log.close()
            async with asyncio.timeout(10):
                while _open_files() > before:  # noqa: ASYNC110 - threads tell nobody
                    await asyncio.sleep(0.01)

    asyncio.run(story())
