"""What a job would cost, before it is submitted.

Where it would run is found in `our_workers.py`, by the planner itself, or in `their_nodes.py`; its
share of that is worked out as for a bill. What it could cost instead is in `alternatives.py`.
"""

from dataclasses import dataclass, replace

from clusterra.core.cost.charges import HOUR
from clusterra.core.cost.estimate.ground import Ground, share
from clusterra.core.cost.estimate.our_workers import on_ours
from clusterra.core.cost.estimate.their_nodes import on_theirs
from clusterra.core.cost.prices import Quote
from clusterra.core.jobs.job import Job
from clusterra.core.scaling.demand import array_tasks
from clusterra.core.scaling.plan import Cause


@dataclass(frozen=True, slots=True, kw_only=True)
class Priced:
    """A job on the workers that it would get. Amounts in millionths of a dollar."""

    shape: str = ""
    """Of the workers; empty where they are not ours to choose."""

    node: str = ""
    """The node that was priced, if such a worker is there; empty if one would be started."""

    workers: int = 1
    """How many it is spread over."""

    tasks: int = 1
    """Of an array; amounts are for all of them together."""

    at_once: int = 1
    """How many of them may run at a time."""

    usd_per_hour: int | None = None
    """While it runs, at its share of each worker; of an array, as many tasks as may run at a
    time. None if it is not known."""

    worker_usd_per_hour: int | None = None
    """One whole worker."""

    minutes: int | None = None
    """Its time limit; None is no limit."""

    total: int | None = None
    """If it takes all its time; None if it has no limit, or no price is known."""

    basis: str = ""
    """What was priced, and who said so."""

    estimate: bool = False
    """Nobody pays it: see `Quote`."""

    quote: Quote | None = None
    why_unknown: str = ""
    cause: Cause | None = None
    """What it would wait for, as far as the fleet is concerned; ROOM is for nothing. None where
    workers are not ours to start."""

    starts: int = 0
    """How many workers would be started for it."""

    said: str = ""
    """What the planner says of it."""

    def for_seconds(self, seconds: float) -> int | None:
        """Return what it costs if each task takes that long; None if no price is known."""
        if self.usd_per_hour is None:
            return None
        return self.usd_per_hour // self.at_once * int(seconds) // HOUR * self.tasks


def price(job: Job, ground: Ground) -> Priced:
    """Say which workers a waiting job would get, and what its share of them costs."""
    named = bool(job.nodes_required)
    place = on_ours(job, ground) if ground.shapes and not named else on_theirs(job, ground)
    tasks, at_once = _tasks(job)
    found = Priced(
        shape=place.shape,
        node=place.node,
        workers=place.need.nodes,
        tasks=tasks,
        at_once=at_once,
        minutes=job.time_limit_minutes,
        cause=place.cause,
        starts=place.starts,
        said=place.said,
    )
    quote = place.stint.quote
    if quote is None:
        return replace(found, why_unknown=place.stint.why_not)
    rate = share(place.need, place.stint, quote.usd_per_hour) * place.need.nodes
    minutes = job.time_limit_minutes
    return replace(
        found,
        usd_per_hour=rate * at_once,
        worker_usd_per_hour=quote.usd_per_hour,
        total=None if not minutes else rate * minutes * 60 // HOUR * tasks,
        basis=f"{quote.basis} ({quote.source})",
        estimate=quote.estimate,
        quote=quote,
    )


def _tasks(job: Job) -> tuple[int, int]:
    """Return how many tasks there are, and how many may run at a time."""
    if not job.array_waiting:
        return 1, 1
    return array_tasks(job.array_waiting.partition("%")[0]), array_tasks(job.array_waiting)
