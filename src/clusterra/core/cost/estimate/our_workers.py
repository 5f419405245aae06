"""Which worker a job would get where workers are ours to start: one there is, or a new one."""

from dataclasses import replace

from clusterra.core.cost.estimate.ground import (
    Ground,
    Place,
    Room,
    line_of,
    present,
    share,
    stint_of,
)
from clusterra.core.cost.stints import Stint
from clusterra.core.jobs.job import Job
from clusterra.core.scaling.demand import Demand, Need
from clusterra.core.scaling.fleet import Phase
from clusterra.core.scaling.plan import Cause, Plan, Wait, plan
from clusterra.core.scaling.serves import matches, settled
from clusterra.core.scaling.shapes import Shape


def on_ours(job: Job, ground: Ground) -> Place:
    """Ask the planner, with this one job, which worker it would get."""
    line = line_of(job)
    made = plan(
        Demand(lines=(line,)),
        ground.workers,
        ground.policy,
        ground.shapes,
        ground.shortages,
        ground.now,
    )
    wait = made.waits[job.id]
    need = settled(line.need, ground.shapes.values())
    if wait.cause is Cause.ROOM and ground.workers:
        return _here(need, wait, ground) or on_ours(job, replace(ground, workers=()))
    shape = ground.shapes.get(wait.shape)
    nothing = Stint(since=ground.now, why_not=wait.sentence)
    if wait.cause is Cause.NEVER or shape is None:
        return Place(need=need, stint=nothing, cause=wait.cause, said=wait.sentence)
    return Place(
        need=need,
        stint=_if_started(shape, ground),
        shape=shape.name,
        cause=wait.cause,
        starts=_grown(made, shape.name),
        said=wait.sentence,
    )


def _here(need: Need, wait: Wait, ground: Ground) -> Place | None:
    """Return the cheapest of the workers that have room for it."""
    new: dict[str, Stint] = {}
    best: tuple[tuple[bool, bool, int, str], str, Stint] | None = None
    for worker in ground.workers:
        shape = ground.shapes.get(worker.shape)
        if worker.phase is not Phase.READY or shape is None or not matches(need, shape):
            continue
        free = Room(worker.cpus, worker.memory_mib, worker.gpus, busy=worker.busy)
        # A shape that may not be started any more is waited for until it has room.
        if not free.holds(need) and not wait.shape:
            continue
        stint = present(worker.name, ground) or new.get(shape.name)
        if stint is None:
            stint = new[shape.name] = _if_started(shape, ground)
        price = stint.quote.usd_per_hour if stint.quote else 0
        spare_gpus = bool(shape.gpus and not need.gpus)
        rank = (spare_gpus, stint.quote is None, share(need, stint, price), worker.name)
        if best is None or rank < best[0]:
            best = rank, shape.name, stint
    if best is None:
        return None
    (_, _, _, node), name, stint = best
    return Place(
        need=need, stint=stint, shape=name, node=node, cause=Cause.ROOM, said=wait.sentence
    )


def _if_started(shape: Shape, ground: Ground) -> Stint:
    said = ground.book.of_shape(shape, ground.policy.purchase, ground.offerings)
    return stint_of(shape, said, ground.now)


def _grown(made: Plan, shape: str) -> int:
    return next((each.after - each.before for each in made.changes if each.shape == shape), 0)
