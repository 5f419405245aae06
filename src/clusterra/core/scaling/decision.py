"""From a plan to what is committed: the next fleet, and the events that tell of it."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from clusterra.core.clusters import Node
from clusterra.core.events.catalogue import fleet as facts
from clusterra.core.scaling.demand import Demand
from clusterra.core.scaling.edge import EdgeReport, Failed
from clusterra.core.scaling.fleet import Fleet, Phase, Shortage, Worker
from clusterra.core.scaling.plan import Plan, Resize
from clusterra.core.scaling.policy import Policy
from clusterra.core.scaling.shapes import Shape

PATIENCE = timedelta(minutes=10)
"""How long an edge may take to come up with a worker, whatever it says of it."""

GHOST_AFTER = timedelta(seconds=480)
"""How long a worker that runs may take to become a node of Slurm."""

FIRST_PAUSE = timedelta(minutes=1)
LONGEST_PAUSE = timedelta(minutes=30)


def ghosts(report: EdgeReport, nodes: Iterable[Node], fleet: Fleet, now: datetime) -> list[Failed]:
    """Return the workers whose slurmd runs and has never become a node of Slurm."""
    known = {node.name for node in nodes} | set(fleet.retire)
    return [
        Failed(
            shape=worker.shape,
            name=worker.name,
            why=f"{worker.name} has not registered with Slurm for {_minutes(GHOST_AFTER)}",
            at=now,
        )
        for worker in report.workers or ()
        if worker.name not in known and now - worker.since >= GHOST_AFTER
    ]


def without(fleet: Fleet, gone: Sequence[Failed], now: datetime) -> Fleet:
    """Have the edge take these away."""
    if not gone:
        return fleet
    return replace(fleet, retire=(*fleet.retire, *(each.name for each in gone)), decided_at=now)


def after_failures(
    fleet: Fleet, failed: Sequence[Failed], now: datetime
) -> tuple[Fleet, list[facts.FleetShortage]]:
    """Count out what did not come, and remember for which shapes."""
    late = {
        shape: sum(now - moment >= PATIENCE for moment in moments)
        for shape, moments in fleet.asked.items()
    }
    lost = Counter(each.shape for each in failed) + Counter(late)
    if not lost:
        return fleet, []
    why = {each.shape: each.why for each in failed}
    shortages = dict(fleet.shortages)
    for shape in lost:
        earlier = shortages.get(shape)
        failures = earlier.failures + 1 if earlier else 1
        shortages[shape] = Shortage(
            until=now + min(FIRST_PAUSE * 2 ** min(failures - 1, 10), LONGEST_PAUSE),
            why=why.get(shape) or f"asked for {_minutes(PATIENCE)} ago and not seen since",
            failures=failures,
        )
    told = [
        facts.FleetShortage(
            shape=shape,
            why=shortages[shape].why,
            failures=shortages[shape].failures,
            until=shortages[shape].until,
        )
        for shape in sorted(lost)
    ]
    noted = replace(
        fleet,
        desired=dict(Counter(fleet.desired) - lost),
        # The oldest come first, and are those that did not come.
        asked={shape: moments[lost[shape] :] for shape, moments in fleet.asked.items()},
        shortages=shortages,
    )
    return noted, told


def next_fleet(
    committed: Fleet,
    noted: Fleet,
    plan: Plan,
    workers: Iterable[Worker],
    names: Collection[str],
    now: datetime,
) -> Fleet:
    """Return what is wanted now; `noted` is what was committed, less what did not come.

    `names` are those that the edge or Slurm still has: one that was told to go is named until
    both have forgotten it. Given to another before that, Slurm would forget the other.
    """
    workers = list(workers)
    leaving = {w.name for w in workers if w.phase is Phase.LEAVING and not w.busy and w.name}
    retire = tuple(sorted(leaving | (set(noted.retire) & set(names))))
    present = Counter(w.shape for w in workers if w.name and w.name not in leaving)
    awaited: dict[str, list[datetime]] = {}
    for worker in workers:
        if not worker.name:
            awaited.setdefault(worker.shape, []).append(worker.since)
    asked = {
        shape: tuple([*sorted(awaited.get(shape, ())), *[now] * wanted][:missing])
        for shape, wanted in sorted(plan.desired.items())
        if (missing := wanted - present[shape]) > 0
    }
    came = {w.shape for w in workers if w.phase is Phase.READY}
    shortages = {
        shape: each
        for shape, each in noted.shortages.items()
        if shape not in came and now - each.until < LONGEST_PAUSE
    }
    changed = dict(plan.desired) != dict(committed.desired) or retire != committed.retire
    return Fleet(
        version=committed.version + 1 if changed else committed.version,
        desired=dict(sorted(plan.desired.items())),
        retire=retire,
        decided_at=now if changed else committed.decided_at,
        asked=asked,
        shortages=shortages,
    )


def resized(
    committed: Fleet,
    fleet: Fleet,
    plan: Plan,
    *,
    demand: Demand,
    workers: Sequence[Worker],
    policy: Policy,
    shapes: Mapping[str, Shape],
) -> list[facts.FleetResized]:
    """Tell every shape of which another number is wanted."""
    because = {change.shape: change for change in plan.changes}
    return [
        facts.FleetResized(
            shape=shape,
            before=before,
            after=after,
            reason=because.get(shape, _by_itself(shape, before, after)).reason,
            version=fleet.version,
            rule=policy.rule,
            waiting_jobs=sum(line.count for line in demand.lines),
            workers=len(workers),
            warming=sum(worker.phase is Phase.WARMING for worker in workers),
            usd_per_hour_micros=hourly(fleet.desired, shapes, policy),
            refused=because[shape].refused if shape in because else (),
        )
        for shape in sorted({*committed.desired, *fleet.desired})
        if (before := committed.desired.get(shape, 0)) != (after := fleet.desired.get(shape, 0))
    ]


def hourly(desired: Mapping[str, int], shapes: Mapping[str, Shape], policy: Policy) -> int | None:
    """Return what so many workers cost in an hour, in millionths of a dollar, if all is known."""
    total = 0
    for name, count in desired.items():
        price = shapes[name].usd_per_hour(policy.purchase) if name in shapes else None
        if price is None:
            return None
        total += price * count
    return total


def _by_itself(shape: str, before: int, after: int) -> Resize:
    went = before - after
    reason = (
        f"{went} {'went' if went > 1 else 'of them went'} by {'themselves' if went > 1 else 'itself'}"
        if went > 0
        else f"{-went} more {'are' if went < -1 else 'is'} there than {'were' if went < -1 else 'was'} asked for"
    )
    return Resize(shape=shape, before=before, after=after, reason=reason)


def _minutes(period: timedelta) -> str:
    return f"{period.total_seconds() / 60:.0f} minutes"
