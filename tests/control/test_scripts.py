"""Scripts that are submitted by name are kept, with their versions, and hold up no job."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from clusterra.api.app import make_app
from clusterra.core.errors import Unreachable
from clusterra.ports import Stored
from tests.api.asgi import ask
from tests.objects import store_in
from tests.world import LAB, World

KEY = "ana@localhost/scripts/train.sh"


class Desk:
    def __init__(self, directory: Path) -> None:
        self.world = World()
        self.files = self.world.site.files = store_in(directory, self.world.clock)
        self.plane = self.world.plane()
        self.app = make_app(self.plane)

    async def submit(self, script: str, name: str | None = "train.sh", **more: Any) -> int:
        body = {"script": script, "script_name": name} | more
        answer = await ask(self.app, "POST", f"/v1/clusters/{LAB}/jobs/submit", body)
        await self.plane.scripts.settle()
        return answer.status

    async def versions(self) -> list[Stored]:
        return list(await self.files.versions(KEY))


def run(directory: Path, story: Callable[[Desk], Awaitable[None]]) -> None:
    asyncio.run(story(Desk(directory)))  # type: ignore[arg-type]


def test_each_script_that_differs_is_a_version(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        for text in ("#!/bin/sh\n1\n", "#!/bin/sh\n2\n", "#!/bin/sh\n2\n"):
            assert await desk.submit(text) == 201

        assert len(await desk.versions()) == 2
        pieces = [piece async for piece in desk.files.read(KEY)]
        assert b"".join(pieces) == b"#!/bin/sh\n2\n"

    run(tmp_path, story)


@pytest.mark.parametrize("name", [None, "", "../../etc/passwd", "a\x00", "x\u202e"])
def test_without_a_name_that_a_file_can_have_nothing_is_kept(
    tmp_path: Path, name: str | None
) -> None:
    async def story(desk: Desk) -> None:
        assert await desk.submit("#!/bin/sh\n", name) == 201

        assert await desk.versions() == []

    run(tmp_path, story)


def test_a_store_that_cannot_be_reached_holds_up_no_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: object, **__: object) -> None:
        raise Unreachable("The bucket does not answer.")

    async def story(desk: Desk) -> None:
        monkeypatch.setattr(desk.files, "put", away)

        assert await desk.submit("#!/bin/sh\n") == 201

    run(tmp_path, story)


def test_a_job_that_is_refused_leaves_no_script(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        assert await desk.submit("#!/bin/sh\n", partition="nowhere", nodes=-1) == 422

        assert await desk.versions() == []

    run(tmp_path, story)
