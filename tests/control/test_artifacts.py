"""What a job declared and left behind: told with its end, and kept among its owner's files."""

import asyncio
import hashlib
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from clusterra.adapters.job_files_local import LocalJobFiles
from clusterra.api.app import make_app
from clusterra.core.change import Change, Record
from clusterra.core.errors import Unreachable
from clusterra.core.events.event import EventQuery
from clusterra.core.files.kept import TO_KEEP
from clusterra.core.jobs.artifacts import DECLARED, Artifact, Declared
from clusterra.core.jobs.comment import Mark, stamp
from clusterra.core.jobs.job import JobState
from clusterra.core.jobs.request import JobRequest
from clusterra.ports import Found, Objects
from tests.api.asgi import ask
from tests.objects import store_in
from tests.world import LAB, World

RUN = "0192f0c1-2d3e-7a4b-8c5d-6e7f8a9b0c1d"
OWNER = "ana@localhost"


@dataclass
class Bench:
    """A cluster on this machine, whose jobs run as whoever runs the test."""

    directory: Path
    world: World = field(default_factory=World)

    def __post_init__(self) -> None:
        self.root = self.directory / "root"
        (self.root / "etc").mkdir(parents=True)
        (self.root / "etc/passwd").write_text(f"ana:x:{os.geteuid()}:0::/home/ana:/bin/sh\n")
        (self.root / "home/ana").mkdir(parents=True)
        self.world.site.job_files = LocalJobFiles(self.root)
        self.files = self.world.site.files = store_in(self.directory, self.world.clock)
        self.plane = self.world.plane()
        self.app = make_app(self.plane)
        self.artifacts = self.plane.artifacts[LAB]

    async def ended(
        self, *artifacts: Artifact, write: dict[str, bytes], state: str = "COMPLETED"
    ) -> int:
        """Have a job declare, write and end; return its id."""
        await self.plane.open()
        assert self.plane.people.operator.email == OWNER
        await self.files.make_room(OWNER, None)
        declared = Declared(user="ana", email=OWNER, artifacts=artifacts)
        record = Record(kind=DECLARED, id=RUN, value=declared)
        await self.plane.store.commit(LAB, Change(puts=[record]))
        await self.world.observer.look()
        request = JobRequest(script="#!/bin/sh\n", properties={"comment": stamp(Mark(run_id=RUN))})
        id = (await self.world.slurm.submit(request, user="ana")).job_id
        self.world.slurm.move(id, JobState.RUNNING)
        await self.world.observer.look()
        for path, data in write.items():
            place = self.root / path.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
        self.world.slurm.move(id, JobState(state))
        await self.world.observer.look()
        return id

    async def told(self) -> Any:
        events = await self.plane.store.events(LAB, EventQuery(types=("job.*",), limit=100))
        ends = [json.loads(event.body) for event in events]
        [end] = [each["data"] for each in ends if "artifacts" in each["data"]]
        return end["artifacts"]

    async def listed(self, id: int) -> Any:
        return (await ask(self.app, "GET", f"/v1/clusters/{LAB}/jobs/{id}/artifacts")).json


def run(directory: Path, story: Callable[[Bench], Awaitable[None]]) -> None:
    asyncio.run(story(Bench(directory)))  # type: ignore[arg-type]


BAM = Artifact(key="alignment", path="/home/ana/run/*.bam", role="result")
LOG = Artifact(key="log", path="/home/ana/run/align.log", role="log")


