"""Stamps on jobs, and asking for earlier runs, with a slurmrestd that says what it is told to."""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec
import pytest

from clusterra.adapters.slurmrest import SlurmRest
from clusterra.adapters.slurmrest.stamp import one_line
from clusterra.core.errors import Unreachable
from clusterra.core.jobs.job import JobState
from tests.adapters.slurmrest.replay import (
    Answer,
    FakeSlurmrestd,
    fake_slurmrestd,
    raw,
    recording,
    replays,
    says,
    talking_to,
)
from tests.builders import a_job

pytestmark = pytest.mark.enable_socket

LIVE = "POST /slurm/{v}/job/41"
PAST = "POST /slurmdb/{v}/job/41"


def with_slurm(
    story: Callable[[FakeSlurmrestd, SlurmRest], Awaitable[None]], version: str = "v0.0.45"
) -> None:
    async def whole() -> None:
        async with fake_slurmrestd(version) as fake, talking_to(fake.url) as slurm:
            await story(fake, slurm)

    asyncio.run(whole())


def complains(number: int, status: int = 422) -> Answer:
    return says({"errors": [{"error_number": number, "error": "so it is"}]}, status)


async def unchanged(_request: object, writer: asyncio.StreamWriter) -> None:
    writer.write(raw(304, b"", "text/plain"))


def test_a_stamp_has_no_character_that_moves_a_cursor_and_an_end() -> None:
    assert one_line("a\tb\r\nc\x1b[2J\x00\u2028\ud800") == "a b  c [2J   "
    assert one_line("é" * 300) == "é" * 256


def test_a_job_that_lives_is_stamped_at_the_controller() -> None:
    async def story(fake: FakeSlurmrestd, slurm: SlurmRest) -> None:
        fake.on(LIVE.format(v="v0.0.45"), says({"errors": []}))

        assert await slurm.stamp(a_job(41, state=JobState.RUNNING), "cost $0.42")

        sent = msgspec.json.decode(fake.requests[-1].body)
        assert sent == {"admin_comment": "cost $0.42"}

    with_slurm(story)


@pytest.mark.parametrize(("version", "taken"), [("v0.0.43", False), ("v0.0.44", True)])
@pytest.mark.parametrize("why", [2084, 2021, 2017])
def test_one_that_has_ended_meanwhile_is_stamped_in_accounting_where_that_takes_it(
    why: int, version: str, taken: bool
) -> None:
    async def story(fake: FakeSlurmrestd, slurm: SlurmRest) -> None:
        fake.on(LIVE.format(v=version), complains(why))
        fake.on(PAST.format(v=version), says({"results": ["41"], "errors": []}))

        assert await slurm.stamp(a_job(41, state=JobState.RUNNING), "cost $0.42") is taken

        assert fake.asked(PAST.format(v=version)) == taken

    with_slurm(story, version)


@pytest.mark.parametrize(("release", "version"), [("24.11", "v0.0.42"), ("26.05", "v0.0.45")])
def test_what_slurm_answers_to_a_change_of_an_ended_job_is_no_stamp(
    release: str, version: str
) -> None:
    async def story(fake: FakeSlurmrestd, slurm: SlurmRest) -> None:
        fake.on(LIVE.format(v=version), replays(recording(release, version, "edit-ended")))
        fake.on(PAST.format(v=version), unchanged)

        assert not await slurm.stamp(a_job(41, state=JobState.RUNNING), "cost $0.42")

    with_slurm(story, version)


@pytest.mark.parametrize("answer", [unchanged, complains(2002), complains(2010), complains(7777)])
def test_a_stamp_that_slurm_does_not_take_is_no_error(answer: Answer) -> None:
    async def story(fake: FakeSlurmrestd, slurm: SlurmRest) -> None:
        fake.on(PAST.format(v="v0.0.45"), answer)

        assert not await slurm.stamp(a_job(41, state=JobState.COMPLETED), "cost $0.42")
        assert fake.asked(LIVE.format(v="v0.0.45")) == 0

    with_slurm(story)


@pytest.mark.parametrize(
    ("path", "state", "number"),
    [(LIVE, JobState.RUNNING, 1800), (PAST, JobState.COMPLETED, 7000)],
)
def test_a_stamp_says_when_slurm_could_not_be_asked(
    path: str, state: JobState, number: int
) -> None:
    async def story(fake: FakeSlurmrestd, slurm: SlurmRest) -> None:
        fake.on(path.format(v="v0.0.45"), complains(number, 500))

        with pytest.raises(Unreachable):
            await slurm.stamp(a_job(41, state=state), "cost $0.42")

    with_slurm(story)


def test_a_task_is_stamped_by_its_label_and_the_waiting_tasks_of_an_array_never() -> None:
    async def story(fake: FakeSlurmrestd, slurm: SlurmRest) -> None:
        fake.on("POST /slurmdb/v0.0.45/job/41_7", says({"results": ["41"], "errors": []}))
        fake.on(PAST.format(v="v0.0.45"), says({"results": ["41", "40"], "errors": []}))
        task = a_job(41, state=JobState.COMPLETED, array_id=41, array_task=7)
        rest = a_job(41, state=JobState.CANCELLED, array_id=41, array_waiting="8-9")

        assert await slurm.stamp(task, "cost $0.42")
        assert not await slurm.stamp(rest, "cost $0.42")

        assert fake.asked(PAST.format(v="v0.0.45")) == 0

    with_slurm(story)


def test_accounting_is_asked_for_all_runs_and_those_of_other_tasks_are_left_out() -> None:
    async def story(fake: FakeSlurmrestd, slurm: SlurmRest) -> None:
        rows = [
            {
                "job_id": id,
                "nodes": "w1",
                "restart_cnt": restarts,
                "state": {"current": ["RUNNING"] if restarts else ["PENDING", "REQUEUED"]},
                "time": {"submission": 100 + restarts, "start": 100 + restarts, "end": 101},
            }
            for id in (41, 42)
            for restarts in (0, 1)
        ]
        fake.on("GET /slurmdb/v0.0.45/jobs/", says({"jobs": rows, "errors": []}))

        [run] = await slurm.earlier_runs(41)

        assert (run.id, run.restarts) == (41, 0)
        assert "step=41&show_duplicates=true&" in fake.requests[-1].path

    with_slurm(story)
