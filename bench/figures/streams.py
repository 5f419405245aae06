"""How late live events come when many follow them."""

import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

from bench.figure import Goal, Row
from bench.listen import listen
from bench.processes import REPOSITORY, scratch
from bench.stage import Stage
from bench.talk import CLUSTER, TOKEN
from bench.timing import percentile

READERS = 1_000
EVERY = 0.1
"""Seconds between two events: ten a second, ten thousand frames a second in all."""

SECONDS = 5
ROUNDS = 3


def streams(_: Stage) -> Iterator[Row]:
    allow_files(READERS + 200)
    with (
        scratch() as state,
        _talking("ours", "--state", str(state)) as ours,
        _talking("bare") as bare,
    ):
        turns = [(_late(ours), _late(bare)) for _ in range(ROUNDS)]
    yield Row(
        name="sse-1000",
        what=f"p99 from commit to reader, {READERS:,} readers of {1 / EVERY:.0f} events/s",
        ours=median(turn[0] for turn in turns),
        unit="ms",
        beside=median(turn[1] for turn in turns),
        beside_what="the same frames from a bare ASGI application, without a ledger",
        goal=Goal(bound=1.5, of_ratio=True),
    )


@contextmanager
def _talking(*arguments: str) -> Iterator[int]:
    program = [sys.executable, "-m", "bench.talk", *arguments, "--every", str(EVERY)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY) as child:
        assert child.stdout is not None
        try:
            yield int(child.stdout.readline())
        finally:
            child.kill()  # nothing it holds is worth a goodbye


def _late(port: int) -> float:
    path = f"/v1/clusters/{CLUSTER}/events/stream"
    delays = listen(port, path, TOKEN, readers=READERS, seconds=SECONDS)
    expected = READERS * SECONDS / EVERY
    if len(delays) < expected * 0.9:
        raise RuntimeError(f"Only {len(delays):,} of about {expected:,.0f} frames arrived.")
    return percentile(delays, 99) * 1000


def allow_files(number: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < number:
        resource.setrlimit(resource.RLIMIT_NOFILE, (number, max(hard, number)))
