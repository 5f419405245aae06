"""From nothing to a job that has run."""

from collections.abc import Iterator

from bench.embedded import embedded
from bench.figure import Goal, Row
from bench.processes import scratch
from bench.stage import Stage


def warm(stage: Stage) -> Iterator[Row]:
    cluster = stage.embedded
    yield Row(
        name="up-warm",
        what="from `clusterra up` with the root file system at hand to the first job COMPLETED",
        ours=cluster.first_job_seconds,
        unit="s",
        beside=cluster.next_job_seconds,
        beside_what="the next job on the running cluster",
        goal=Goal(bound=10),
    )


def first(stage: Stage) -> Iterator[Row]:
    warm_seconds = stage.embedded.first_job_seconds
    with scratch() as cache, embedded(XDG_CACHE_HOME=str(cache)) as cluster:
        yield Row(
            name="up-first",
            what="the same on a machine that never ran it: the root file system is built",
            ours=cluster.first_job_seconds,
            unit="s",
            beside=warm_seconds,
            beside_what="the same with the root file system at hand",
            goal=Goal(bound=120),
        )
