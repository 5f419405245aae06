"""Reading slurmrestd's list of jobs, without the network."""

import json
from collections.abc import Iterator

from bench.figure import Goal, Row
from bench.inflate import Queue
from bench.stage import Stage
from bench.timing import seconds
from clusterra.adapters.slurmrest.decode import read_list
from clusterra.adapters.slurmrest.duplicates import Newest
from clusterra.adapters.slurmrest.jobs import JobInfo, job
from clusterra.adapters.slurmrest.stream import Elements, Piece
from clusterra.core.jobs.job import Job

JOBS = 2_500
ROUNDS = 7
"""The quickest counts: whatever else the machine did can only have made a round slower."""
PER = 10_000
CHUNK = 131_072
"""Bytes that arrive at once."""


def decode(_: Stage) -> Iterator[Row]:
    reply = b"".join(Queue(jobs=JOBS, job_bytes=8_000).reply())
    chunks = [reply[at : at + CHUNK] for at in range(0, len(reply), CHUNK)]
    assert _jobs(chunks) == JOBS
    ours, whole = [], []
    for _round in range(ROUNDS):
        ours.append(seconds(lambda: _jobs(chunks)))
        whole.append(seconds(lambda: json.loads(reply)))
    yield Row(
        name="decode",
        what="seconds for 10,000 jobs of 8 kB, from the bytes as they arrive to jobs",
        ours=min(ours) * PER / JOBS,
        unit="s",
        beside=min(whole) * PER / JOBS,
        beside_what="json.loads of the same bytes, all at once",
        goal=Goal(bound=0.25),
    )


def _jobs(chunks: list[bytes]) -> int:
    """Do what the adapter does with a list, and count the jobs; none of them is kept."""
    elements = Elements("jobs", _some)
    seen = Newest()
    found = 0
    for chunk in chunks:
        for some in elements.feed(chunk):
            found += sum(map(seen.is_news, some))
    last, _ = elements.finish()
    return found + sum(sum(map(seen.is_news, some)) for some in last)


def _some(data: Piece) -> list[Job]:
    return [job(each) for each in read_list(data, JobInfo)]
