"""The list of jobs, as a page asks for it: the first page, and a search."""

from collections.abc import Iterator
from functools import partial
from itertools import cycle, islice
from urllib.parse import quote

from bench.figure import Goal, Row
from bench.inflate import FIRST_ID, VERSION
from bench.keepalive import KeepAlive
from bench.stage import Stage
from bench.timing import paced, percentile

LISTS, LISTED_EVERY = 400, 0.025
"""Eighty people who list every two seconds, for as long as the queue is looked at five times."""

SEARCHED, SEARCHED_EVERY = 150, 0.1
"""Ten searches a second."""

PAGE = 50
SEARCHES = (
    "nowhere-to-be-found",  # free text that no job has: every one is read
    "resnet",
    "user:user07 state:failed",
    "state:pending cpus>=32",
    "cpus>=64",
    "slab user:user1*",
)


def first_page(stage: Stage) -> Iterator[Row]:
    plane = stage.large.plane
    path = f"{plane.jobs}?limit={PAGE}"
    with plane.client() as client:
        health = p95_ms(client, ["/healthz"], LISTS, LISTED_EVERY)
        ours = p95_ms(client, [path], LISTS, LISTED_EVERY)
        size = len(client.get(path).body)
    with KeepAlive(stage.large.slurm.url) as slurm:
        job = len(slurm.get(f"/slurm/{VERSION}/job/{FIRST_ID}").body)
    yield Row(
        name="list-page",
        what="p95 of the first page of 50,000 jobs",
        ours=ours,
        unit="ms",
        beside=health,
        beside_what="p95 of /healthz of the same server",
        goal=Goal(bound=15),
    )
    yield Row(
        name="list-bytes",
        what="size of that page of 50 jobs",
        ours=size / 1e3,
        unit="KB",
        beside=PAGE * job / 1e3,
        beside_what="the same 50 jobs as slurmrestd sends them",
        goal=Goal(bound=60),
    )


def search(stage: Stage) -> Iterator[Row]:
    plane = stage.large.plane
    paths = [f"{plane.jobs}?limit={PAGE}&q={quote(words)}" for words in SEARCHES]
    with plane.client() as client:
        health = p95_ms(client, ["/healthz"], SEARCHED, SEARCHED_EVERY)
        ours = p95_ms(client, paths, SEARCHED, SEARCHED_EVERY)
    yield Row(
        name="search",
        what="p95 over searches of 50,000 jobs, some that match nothing and some that match many",
        ours=ours,
        unit="ms",
        beside=health,
        beside_what="p95 of /healthz of the same server",
        goal=Goal(bound=30),
    )


def p95_ms(client: KeepAlive, paths: list[str], times: int, every: float) -> float:
    def ask(path: str) -> None:
        answer = client.get(path)
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.status} {answer.body.decode()}")

    calls = [partial(ask, path) for path in islice(cycle(paths), times)]
    return percentile(paced(calls, every=every), 95) * 1e3
