"""The spool: in order, whole or put aside, and honest about what had to go."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterra.agent.note import Note, spelled
from clusterra.agent.quota import Quota, given_up, is_full
from clusterra.agent.spool import MOST_BAD, Spool
from clusterra.core.errors import Refused

SECOND = 10**9


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    made = Spool(tmp_path / "spool", Quota(files=10))
    made.open()
    return made


def put(spool: Spool, job: int, hook: str = "prolog_slurmctld", *, at: int = 0) -> Path:
    file = spool.new / f"{job}.0.{hook}.w1.{at}"
    file.write_bytes(spelled({"HOOK": hook, "JOB": job}))
    os.utime(file, ns=((at or job) * SECOND, (at or job) * SECOND))
    return file


def jobs(spool: Spool) -> list[int]:
    return [int(note.name.split(".")[0]) for note in spool.notes() if not note.is_gap]


def gaps(spool: Spool) -> list[dict[str, str]]:
    read = [spool.read(note) for note in spool.notes() if note.is_gap]
    return [each for each in read if each is not None]


def test_what_was_written_first_is_sent_first(spool: Spool) -> None:
    for job, at in ((3, 30), (1, 20), (2, 10)):
        put(spool, job, at=at)

    assert jobs(spool) == [2, 1, 3]


def test_a_note_stays_until_it_is_done_with(spool: Spool) -> None:
    put(spool, 1)
    put(spool, 2)
    again = Spool(spool.path)
    again.open()

    again.done(again.notes()[:1])

    assert jobs(spool) == [2]


@pytest.mark.parametrize(
    "content",
    [b"", b"HOOK=jobcomp\0JOB=41\0", b"\xff" * 100, b"HOOK=other\0WHOLE=1\0", b"WHOLE=1"],
)
def test_what_cannot_be_read_is_put_aside_with_its_why(spool: Spool, content: bytes) -> None:
    (spool.new / "41.0.jobcomp..7").write_bytes(content)
    put(spool, 42)

    assert [spool.read(note) is None for note in spool.notes()].count(True) == 1
    assert jobs(spool) == [42]
    assert (spool.bad / "41.0.jobcomp..7").read_bytes() == content
    assert (spool.bad / "41.0.jobcomp..7.why").read_text().strip()


def test_what_is_put_aside_does_not_pile_up_for_ever(spool: Spool) -> None:
    for number in range(2 * MOST_BAD + 5):
        (spool.bad / str(number)).touch()

    spool.refuse(Note(name="x", nanoseconds=0, size=0), "why not")

    assert len(list(spool.bad.iterdir())) == 2 * MOST_BAD


def test_over_its_quota_the_oldest_go_first_and_the_ends_of_jobs_last(spool: Spool) -> None:
    for job in range(1, 7):
        put(spool, job)
    for job in range(11, 17):
        put(spool, job, "jobcomp", at=job - 10)

    assert jobs(spool) == [11, 12, 13, 14, 4, 15, 5, 16, 6]
    [gap] = gaps(spool)
    assert gap["lost"] == "3"
    assert gap["since"] == datetime.fromtimestamp(1, UTC).isoformat()


def test_what_had_to_go_is_said_once(spool: Spool) -> None:
    for job in range(1, 13):
        put(spool, job)

    for _ in range(3):
        spool.notes()

    assert [gap["lost"] for gap in gaps(spool)] == ["3"]


def test_hooks_are_told_to_stop_while_only_ends_are_left_and_may_go_on_later(spool: Spool) -> None:
    full = spool.path / "full"
    for job in range(1, 10):
        put(spool, job, "jobcomp")
    spool.notes()
    assert full.exists()

    spool.done(spool.notes()[:5])
    spool.notes()
    assert not full.exists()


def test_what_hooks_could_not_keep_becomes_a_gap_once(spool: Spool) -> None:
    with (spool.path / "lost").open("ab") as lost:
        lost.write(b"....")

    assert (spool.tidy(), spool.tidy()) == (4, 0)
    [gap] = gaps(spool)
    assert (gap["event"], gap["lost"]) == ("collector.gap", "4")
    assert gap["since"] <= gap["until"]


def test_a_directory_that_cannot_be_used_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(Refused) as refused:
        Spool(tmp_path / "file").open()

    assert refused.value.code == "spool-unusable"


def test_whoever_owns_the_spool_may_write_what_the_collector_makes(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("Only root can make files for others.")
    place = tmp_path / "spool"
    place.mkdir()
    os.chown(place, 64030, 64030)

    Spool(place).open()

    assert {file.stat().st_uid for file in place.iterdir()} == {64030}


NOTES = st.lists(
    st.builds(
        Note,
        name=st.sampled_from(["1.0.jobcomp..1", "1.0.prolog_slurmctld..1", "gap.1"]),
        nanoseconds=st.integers(0, 100),
        size=st.integers(0, 20_000),
    ),
    max_size=40,
)


@given(NOTES, st.integers(1, 40), st.integers(1, 100_000))
def test_whatever_the_spool_holds_ends_go_only_when_nothing_else_is_left(
    notes: list[Note], files: int, size: int
) -> None:
    notes = sorted(notes, key=lambda note: note.nanoseconds)
    quota = Quota(files=files, bytes=size)

    gone = given_up(notes, quota)
    ids = {id(note) for note in gone}
    kept = [note for note in notes if id(note) not in ids]

    assert not any(note.is_gap for note in gone)
    if any(note.tells_of_an_end for note in gone):
        assert not any(not note.tells_of_an_end and not note.is_gap for note in kept)
    if not all(note.is_gap for note in kept):
        assert given_up(kept, quota) == []
    if is_full(kept, quota):
        assert all(note.tells_of_an_end or note.is_gap for note in kept)
