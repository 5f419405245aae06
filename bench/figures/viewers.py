"""How often Slurm is asked: whoever watches, and while nothing happens."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial

from bench.figure import Goal, Row
from bench.inflate import VERSION
from bench.keepalive import KeepAlive
from bench.processes import Replayed, until
from bench.stage import Stage
from bench.timing import paced, seconds

WATCHED_FOR = 16
LISTED_EVERY = 2

IDLE_FOR = 40
LISTINGS_A_MINUTE = 12
"""A page that lists everything every five seconds."""


def viewers(stage: Stage) -> Iterator[Row]:
    one = _calls_a_minute(stage, viewers=1)
    many = _calls_a_minute(stage, viewers=100)
    yield Row(
        name="viewers",
        what="calls to slurmrestd while 100 people list the jobs every 2 s",
        ours=many,
        unit="calls/min",
        beside=one,
        beside_what="calls while one person does",
        # One and the same; each pause between two looks is drawn from 90 to 100 % of its length.
        goal=Goal(bound=1.05, of_ratio=True),
    )


def _calls_a_minute(stage: Stage, *, viewers: int) -> float:
    """Count from one look at the queue to another, so that no look is cut in half."""
    plane, slurm = stage.small.plane, stage.small.slurm
    path = f"{plane.jobs}?limit=50"
    with ExitStack() as open_connections:
        clients = [open_connections.enter_context(plane.client()) for _ in range(viewers)]
        lists = [partial(client.get, path) for client in clients]
        before, began = _at_a_look(slurm)
        for _ in range(WATCHED_FOR // LISTED_EVERY):
            taken = seconds(lambda: paced(lists, every=LISTED_EVERY / viewers))
            time.sleep(max(0.0, LISTED_EVERY - taken))
        after, ended = _at_a_look(slurm)
    return (after - before) / (ended - began) * 60


def _at_a_look(slurm: Replayed) -> tuple[int, float]:
    """Wait for the next look at the queue; return the calls so far and the moment."""
    looks = slurm.looks()
    until(lambda: slurm.looks() > looks, every=0.01)
    return sum(slurm.counts()[0].values()), time.perf_counter()


def idle(stage: Stage) -> Iterator[Row]:
    slurm = stage.idle.slurm
    before = slurm.counts()[1]
    time.sleep(IDLE_FOR)
    after = slurm.counts()[1]
    with KeepAlive(slurm.url) as client:
        listing = client.drain(f"/slurm/{VERSION}/jobs/")
    yield Row(
        name="idle-bytes",
        what="bytes a minute from slurmrestd while nothing happens and 1,000 ended jobs are held",
        ours=(after - before) / IDLE_FOR * 60 / 1e6,
        unit="MB/min",
        beside=listing * LISTINGS_A_MINUTE / 1e6,
        beside_what="listing all jobs every 5 s",
        goal=Goal(bound=0.05, of_ratio=True),
    )