def test_they_are_told_with_the_end_and_kept_afterwards(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        id = await bench.ended(
            BAM,
            LOG,
            write={
                "/home/ana/run/a.bam": b"aaa",
                "/home/ana/run/b.bam": b"bb",
                "/home/ana/run/align.log": b"ok",
                "/home/ana/run/other": b"x",
            },
        )
        before = await bench.listed(id)
        await bench.artifacts.keep()
        after = await bench.listed(id)

        assert await bench.told() == [
            {"key": "alignment", "name": "a.bam", "size": 3, "role": "result"},
            {"key": "alignment", "name": "b.bam", "size": 2, "role": "result"},
            {"key": "log", "name": "align.log", "size": 2, "role": "log"},
        ]
        assert (before["total"], before["complete"]) == (3, False)
        assert after["complete"] is True
        first = after["artifacts"][0]
        assert (first["location"], first["path"]) == ("outputs", f"{RUN}/a.bam")
        pieces = [piece async for piece in bench.files.read(f"{OWNER}/outputs/{first['path']}")]
        assert b"".join(pieces) == b"aaa"
        assert len(first["sha256"]) == 64

    run(tmp_path, story)


@pytest.mark.parametrize("state", ["FAILED", "TIMEOUT", "CANCELLED"])
def test_a_job_that_fails_leaves_things_behind_too(tmp_path: Path, state: str) -> None:
    async def story(bench: Bench) -> None:
        await bench.ended(LOG, write={"/home/ana/run/align.log": b"ok"}, state=state)

        assert [each["name"] for each in await bench.told()] == ["align.log"]

    run(tmp_path, story)


def test_what_lies_among_the_outputs_already_is_not_copied(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        (bench.root / "mnt").mkdir()
        (bench.directory / "efs").rename(bench.root / "mnt/efs")
        bench.files._root = bench.root / "mnt/efs"
        path = f"/mnt/efs/{OWNER}/outputs/run7/y.bin"
        id = await bench.ended(Artifact(key="y", path=path), write={path: b"12345"})
        await bench.artifacts.keep()
        listed = await bench.listed(id)

        assert listed["complete"] is True
        assert listed["artifacts"][0]["path"] == "run7/y.bin"
        assert listed["artifacts"][0]["sha256"] == hashlib.sha256(b"12345").hexdigest()
        assert (await bench.files.used(f"{OWNER}/")).files == 1

    run(tmp_path, story)


def test_of_a_folder_all_that_is_in_it_is_left_behind(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        folder = "/home/ana/run/predictions"
        id = await bench.ended(
            Artifact(key="all", path=folder),
            write={f"{folder}/a/one.cif": b"1", f"{folder}/b/one.cif": b"22", f"{folder}/z": b""},
        )
        (bench.root / "home/ana/run/predictions/link").symlink_to("/etc/passwd")
        await bench.artifacts.keep()

        names = ["predictions/a/one.cif", "predictions/b/one.cif", "predictions/z"]
        assert [each["name"] for each in await bench.told()] == names
        listed = await bench.listed(id)
        assert [each["path"] for each in listed["artifacts"]] == [f"{RUN}/{n}" for n in names]
        assert all(each["kept"] for each in listed["artifacts"])

    run(tmp_path, story)


def test_links_and_others_files_are_not_left_behind(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        (tmp_path / "shadow").write_bytes(b"secret")
        (bench.root / "home/ana/run").mkdir()
        (bench.root / "home/ana/run/x.bam").symlink_to(tmp_path / "shadow")
        (bench.root / "home/ana/dir").symlink_to(tmp_path)
        os.mkfifo(bench.root / "home/ana/run/pipe.bam")
        await bench.ended(
            BAM,
            Artifact(key="dir", path="/home/ana/dir/shadow"),
            Artifact(key="up", path="/home/ana/../../shadow"),
            Artifact(key="passwd", path="/etc/passwd"),
            Artifact(key="relative", path="shadow"),
            write={},
        )

        assert await bench.told() == []

    run(tmp_path, story)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
def test_a_file_of_somebody_else_is_not_theirs_to_leave(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        place = bench.root / "home/ana/run/align.log"
        place.parent.mkdir()
        place.write_bytes(b"of ben")
        os.chown(place, 20002, 20002)
        await bench.ended(LOG, write={})

        assert await bench.told() == []

    run(tmp_path, story)


@dataclass
class Away:
    """A store that cannot be reached for a while."""

    inner: Objects
    away: bool = True

    async def put(self, *given: Any) -> None:
        if self.away:
            raise Unreachable("The bucket does not answer.")
        await self.inner.put(*given)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def test_what_could_not_be_kept_is_kept_later_by_whoever_comes_up(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        away = Away(bench.files)
        bench.world.site.files = away
        id = await bench.ended(LOG, write={"/home/ana/run/align.log": b"ok"})
        assert await bench.artifacts.keep() is True
        assert (await bench.listed(id))["complete"] is False

        away.away = False
        anew = bench.world.plane()
        await anew.open()
        assert await anew.artifacts[LAB].keep() is False

        assert (await bench.listed(id))["complete"] is True

    run(tmp_path, story)


class Slow(LocalJobFiles):
    """A file system on which everything takes its time."""

    patient = False

    async def find(self, user: str, pattern: str) -> Any:
        if not self.patient:
            await asyncio.Event().wait()
        return await super().find(user, pattern)


def test_a_slow_file_system_holds_up_no_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(bench: Bench) -> None:
        monkeypatch.setattr("clusterra.control.files.artifacts.PATIENCE", 0.01)
        slow = bench.world.site.job_files = Slow(bench.root)
        id = await bench.ended(LOG, write={"/home/ana/run/align.log": b"ok"})

        assert await bench.told() == []
        slow.patient = True
        await bench.artifacts.keep()
        await bench.artifacts.keep()
        assert (await bench.listed(id))["artifacts"][0]["kept"] is True

    run(tmp_path, story)


class Vanishing(LocalJobFiles):
    """Finds what is gone when it is read."""

    async def find(self, user: str, pattern: str) -> Sequence[Found]:  # type: ignore[override]
        return [Found(path=pattern, size=3, name="align.log")]

    async def read(self, user: str, path: str) -> AsyncIterator[bytes]:
        async for piece in super().read(user, path):
            yield piece


def test_what_is_gone_before_it_is_kept_is_said_to_be(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        bench.world.site.job_files = Vanishing(bench.root)
        id = await bench.ended(LOG, write={})
        await bench.artifacts.keep()

        [one] = (await bench.listed(id))["artifacts"]
        assert (one["kept"], one["why_not"]) == (False, "It is not there any more.")

    run(tmp_path, story)


def test_keeping_is_woken_when_what_is_to_be_kept_is_written_down(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        to_keep: list[int] = []

        def woken() -> None:
            # At once: a loop that is woken earlier finds nothing, and rests for minutes.
            waiting = bench.world.store.list(TO_KEEP)
            tasks.append(asyncio.ensure_future(waiting))

        tasks: list[asyncio.Future[Sequence[Record[int]]]] = []
        bench.world.site.recorder.has_left = woken
        id = await bench.ended(LOG, write={"/home/ana/run/align.log": b"ok"})
        [found] = await asyncio.gather(*tasks)
        to_keep += [each.value for each in found]
        await bench.artifacts.keep()

        assert to_keep == [id]
        assert await bench.world.store.list(TO_KEEP) == []

    run(tmp_path, story)
