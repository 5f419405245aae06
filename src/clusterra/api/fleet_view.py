"""A fleet as the API shows it: from the last plan, what an agent said, and the price list.

What waits is shown by what it waits for and how many, never by whose job it is: the
fleet is everybody's, jobs may not be.
"""

from collections import Counter
from datetime import datetime, timedelta
from itertools import groupby

from clusterra.control.site import Site
from clusterra.core.scaling.decision import hourly
from clusterra.core.scaling.fleet import Fleet, Phase, Worker
from clusterra.core.scaling.plan import Wait
from clusterra.core.scaling.planned import Planned
from clusterra.core.scaling.policy import Policy
from clusterra.core.scaling.shapes import Shape
from clusterra.core.seen import Seen
from clusterra.wire.fleet import (
    AgentSeen,
    FleetView,
    PolicyView,
    ShapeFleet,
    ShortageView,
    WaitingView,
)

OLD = timedelta(seconds=90)
"""Four rounds of planning have been missed by then."""

NOT_OURS = "Not scaled by Clusterra: its nodes are those Slurm was given."


def fleet_view(
    site: Site, fleet: Fleet, policy: Policy, now: datetime, *, set_by_admin: bool
) -> FleetView:
    """Show a fleet; `fleet` is what the store has, for while nothing has been planned."""
    seen = site.planned if isinstance(site.planned, Seen) else None
    planned = seen.value if seen else None
    wanted = planned.fleet if planned else fleet
    workers = _workers(planned) if planned else None
    age = seen.age(now) if seen else None
    stale = bool(site.shapes) and (age is None or age > OLD or bool(site.sky.why_not))
    return FleetView(
        cluster=site.cluster.id,
        scaled=bool(site.shapes),
        note=_note(site, stale=stale),
        version=wanted.version,
        decided_at=wanted.decided_at,
        desired=sum(wanted.desired.values()),
        workers=None if workers is None else len(workers),
        usd_per_hour_micros=None
        if workers is None
        else hourly(Counter(each.shape for each in workers), site.shapes, policy),
        shapes=_rows(site, wanted, workers, policy),
        shortages=[
            ShortageView(shape=name, why=each.why, failures=each.failures, until=each.until)
            for name, each in sorted(wanted.shortages.items())
            if each.until > now
        ],
        agent=_agent(site, now),
        waiting=_waiting(planned) if planned else [],
        set_aside=len(planned.demand.set_aside) if planned else 0,
        policy=policy_view(policy, set_by_admin=set_by_admin),
        observed_at=seen.at if seen else None,
        age_seconds=None if age is None else round(age.total_seconds(), 1),
        stale=stale,
        offered=sorted(site.shapes),
    )


def policy_view(policy: Policy, *, set_by_admin: bool) -> PolicyView:
    return PolicyView(
        rule=policy.rule,
        max_workers=policy.max_workers,
        max_usd_per_hour_micros=policy.max_usd_per_hour,
        idle_seconds=policy.idle_seconds,
        purchase=policy.purchase,
        architectures=list(policy.architectures),
        minimum=dict(policy.minimum),
        set_by_admin=set_by_admin,
    )


def _note(site: Site, *, stale: bool) -> str:
    if not site.shapes:
        return NOT_OURS
    if not stale:
        return ""
    if site.sky.why_not:
        return site.sky.why_not
    return (
        "The fleet was not planned lately." if isinstance(site.planned, Seen) else site.planned.why
    )


def _workers(planned: Planned) -> list[Worker]:
    """Return those there were when it was decided, and those that have been asked for since."""
    asked = [
        Worker(shape=shape, phase=Phase.WARMING, since=moment)
        for shape, moments in planned.fleet.asked.items()
        for moment in moments
    ]
    return [*(each for each in planned.workers if each.name), *asked]


def _rows(
    site: Site, fleet: Fleet, workers: list[Worker] | None, policy: Policy
) -> list[ShapeFleet]:
    by_shape: dict[str, list[Worker]] = {}
    for each in workers or ():
        by_shape.setdefault(each.shape, []).append(each)
    names = sorted({*by_shape, *(name for name, number in fleet.desired.items() if number)})
    return [
        _row(
            name,
            site.shapes.get(name),
            fleet.desired.get(name, 0),
            None if workers is None else by_shape.get(name, []),
            policy,
        )
        for name in names
    ]


def _row(
    name: str, shape: Shape | None, desired: int, workers: list[Worker] | None, policy: Policy
) -> ShapeFleet:
    phases = Counter(each.phase for each in workers or ())
    busy = sum(each.busy for each in workers or () if each.phase is Phase.READY)

    def known(number: int) -> int | None:
        return None if workers is None else number

    return ShapeFleet(
        shape=name,
        family=shape.family if shape else "",
        arch=shape.arch if shape else "",
        cpus=shape.cpus if shape else 0,
        memory_mib=shape.memory_mib if shape else 0,
        gpus=shape.gpus if shape else 0,
        gpu_model=shape.gpu_model if shape else "",
        type=shape.types[0] if shape and shape.types else "",
        usd_per_hour_micros=shape.usd_per_hour(policy.purchase) if shape else None,
        desired=desired,
        ready=known(phases[Phase.READY]),
        busy=known(busy),
        idle=known(phases[Phase.READY] - busy),
        warming=known(phases[Phase.WARMING]),
        leaving=known(phases[Phase.LEAVING]),
        closed=known(phases[Phase.CLOSED]),
    )


def _agent(site: Site, now: datetime) -> AgentSeen | None:
    if not isinstance(site.edge.report, Seen):
        return None
    report = site.edge.report.value
    return AgentSeen(
        id=report.agent,
        version=report.version,
        heard_at=report.at,
        age_seconds=round(site.edge.report.age(now).total_seconds(), 1),
        applied_version=report.applied,
    )


def _waiting(planned: Planned) -> list[WaitingView]:
    """Return what is waited for, most jobs first."""
    counts = {id: number for line in planned.demand.lines for id, number in line.jobs}

    def what(entry: tuple[int, Wait]) -> tuple[str, str, int, str]:
        wait = entry[1]
        return wait.cause, wait.shape, wait.workers, wait.sentence

    found = [
        WaitingView(
            cause=cause,
            shape=shape,
            workers=workers,
            sentence=sentence,
            jobs=sum(counts.get(id, 1) for id, _ in entries),
        )
        for (cause, shape, workers, sentence), entries in groupby(
            sorted(planned.plan.waits.items(), key=what), key=what
        )
    ]
    return sorted(found, key=lambda each: -each.jobs)
