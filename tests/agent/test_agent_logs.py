"""What an agent serves: healthz, whole logs, and logs as they are written."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest
from yarl import URL

from clusterra.agent.logs import BEFORE_END, event
from clusterra.edge.door import Door

pytestmark = pytest.mark.enable_socket

KEY = {"X-Agent-Key": "s3cret"}


@dataclass
class Served:
    base: Path
    url: str
    http: aiohttp.ClientSession

    async def get(self, path: str, **more: object) -> tuple[int, bytes]:
        headers = more.get("headers", KEY)
        assert isinstance(headers, dict)
        async with self.http.get(self.url + path, headers=headers) as answer:
            return answer.status, await answer.read()

    @asynccontextmanager
    async def following(self, path: str) -> "AsyncIterator[Stream]":
        async with self.http.get(self.url + path, headers=KEY) as answer:
            assert answer.status == 200
            assert answer.content_type == "text/event-stream"
            yield Stream(answer.content)


class Stream:
    """A client written from the contract: data lines joined with newlines are the bytes."""

    def __init__(self, content: aiohttp.StreamReader) -> None:
        self._content = content
        self.comments = 0
        self.events: list[bytes] = []

    async def until(self, length: int) -> bytes:
        async with asyncio.timeout(10):
            while len(b"".join(self.events)) < length:
                await self.one()
        return b"".join(self.events)

    async def one(self) -> None:
        lines: list[bytes] = []
        while (line := (await self._content.readuntil(b"\n"))[:-1]) != b"":
            lines.append(line)
        data = [line.removeprefix(b"data: ") for line in lines if line.startswith(b"data: ")]
        if data:
            self.events.append(b"\n".join(data))
        else:
            self.comments += 1


def serving(
    base: Path,
    story: Callable[[Served], Awaitable[None]],
    *,
    key: str = "s3cret",
    keep_alive: float = 15,
) -> None:
    async def whole() -> None:
        door = Door(base, lambda: key, keep_alive=keep_alive)
        port = await door.open("127.0.0.1", 0)
        try:
            async with aiohttp.ClientSession(read_bufsize=1 << 20) as http:
                await story(Served(base, f"http://127.0.0.1:{port}", http))
        finally:
            await door.close()

    asyncio.run(whole())


def test_healthz_is_empty_and_asks_for_no_key(tmp_path: Path) -> None:
    async def story(served: Served) -> None:
        assert await served.get("/healthz", headers={}) == (200, b"")

    serving(tmp_path, story)


@pytest.mark.parametrize("path", ["/logs/41", "/logs/41/stream"])
def test_a_log_is_for_those_with_the_key(tmp_path: Path, path: str) -> None:
    (tmp_path / "slurm-41.out").write_text("secret")

    async def story(served: Served) -> None:
        for headers in ({}, {"X-Agent-Key": "wrong"}, {"X-Agent-Key": "né"}):
            status, said = await served.get(path, headers=headers)
            assert status == 401
            assert b"secret" not in said

    serving(tmp_path, story)


def test_an_agent_without_a_key_asks_for_none(tmp_path: Path) -> None:
    (tmp_path / "slurm-41.out").write_text("hello\n")

    async def story(served: Served) -> None:
        assert await served.get("/logs/41", headers={}) == (200, b"hello\n")

    serving(tmp_path, story, key="")


def test_where_a_log_is_looked_for_and_in_which_order(tmp_path: Path) -> None:
    for number, name in enumerate(
        ("slurm-1.out", "ana/slurm-1.out", "bo/slurm-1.out", "job_1.out", "ana/job_1.out"), 1
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"{number}")
    (tmp_path / "ana/slurm-1.err").write_text("err")
    (tmp_path / "ana/deep").mkdir()
    (tmp_path / "ana/deep/slurm-2.out").write_text("too deep")
    (tmp_path / "slurm-40_3.out").write_text("task")

    async def story(served: Served) -> None:
        for content, gone in ((b"1", "slurm-1.out"), (b"2", "ana/slurm-1.out")):
            assert await served.get("/logs/1") == (200, content)
            (tmp_path / gone).unlink()
        assert await served.get("/logs/1?stream=stdout") == (200, b"3")
        (tmp_path / "bo/slurm-1.out").unlink()
        assert await served.get("/logs/1") == (200, b"4")
        (tmp_path / "job_1.out").unlink()
        assert await served.get("/logs/1") == (200, b"5")
        assert await served.get("/logs/1?stream=stderr") == (200, b"err")
        assert await served.get("/logs/40_3") == (200, b"task")
        assert await served.get("/logs/2") == (404, b"log not found")

    serving(tmp_path, story)


def test_a_whole_log_is_text_to_the_byte(tmp_path: Path) -> None:
    content = os.urandom(300_000)
    (tmp_path / "slurm-41.out").write_bytes(content)

    async def story(served: Served) -> None:
        async with served.http.get(f"{served.url}/logs/41", headers=KEY) as answer:
            assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
            assert await answer.read() == content

    serving(tmp_path, story)


@pytest.mark.parametrize(
    "path",
    [
        *("/logs/", "/logs/a/b", "/logs/a%2Fb", "/logs/..%2F41", "/logs/a%5Cb", "/logs/x..y"),
        *("/logs/%00", "/logs//stream", "/logs/a%2Fb/stream", "/logs/41?stream=both"),
    ],
)
def test_what_is_no_job_is_400(tmp_path: Path, path: str) -> None:
    async def story(served: Served) -> None:
        asked = URL(served.url + path, encoded=True)
        async with served.http.get(asked, headers=KEY) as answer:
            assert answer.status == 400

    serving(tmp_path, story)


def test_another_method_is_405(tmp_path: Path) -> None:
    async def story(served: Served) -> None:
        for method in ("POST", "PUT", "DELETE"):
            async with served.http.request(method, f"{served.url}/logs/41", headers=KEY) as answer:
                assert answer.status == 405

    serving(tmp_path, story)


def test_no_link_leads_out_of_the_base(tmp_path: Path) -> None:
    base, outside = tmp_path / "base", tmp_path / "outside"
    base.mkdir()
    outside.mkdir()
    (outside / "slurm-2.out").write_text("secret")
    (base / "slurm-1.out").symlink_to(outside / "slurm-2.out")
    (base / "ana").symlink_to(outside)
    os.mkfifo(base / "slurm-3.out")

    async def story(served: Served) -> None:
        for job in (1, 2, 3):
            assert await served.get(f"/logs/{job}") == (404, b"log not found")

    serving(base, story)


def test_a_log_is_followed_to_the_byte_as_it_is_written(tmp_path: Path) -> None:
    file = tmp_path / "slurm-41.out"
    file.write_bytes(b"one\n\ntwo\r\n data: x\n")

    async def story(served: Served) -> None:
        async with served.following("/logs/41/stream") as stream:
            assert await stream.until(18) == b"one\n\ntwo\r\n data: x\n"
            with file.open("ab") as more:
                more.write(b"three")
                more.flush()
                assert (await stream.until(24)).endswith(b"three")
                more.write(b"\n")
                more.flush()
                assert await stream.until(25) == file.read_bytes()

    serving(tmp_path, story)


def test_a_fast_writer_is_kept_up_with(tmp_path: Path) -> None:
    file = tmp_path / "slurm-41.out"
    file.touch()
    content = b"".join(b"%0999d\n" % number for number in range(3_000))

    async def story(served: Served) -> None:
        async with served.following("/logs/41/stream") as stream:
            await stream.one()
            file.write_bytes(content)
            assert await stream.until(len(content)) == content  # 3 MB; at 8 KiB/s, 6 minutes

    serving(tmp_path, story)


def test_a_long_log_is_followed_from_near_its_end_and_no_character_is_cut(tmp_path: Path) -> None:
    file = tmp_path / "slurm-41.out"
    content = ("é€😀" * 40_000).encode()
    file.write_bytes(content)

    async def story(served: Served) -> None:
        async with served.following("/logs/41/stream") as stream:
            got = await stream.until(BEFORE_END - 3)
            assert content.endswith(got)
            assert len(got) <= BEFORE_END
            with file.open("ab", buffering=0) as more:
                for byte in "😀€".encode():
                    more.write(bytes([byte]))
                    await asyncio.sleep(0)
                await stream.until(len(got) + 7)
        for each in stream.events:
            each.decode()

    serving(tmp_path, story)


def test_a_log_that_appears_later_is_followed_then(tmp_path: Path) -> None:
    async def story(served: Served) -> None:
        async with served.following("/logs/41/stream?stream=stderr") as stream:
            await stream.one()
            assert (stream.events, stream.comments) == ([], 1)
            (tmp_path / "ana").mkdir()
            (tmp_path / "ana/slurm-41.err").write_bytes(b"x" * 100_000)
            assert await stream.until(100_000) == b"x" * 100_000

    serving(tmp_path, story)


def test_a_log_that_is_begun_anew_is_followed_from_its_beginning(tmp_path: Path) -> None:
    file = tmp_path / "slurm-41.out"
    file.write_bytes(b"first try\n")

    async def story(served: Served) -> None:
        async with served.following("/logs/41/stream") as stream:
            await stream.until(10)
            file.write_bytes(b"again\n")
            assert (await stream.until(16)).endswith(b"again\n")
            file.unlink()
            file.write_bytes(b"and again, in another file\n")
            assert (await stream.until(43)).endswith(b"and again, in another file\n")

    serving(tmp_path, story)


def test_silence_is_broken_by_comments_and_half_a_character_is_not_kept_for_ever(
    tmp_path: Path,
) -> None:
    file = tmp_path / "slurm-41.out"
    file.write_bytes(b"end\xc3")

    async def story(served: Served) -> None:
        async with served.following("/logs/41/stream") as stream:
            assert await stream.until(4) == b"end\xc3"
            comments = stream.comments
            async with asyncio.timeout(10):
                while stream.comments < comments + 2:
                    await stream.one()

    serving(tmp_path, story, keep_alive=0.1)


@pytest.mark.parametrize("data", [b"a", b"\n", b"a\n", b"\n\na\n", b" a", b"data: a\n"])
def test_data_lines_joined_with_newlines_are_the_bytes(data: bytes) -> None:
    lines = event(data).removesuffix(b"\n\n").split(b"\n")

    assert b"\n".join(line.removeprefix(b"data: ") for line in lines) == data
