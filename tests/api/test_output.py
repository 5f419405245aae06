"""What jobs have written: whole, in part, searched, and as it is written."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from clusterra.adapters.logs_local import LocalLogs
from clusterra.api.app import make_app
from clusterra.control.output import tail
from clusterra.core.access import Role
from clusterra.core.change import Change
from clusterra.core.jobs.job import JobState
from tests.api.asgi import Answer, ask
from tests.api.listening import Listener, listening
from tests.people import SOMEBODY, token_of
from tests.world import LAB, TOKEN, World

OUTPUT = f"/v1/clusters/{LAB}/jobs/1/output"


class Lab:
    """A cluster with job 1, which runs."""

    def __init__(self) -> None:
        self.world = World()
        self.plane = self.world.plane()
        self.app = make_app(self.plane)

    async def open(self) -> "Lab":
        await self.world.submitted_past_us()
        self.world.slurm.move(1, JobState.RUNNING)
        await self.world.observer.look()
        return self

    def write(self, data: bytes | None) -> None:
        if data is None:
            self.world.logs.written.pop(1, None)
        else:
            self.world.logs.written[1] = data

    async def get(self, query: str = "", **headers: str) -> Answer:
        return await ask(self.app, "GET", OUTPUT + query, **headers)

    async def end(self, state: JobState = JobState.COMPLETED) -> None:
        self.world.slurm.move(1, state)
        await self.world.observer.look()

    @asynccontextmanager
    async def follow(self, query: str = "", **headers: str) -> AsyncIterator["Heard"]:
        async with listening(self.app, f"{OUTPUT}/stream{query}", **headers) as listener:
            yield Heard(listener)


@dataclass
class Heard:
    """What somebody who follows makes of the stream, by the contract alone."""

    listener: Listener

    def blocks(self) -> list[dict[str, str]]:
        found = []
        for block in self.listener.heard.decode().split("\n\n"):
            lines = [line.partition(": ") for line in block.split("\n")]
            fields = {name: value for name, _, value in lines if name}
            if "data" in fields:
                found.append(fields)
        return found

    def told(self, kind: str) -> list[Any]:
        return [json.loads(each["data"]) for each in self.blocks() if each["event"] == kind]

    @property
    def data(self) -> bytes:
        """The bytes since the file last began."""
        data = b""
        for each in self.blocks():
            said = json.loads(each["data"])
            if each["event"] == "reset":
                data = b""
            elif each["event"] == "output":
                piece = bytes_of(said)
                assert int(each["id"]) == said["offset"] + len(piece)
                data += piece
        return data

    async def hear(self, data: bytes) -> None:
        await self.listener.until(lambda: self.data == data)


def bytes_of(said: dict[str, Any]) -> bytes:
    return said["text"].encode() if "text" in said else base64.b64decode(said["base64"])


def lab(story: Callable[[Lab], Awaitable[None]]) -> None:
    async def whole() -> None:
        await story(await Lab().open())

    asyncio.run(whole())


# --- the file


def test_output_is_given_whole_by_its_end_or_by_its_last_lines() -> None:
    async def story(lab: Lab) -> None:
        none = await lab.get()
        assert (none.status, none.json["code"]) == (404, "no-output")
        lab.write(b"one\ntwo\nthree")

        whole, tail = await lab.get(), await lab.get("?tail=4")
        lines, many = await lab.get("?lines=2"), await lab.get("?lines=9")

        assert (whole.status, whole.body) == (200, b"one\ntwo\nthree")
        assert whole.headers["content-length"] == "13"
        assert (tail.body, tail.headers["content-range"]) == (b"hree", "bytes 9-12/13")
        assert (lines.body, many.body) == (b"two\nthree", whole.body)

    lab(story)


@pytest.mark.parametrize(
    ("asked", "status", "shown", "data"),
    [
        ("bytes=0-2", 206, "bytes 0-2/8", b"one"),
        ("bytes=4-", 206, "bytes 4-7/8", b"two\n"),
        ("bytes=4-100", 206, "bytes 4-7/8", b"two\n"),
        ("bytes=-4", 206, "bytes 4-7/8", b"two\n"),
        ("bytes=-100", 206, "bytes 0-7/8", b"one\ntwo\n"),
        ("bytes=8-", 416, "bytes */8", None),
        ("bytes=-0", 416, "bytes */8", None),
        ("bytes=2-1", 200, "bytes 0-7/8", b"one\ntwo\n"),
        ("bytes=0-1,3-4", 200, "bytes 0-7/8", b"one\ntwo\n"),
        ("lines=1-2", 200, "bytes 0-7/8", b"one\ntwo\n"),
    ],
)
def test_a_range_is_answered_as_http_has_it(
    asked: str, status: int, shown: str, data: bytes | None
) -> None:
    async def story(lab: Lab) -> None:
        lab.write(b"one\ntwo\n")
        answer = await lab.get(range=asked)

        assert (answer.status, answer.headers["content-range"]) == (status, shown)
        if data is None:
            assert answer.json["code"] == "range-not-satisfiable"
        else:
            assert answer.body == data

    lab(story)


def test_an_empty_file_is_empty_and_not_missing() -> None:
    async def story(lab: Lab) -> None:
        lab.write(b"")
        for query in ("", "?tail=5", "?lines=3"):
            answer = await lab.get(query)
            assert (answer.status, answer.body) == (200, b"")
            assert answer.headers["content-range"] == "bytes */0"

    lab(story)


def test_errors_are_read_where_they_have_a_file_of_their_own() -> None:
    async def story(lab: Lab) -> None:
        lab.write(b"out\n")
        lab.world.logs.errors[1] = b"oh no\n"

        assert (await lab.get("?stream=stderr")).body == b"oh no\n"
        assert (await lab.get("?stream=stdin")).status == 422

    lab(story)


def test_lines_with_a_text_are_found_with_their_number_and_place() -> None:
    async def story(lab: Lab) -> None:
        lab.write(b"begin\nloss 0.3\nstep\nLoss 0.2\n")

        exact = (await lab.get("?grep=loss")).json
        either = (await lab.get("?grep=loss&ignore_case=true")).json
        first = (await lab.get("?grep=loss&ignore_case=true&limit=1")).json
        wrong = await lab.get("?grep=")

        assert exact == {
            "matches": [{"line": 2, "offset": 6, "at": 6, "text": "loss 0.3", "cut": False}],
            "more": False,
            "size": 29,
        }
        assert [each["line"] for each in either["matches"]] == [2, 4]
        assert (len(first["matches"]), first["more"]) == (1, True)
        assert (wrong.status, wrong.json["at"]) == (422, "grep")

    lab(story)


# --- the stream


def test_a_job_is_followed_from_before_its_file_to_its_end() -> None:
    async def story(lab: Lab) -> None:
        async with lab.follow() as heard:
            await heard.listener.until(lambda: bool(heard.told("waiting")))
            lab.write(b"one\n")
            await heard.hear(b"one\n")
            lab.write(b"one\ntwo\n")
            await heard.hear(b"one\ntwo\n")
            lab.write(b"one\ntwo\nlast words")
            await lab.end()
            await heard.listener.until(lambda: heard.listener.ended)

        assert heard.data == b"one\ntwo\nlast words"
        assert heard.told("waiting") == [{"state": "RUNNING"}]
        assert heard.told("end") == [{"size": 18, "state": "COMPLETED"}]

    lab(story)


def test_a_job_that_has_ended_is_told_whole_and_the_stream_ends() -> None:
    async def story(lab: Lab) -> None:
        lab.write(b"x" * 1_000_000)
        await lab.end(JobState.FAILED)
        async with lab.follow() as heard:
            await heard.listener.until(lambda: heard.listener.ended)

        assert heard.data == b"x" * 1_000_000
        assert heard.told("end") == [{"size": 1_000_000, "state": "FAILED"}]

    lab(story)


def test_a_job_that_ended_without_a_word_has_an_end_without_a_size() -> None:
    async def story(lab: Lab) -> None:
        await lab.end(JobState.CANCELLED)
        async with lab.follow() as heard:
            await heard.listener.until(lambda: heard.listener.ended)

        assert heard.told("end") == [{"size": None, "state": "CANCELLED"}]

    lab(story)


@pytest.mark.parametrize(
    ("query", "headers", "start"),
    [
        ("?from=4", {}, 4),
        ("?tail=4", {}, 4),
        ("?lines=1", {}, 4),
        ("?from=0", {"last_event_id": "7"}, 7),
        ("?tail=100", {}, 0),
    ],
)
def test_following_begins_at_any_byte_and_says_at_which(
    query: str, headers: dict[str, str], start: int
) -> None:
    async def story(lab: Lab) -> None:
        lab.write(b"one\ntwo\n")
        async with lab.follow(query, **headers) as heard:
            assert heard.listener.heard.startswith(b"retry: 2000\n\nid: %d\n\n" % start)
            await heard.hear(b"one\ntwo\n"[start:])

    lab(story)


def test_whoever_is_cut_off_at_any_byte_goes_on_there() -> None:
    written = "one\n zwei drei 四五 \x1b[31mred\x1b[0m\n".encode()

    async def story(lab: Lab) -> None:
        lab.write(written)
        for cut in range(len(written) + 1):
            async with lab.follow(last_event_id=str(cut)) as heard:
                await heard.hear(written[cut:])

    lab(story)


def test_a_character_is_never_cut_in_half(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail, "PATIENCE", 60)

    async def story(lab: Lab) -> None:
        text = "a四五🙂é\n".encode()
        lab.write(b"")
        async with lab.follow() as heard:
            for length in range(1, len(text) + 1):
                lab.write(text[:length])
                shown = text[:length].decode(errors="ignore").encode()
                await heard.hear(shown)
            assert all("text" in each for each in heard.told("output"))

    lab(story)


def test_what_is_no_text_is_told_byte_for_byte_and_waits_for_nothing_for_ever() -> None:
    async def story(lab: Lab) -> None:
        begun = "四".encode()[:2]
        lab.write(b"\xff\xfe\x00")
        async with lab.follow() as heard:
            await heard.hear(b"\xff\xfe\x00")
            lab.write(b"\xff\xfe\x00" + begun)
            await heard.hear(b"\xff\xfe\x00" + begun)

    lab(story)


def test_what_a_killed_job_left_of_a_character_is_told_at_its_end() -> None:
    async def story(lab: Lab) -> None:
        lab.write("done 四".encode()[:-1])
        async with lab.follow() as heard:
            await lab.end(JobState.CANCELLED)
            await heard.listener.until(lambda: heard.listener.ended)

        assert heard.data == "done 四".encode()[:-1]

    lab(story)


def test_a_file_that_is_begun_again_is_told_again_from_its_beginning() -> None:
    async def story(lab: Lab) -> None:
        lab.write(b"first try\n")
        async with lab.follow() as heard:
            await heard.hear(b"first try\n")
            lab.write(b"again\n")
            await heard.hear(b"again\n")

            assert heard.told("reset") == [{"offset": 0, "reason": "truncated"}]
        async with lab.follow(last_event_id="500") as heard:
            await heard.hear(b"again\n")
            assert heard.told("reset") == [{"offset": 0, "reason": "shorter"}]

    lab(story)


def test_a_job_that_runs_again_is_followed_on() -> None:
    async def story(lab: Lab) -> None:
        lab.write(b"first try\n")
        async with lab.follow() as heard:
            await heard.hear(b"first try\n")
            await lab.world.slurm.requeue(1, user="ana")
            await lab.world.observer.look()
            lab.world.slurm.move(1, JobState.RUNNING)
            await lab.world.observer.look()
            lab.write(b"again\n")
            await heard.hear(b"again\n")
            await lab.end()
            await heard.listener.until(lambda: heard.listener.ended)

        assert heard.told("end") == [{"size": 6, "state": "COMPLETED"}]

    lab(story)


def test_a_file_that_is_removed_is_told_as_far_as_it_was_written() -> None:
    async def story(lab: Lab) -> None:
        lab.write(b"one\n")
        async with lab.follow() as heard:
            await heard.hear(b"one\n")
            lab.write(None)
            await lab.end()
            await heard.listener.until(lambda: heard.listener.ended)

        assert heard.told("end") == [{"size": 4, "state": "COMPLETED"}]

    lab(story)


def test_many_readers_cost_one_read_and_all_get_every_byte() -> None:
    async def story(lab: Lab) -> None:
        lab.write(b"")
        async with AsyncExitStack() as stack:
            readers = [await stack.enter_async_context(lab.follow()) for _ in range(500)]
            before = lab.world.logs.reads
            written = b""
            for number in range(10):
                written += b"line %d\n" % number
                lab.write(written)
                for each in readers:
                    await each.hear(written)
            assert lab.world.logs.reads - before < 10 * 4
        assert lab.plane.output._tails == {}

    lab(story)


def test_a_reader_that_is_behind_what_is_held_reads_by_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tail, "HELD", 1000)

    async def story(lab: Lab) -> None:
        lab.write(b"")
        written = b""
        async with lab.follow() as first:
            for number in range(50):
                written += b"%d " % number * 30 + b"\n"
                lab.write(written)
                await first.hear(written)
            for start in (0, 17, len(written) - 500):
                async with lab.follow(f"?from={start}") as late:
                    await late.hear(written[start:])

    lab(story)


def test_the_stream_ends_when_the_server_is_about_to_stop() -> None:
    async def story(lab: Lab) -> None:
        async with lab.follow() as heard:
            lab.plane.hush()
            await heard.listener.until(lambda: heard.listener.ended)

    lab(story)


def test_the_stream_ends_as_soon_as_its_reader_is_removed_and_nobody_elses_does() -> None:
    async def story(lab: Lab) -> None:
        people, path = lab.plane.people, f"{OUTPUT}/stream"
        lab.write(b"one\n")
        async with (
            listening(lab.app, path, token=await token_of(lab.plane, "ben", Role.ADMIN)) as ben,
            lab.follow() as owner,
        ):
            await people.roster.remove(people.home, "ben@lab.example", by=SOMEBODY)
            await ben.until(lambda: ben.ended)
            lab.write(b"one\ntwo\n")
            await owner.hear(b"one\ntwo\n")
            assert b"two" not in ben.heard

    lab(story)


def test_nobody_reads_follows_or_searches_what_a_job_of_another_wrote() -> None:
    async def story(lab: Lab) -> None:
        lab.write(b"secret\n")
        ben = await token_of(lab.plane, "ben")
        for path in (OUTPUT, f"{OUTPUT}/stream", f"{OUTPUT}?grep=secret"):
            answer = await ask(lab.app, "GET", path, token=ben)
            assert (answer.status, answer.json["code"]) == (403, "foreign-job")
            assert b"secret\n" not in answer.body

    lab(story)


def test_nothing_is_left_of_a_reader_that_has_gone() -> None:
    async def story(lab: Lab) -> None:
        lab.write(b"one\n")
        before = asyncio.all_tasks()
        async with lab.follow() as heard, lab.follow("?tail=1"):
            await heard.hear(b"one\n")

        assert lab.plane.output._tails == {}
        assert not lab.plane.output._readers
        if left := asyncio.all_tasks() - before:
            await asyncio.wait(left, timeout=10)
        assert asyncio.all_tasks() == before

    lab(story)


def test_whoever_leaves_is_not_read_for_any_longer(tmp_path: Path) -> None:
    async def story(lab: Lab) -> None:
        (tmp_path / "tmp").mkdir()
        with (tmp_path / "tmp/huge").open("wb") as file:
            file.truncate(100 << 30)
        lab.world.site.logs = LocalLogs(tmp_path, single_user=True)
        job = replace(await lab.world.job(1), stdout="/tmp/huge")
        await lab.world.store.commit(LAB, Change(jobs=[job]))

        async with listening(lab.app, OUTPUT) as reader:
            await reader.until(lambda: len(reader.heard) > 1 << 20)
            reader.leave()
        async with asyncio.timeout(10):
            await gone_while_asking(lab, f"{OUTPUT}?grep=needle")

    lab(story)


async def gone_while_asking(lab: Lab, path: str) -> None:
    """Ask, and leave before there is an answer."""
    route, _, query = path.partition("?")
    scope: Any = {
        "type": "http",
        "http_version": "1.1",
        "method": "GET",
        "path": route,
        "raw_path": route.encode(),
        "query_string": query.encode(),
        "headers": [(b"authorization", f"Bearer {TOKEN}".encode())],
        "server": ("test", 80),
        "scheme": "http",
        "root_path": "",
    }
    listener = Listener()
    listener.leave()
    await lab.app(scope, listener.receive, listener.send)
