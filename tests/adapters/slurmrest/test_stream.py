"""Long lists, read while they arrive."""

import tracemalloc
from itertools import chain
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from clusterra.adapters.slurmrest.decode import Envelope, read, read_list
from clusterra.adapters.slurmrest.jobs import JobInfo
from clusterra.adapters.slurmrest.stream import Broken, Elements, Piece
from tests.adapters.slurmrest.replay import SPOKEN, elements, recording


def names(some: Piece) -> list[tuple[int, str]]:
    return [(info.job_id, info.name) for info in read_list(some, JobInfo)]


def listened(text: bytes, size: int) -> tuple[list[tuple[int, str]], Envelope]:
    reader = Elements("jobs", names)
    found: list[tuple[int, str]] = []
    for at in range(0, len(text), size):
        for some in reader.feed(text[at : at + size]):
            found += some
    last, envelope = reader.finish()
    return [*found, *chain.from_iterable(last)], envelope


@pytest.mark.parametrize("size", [1, 7, 100, 4096, 10_000_000])
@pytest.mark.parametrize(("release", "version"), [SPOKEN[0], SPOKEN[-1]])
def test_a_list_is_the_same_however_it_arrives(release: str, version: str, size: int) -> None:
    reply = recording(release, version, "jobs")

    found, envelope = listened(reply.body, size)

    jobs = [read(each, JobInfo) for each in elements(reply, "jobs")]
    assert found == [(job.job_id, job.name) for job in jobs]
    assert len(found) >= 12
    assert envelope.meta is not None
    assert envelope.meta["slurm"]["release"].startswith(release)


def test_compact_and_spread_out_text_are_alike() -> None:
    text = recording("24.11", "v0.0.42", "jobs").body
    compact = msgspec.json.encode(msgspec.json.decode(text))
    odd = compact.replace(b"},{", b"}\n ,\t{ ")

    assert b"\n" in text
    assert listened(text, 999)[0] == listened(compact, 999)[0] == listened(odd, 999)[0]


@pytest.mark.parametrize(
    "text",
    [
        b'{"jobs":[],"errors":[]}',
        b'{"jobs": [\n ],"meta":{}}',
        b'{"jobs":null,"errors":[]}',
        b'{"errors":[]}',
        b"{}",
    ],
)
def test_an_empty_list_is_empty(text: bytes) -> None:
    assert listened(text, 3)[0] == []


def test_errors_after_the_list_are_seen() -> None:
    text = b'{"jobs":[{"job_id":1}],"errors":[{"error_number":1800}]}'

    assert listened(text, 5)[1].errors == [{"error_number": 1800}]


@pytest.mark.parametrize("size", [3, 50, 100_000])
def test_objects_inside_that_begin_alike_do_not_split_a_job(size: int) -> None:
    nested = [{"account": n, "why": "}"} for n in range(5)]
    jobs = [{"account": "a", "x": nested, "job_id": n, "name": "},{"} for n in range(40)]

    with capture_logs() as logs:
        found, _ = listened(msgspec.json.encode({"jobs": jobs, "meta": {}}), size)

    assert found == [(n, "},{") for n in range(40)]
    assert logs == []


def test_a_list_that_cannot_be_split_is_taken_whole_and_that_is_said() -> None:
    nested = [{"account": n} for n in range(300)]
    jobs = [{"account": "a", "x": nested, "job_id": n} for n in range(5)]

    with capture_logs() as logs:
        found, _ = listened(msgspec.json.encode({"jobs": jobs, "meta": {}}), 500)

    assert [id for id, _ in found] == [0, 1, 2, 3, 4]
    assert [each["event"] for each in logs] == ["slurm.list_not_splittable"]


def test_a_list_that_breaks_off_is_never_taken_for_a_short_one() -> None:
    text = recording("26.05", "v0.0.45", "jobs").body

    for cut in (1, 100, len(text) // 2, len(text) - 1):
        with pytest.raises(Broken):
            listened(text[:cut], 1000)


def test_one_job_that_is_odd_does_not_hide_those_that_arrived_with_it() -> None:
    jobs: list[object] = [{"job_id": 1, "name": None}, "?", {"job_id": 2, "name": "align"}]

    found, _ = listened(msgspec.json.encode({"jobs": jobs}), 1000)

    assert found == [(1, ""), (0, ""), (2, "align")]


json_text = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text('{}[],:"\\ a', max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["account", "job_id2", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.lists(json_text, max_size=8), st.integers(1, 60), st.booleans())
def test_no_content_of_a_job_confuses_the_reader(
    contents: list[Any], size: int, spread: bool
) -> None:
    jobs = [{"account": each, "job_id": n, "name": "j"} for n, each in enumerate(contents)]
    text = msgspec.json.encode({"jobs": jobs, "errors": []})

    found, _ = listened(msgspec.json.format(text) if spread else text, size)

    assert [id for id, _ in found] == list(range(len(contents)))


def test_ten_thousand_jobs_of_8_kb_are_never_held_together() -> None:
    one = msgspec.json.decode(elements(recording("26.05", "v0.0.45", "jobs"), "jobs")[0])
    piece = msgspec.json.encode({**one, "submit_line": "x" * 3000})
    text = memoryview(b",".join([piece] * 50))
    reader, count = Elements("jobs", names), 0

    tracemalloc.start()
    count += sum(map(len, reader.feed(b'{"jobs":[')))
    for round_ in range(200):
        for at in range(0, len(text), 131072):
            count += sum(map(len, reader.feed(bytes(text[at : at + 131072]))))
        count += sum(map(len, reader.feed(b"," if round_ < 199 else b"],")))
    count += sum(map(len, reader.feed(b'"errors":[]}')))
    last, _ = reader.finish()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert count + sum(map(len, last)) == 10_000
    assert peak < 4_000_000
