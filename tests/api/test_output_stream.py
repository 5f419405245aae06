"""What jobs write, as it is written: what whoever follows hears, from where, and when it ends."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import timedelta

import pytest

from clusterra.control.output import tail
from clusterra.core.access import Role
from clusterra.core.change import Change
from clusterra.core.jobs.job import JobState
from tests.api.listening import listening
from tests.api.output_lab import OUTPUT, Lab, lab
from tests.builders import NOON
from tests.ledger import a_draft
from tests.people import SOMEBODY, token_of
from tests.world import LAB


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


def test_whoever_follows_a_job_does_not_get_the_next_one_that_has_its_number() -> None:
    async def story(lab: Lab) -> None:
        lab.write(b"hers\n")
        async with lab.follow() as heard:
            await heard.hear(b"hers\n")
            later = replace(await lab.world.job(1), user="ben", born_at=NOON + timedelta(days=400))
            await lab.world.store.commit(LAB, Change(jobs=[later], events=[a_draft(1)]))
            await heard.listener.until(lambda: heard.listener.ended)

            assert heard.told("end") == [{"size": 5, "state": "LOST"}]

    lab(story)


def test_who_wants_only_the_bytes_gets_only_the_bytes() -> None:
    async def story(lab: Lab) -> None:
        lab.write(b"one\xff\n")
        async with lab.follow("?from=1", accept="text/plain") as follower:
            heard = follower.listener
            await heard.until(lambda: heard.heard == b"ne\xff\n")
            lab.write(b"one\xff\n\xe2\x82")  # the beginning of a character
            await heard.until(lambda: heard.heard == b"ne\xff\n\xe2\x82")
            lab.write(b"new")
            await heard.until(lambda: heard.heard == b"ne\xff\n\xe2\x82new")
            await lab.end()
            await heard.until(lambda: heard.ended)

        assert heard.heard == b"ne\xff\n\xe2\x82new"

    lab(story)
