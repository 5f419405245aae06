"""What one job costs, run by run: from the ledger what is final, from the meter what goes on."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from clusterra.control.cost.known_prices import is_silent
from clusterra.control.recall import of_job
from clusterra.control.site import Site
from clusterra.core.cost.charges import Charge
from clusterra.core.cost.open import Open
from clusterra.core.cost.prices import Quote, Source
from clusterra.core.cost.reckon import at_rest, while_running
from clusterra.core.cost.so_far import CostSoFar
from clusterra.core.events.catalogue.costs import JobCostEstimated, JobCostFinalized
from clusterra.core.events.event import Event
from clusterra.core.hosts import expand
from clusterra.core.jobs.job import Job, JobState
from clusterra.ports import Store

MOST_EVENTS = 1000
"""Of one job; a run has two."""

RUNS = frozenset({JobState.RUNNING, JobState.SUSPENDED})


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCost:
    """A run of a job, or the part of it before its nodes changed."""

    restarts: int
    charges: Sequence[Charge]
    micros: int | None
    why_unknown: str = ""
    estimate: bool = False
    final: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceBehind:
    quote: Quote
    stale: bool = False
    """The edge that said it has not been heard for a while."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCost:
    so_far: CostSoFar
    person: str
    runs: Sequence[RunCost]
    prices: Sequence[PriceBehind]
    basis: Sequence[str]
    """What was priced when it began, as the ledger has it."""

    sealed: int = 0
    """What was paid for runs whose events are no longer at hand."""


def cost_so_far(job: Job, site: Site) -> CostSoFar:
    """Return what a job has cost by now."""
    return while_running(_open(job, site)) if job.state in RUNS else at_rest(job)


async def cost_of(job: Job, site: Site, *, store: Store) -> JobCost:
    """Account for what a job has cost."""
    await site.meter.load()
    query = replace(
        of_job(job), types=(JobCostEstimated.type, JobCostFinalized.type), limit=MOST_EVENTS
    )
    told = [(event, _data(event)) for event in await store.events(site.cluster.id, query)]
    final = [data for event, data in told if event.type == JobCostFinalized.type]
    runs = [_run(data) for data in final]
    known = sum(each.micros or 0 for each in runs)
    if job.state in RUNS:
        live = _open(job, site)
        runs.append(
            RunCost(
                restarts=job.restarts,
                charges=live.bill.charges,
                micros=live.bill.micros,
                why_unknown=live.bill.why_unknown,
                estimate=live.bill.estimate,
                final=False,
            )
        )
    began = [data for event, data in told if event.type == JobCostEstimated.type]
    return JobCost(
        so_far=cost_so_far(job, site),
        person=final[-1]["person"] if final else site.meter.payer(job).person,
        runs=runs,
        prices=_prices(job, site),
        basis=began[-1]["basis"] if began else (),
        sealed=job.billed_micros - known,
    )


def _open(job: Job, site: Site) -> Open:
    return site.meter.open(job, site.meter.clock.now().replace(microsecond=0))


def _data(event: Event) -> Mapping[str, Any]:
    data: Mapping[str, Any] = json.loads(event.body)["data"]
    return data


def _run(data: Mapping[str, Any]) -> RunCost:
    return RunCost(
        restarts=data["restarts"],
        charges=[
            Charge(
                since=datetime.fromisoformat(each["since"]),
                until=datetime.fromisoformat(each["until"]),
                usd_per_hour=each["usd_per_hour_micros"],
            )
            for each in data["charges"]
        ],
        micros=data["cost_micros"],
        why_unknown=data["why_unknown"],
        estimate=data["estimate"],
    )


def _prices(job: Job, site: Site) -> Sequence[PriceBehind]:
    """Return what the nodes of its present or last run cost while it had them, each price once."""
    if job.started_at is None or job.state is JobState.PENDING:
        return ()
    since, until = job.started_at, job.ended_at or site.meter.clock.now()
    stints = [
        stint
        for name in sorted(expand(job.nodes))
        for stint in site.meter.stints.get(name, ())
        if stint.quote and stint.since <= until and (stint.until is None or stint.until > since)
    ]
    quotes = dict.fromkeys(stint.quote for stint in stints if stint.quote)
    old = is_silent(site)
    return [PriceBehind(quote=each, stale=old and each.source is Source.EDGE) for each in quotes]
