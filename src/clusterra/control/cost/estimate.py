"""Say what a job would come to if it were submitted now: workers, price, start, what else.

Nothing is submitted and nothing is written. When it would start is found as for a job that
waits: it is put at the end of the queue, the fleet is planned with it, and the same guess made.
"""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from statistics import median
from typing import Any

from clusterra.control.cost.price import ground_of
from clusterra.control.cost.quotas import QuotaBook
from clusterra.control.explain import look_around
from clusterra.control.forecast import guessed
from clusterra.control.scale import MANY
from clusterra.control.site import Site
from clusterra.core.access import Caller
from clusterra.core.cost.estimate.alternatives import Known, alternatives
from clusterra.core.cost.estimate.asked import asked
from clusterra.core.cost.estimate.ground import Ground
from clusterra.core.cost.estimate.outlook import Before, Outlook, before, warnings
from clusterra.core.cost.estimate.priced import price
from clusterra.core.cost.quota import WORKSPACE
from clusterra.core.jobs.forecast import Ahead, Estimate
from clusterra.core.jobs.job import Job, JobState
from clusterra.core.jobs.pending.explain import ahead_of, explain
from clusterra.core.jobs.pending.facts import Facts
from clusterra.core.jobs.pending.fleet import awaited
from clusterra.core.jobs.query import Op, Query, Sort, Term
from clusterra.core.jobs.request import JobRequest
from clusterra.core.scaling.demand import demand
from clusterra.core.scaling.plan import Cause, Wait, plan
from clusterra.core.scaling.planned import Planned
from clusterra.core.seen import Seen, Sight, Unseen
from clusterra.ports import Clock, Store

ALIKE = 50
"""Jobs of the same name that are looked back at."""

UNNAMED = "job"
"""What a job is called that nobody gave a name: jobs of that name have nothing in common."""


async def estimate_job(
    site: Site,
    request: JobRequest,
    caller: Caller,
    *,
    quotas: QuotaBook,
    store: Store,
    clock: Clock,
) -> Outlook:
    """Say what the caller's job would come to."""
    ground = await ground_of(site, store)
    job = _waiting(
        asked(request, ground.partitions, user=caller.user, at=ground.now), request.properties
    )
    priced = price(job, ground)
    planned = await _planned(site, job, ground)
    facts = await look_around(site, job, caller, store=store, clock=clock)
    facts = replace(facts, planned=planned if site.shapes else facts.planned)
    wait = planned.value.plan.waits.get(job.id) if isinstance(planned, Seen) else None
    start, why_not = await _start(site, job, facts, store)
    past = await _alike(site, job, store)
    effect = await quotas.effect(site, priced, user=caller.user)
    usual = {shape: median(took) for shape, took in facts.starts.items() if took}
    uncounted = (effect.uncounted,) if effect.uncounted else ()
    known = Known(
        usual_seconds=usual,
        longest_run=past.longest_seconds if past else 0,
        sets_policy=caller.admin,
    )
    return Outlook(
        job=job,
        priced=priced,
        shape=site.shapes.get(priced.shape),
        wait=wait,
        start=start,
        why_no_start=why_not,
        worker_seconds=usual.get(priced.shape),
        before=past,
        quotas=[each for each in effect.standings if caller.admin or each.whose != WORKSPACE],
        objections=effect.objections,
        alternatives=alternatives(job, priced, ground, known),
        warnings=(*warnings(priced, wait, past, ground), *uncounted),
    )


def _waiting(job: Job, wanted: dict[str, Any]) -> Job:
    """Return it with what it would wait for by its own wish."""
    dependency = str(wanted.get("dependency") or "")
    begins = wanted.get("begin_time")
    begins = begins.get("number") if isinstance(begins, dict) else begins
    if wanted.get("hold"):
        return replace(job, reason="JobHeldUser")
    if dependency:
        return replace(job, reason="Dependency", dependency=dependency)
    if isinstance(begins, int) and begins > job.submitted_at.timestamp():
        return replace(job, reason="BeginTime", eligible_at=datetime.fromtimestamp(begins, UTC))
    return job


async def _planned(site: Site, job: Job, ground: Ground) -> Sight[Planned]:
    """Plan the fleet with this job behind all that wait."""
    known = site.planned
    if not isinstance(known, Seen):
        return known
    jobs = [*site.recorder.waiting.values(), job]

    def think() -> Planned:
        needs = demand(jobs)
        made = plan(
            needs, ground.workers, ground.policy, ground.shapes, ground.shortages, ground.now
        )
        return replace(known.value, demand=needs, plan=made)

    many = len(jobs) > MANY
    return Seen(await asyncio.to_thread(think) if many else think(), ground.now)


async def _start(site: Site, job: Job, facts: Facts, store: Store) -> tuple[Estimate | None, str]:
    """Guess when it would start; else say why that cannot be said."""
    if site.shapes and isinstance(facts.planned, Unseen):
        return None, facts.planned.why
    ahead = ahead_of(job, facts)
    if ahead is None or None in facts.dependencies.values():
        return None, explain(job, facts).summary
    wait = facts.planned.value.plan.waits.get(job.id) if isinstance(facts.planned, Seen) else None
    if wait is not None and wait.cause is Cause.WARMING:
        ahead = _with_new_workers(ahead, wait, facts)
    starts = facts.starts.get(ahead.shape, ())
    return await guessed(site, job, ahead, starts, store=store, now=facts.now), ""


def _with_new_workers(ahead: Ahead, wait: Wait, facts: Facts) -> Ahead:
    """Count those too that are asked for only when it is submitted."""
    assert isinstance(facts.planned, Seen)
    coming = awaited(wait, facts.planned.value)
    new = (facts.now,) * (max(wait.workers, 1) - len(coming))
    return replace(ahead, awaited=(*coming, *new), shape=wait.shape, race=None)


async def _alike(site: Site, job: Job, store: Store) -> Before | None:
    if job.name in ("", UNNAMED):
        return None
    terms = (
        Term(field="user", op=Op.IS, values=(job.user.lower(),)),
        Term(field="name", op=Op.IS, values=(job.name.lower(),)),
        Term(field="state", op=Op.IS, values=(JobState.COMPLETED.lower(),)),
    )
    page = await store.jobs(site.cluster.id, Query(terms=terms, sort=Sort.ENDED, limit=ALIKE))
    # To a query * is anything; to a name it is a star.
    return before([each for each in page.jobs if (each.user, each.name) == (job.user, job.name)])
