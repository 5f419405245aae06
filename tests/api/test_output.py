"""What jobs have written: whole, in part, and searched."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clusterra.adapters.logs_local import LocalLogs
from clusterra.core.change import Change
from tests.api.asgi import ask
from tests.api.listening import Listener, listening
from tests.api.output_lab import OUTPUT, Lab, lab
from tests.people import token_of
from tests.world import LAB, TOKEN


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


def test_nobody_reads_follows_or_searches_what_a_job_of_another_wrote() -> None:
    async def story(lab: Lab) -> None:
        lab.write(b"secret\n")
        ben = await token_of(lab.plane, "ben")
        for path in (OUTPUT, f"{OUTPUT}/stream", f"{OUTPUT}?grep=secret"):
            answer = await ask(lab.app, "GET", path, token=ben)
            assert (answer.status, answer.json["code"]) == (403, "foreign-job")
            assert b"secret\n" not in answer.body

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
