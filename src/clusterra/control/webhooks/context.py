"""What there is to say about an event, beyond what it says itself: cost, cause, and what to do.

It is looked up when the message is made, and what cannot be found out is left out: a
message that comes is worth more than one that knows everything. What a job wrote is not
in it: output stays where the job ran.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import structlog

from clusterra.control.cost.job_cost import cost_so_far
from clusterra.control.site import Site
from clusterra.core.access import Caller, sees_whole
from clusterra.core.errors import ClusterraError
from clusterra.core.events.event import Event
from clusterra.core.hosts import expand
from clusterra.core.jobs.job import Job, JobState
from clusterra.core.webhooks.endpoint import Endpoint
from clusterra.core.webhooks.telling import JobContext, Telling
from clusterra.ports import Store

log = structlog.get_logger()

WENT_WELL = frozenset({JobState.COMPLETED, JobState.CANCELLED})


class Found(Protocol):
    """What is known of why a job failed."""

    @property
    def summary(self) -> str: ...

    @property
    def advice(self) -> str: ...


Diagnose = Callable[[Site, Job], Awaitable[Found | None]]


@dataclass(slots=True, kw_only=True)
class Context:
    sites: Callable[[], Mapping[str, Site]]
    store: Store
    standing: Callable[[str, str], Caller | None]
    """Who a person is in a workspace now."""

    diagnose: Diagnose

    async def telling(self, endpoint: Endpoint, event: Event) -> Telling:
        site = self.sites().get(event.cluster)
        data: dict[str, Any] = json.loads(event.body)["data"]
        telling = Telling(
            id=event.id,
            type=event.type,
            ledger=event.cluster,
            cluster=site.cluster.name if site else "",
            subject=event.subject,
            actor=event.actor,
            at=event.at,
            data=data,
        )
        if site is None or not event.type.startswith("job.") or telling.is_made_up:
            return telling
        owner = self.standing(endpoint.owner, endpoint.workspace)
        if owner is None or not sees_whole(owner, str(data.get("user", ""))):
            return telling
        try:
            return replace(telling, job=await self._job(site, data))
        except ClusterraError as error:
            log.warning("webhooks.nothing_more_known", event=event.id, why=error.detail)
            return telling

    async def _job(self, site: Site, data: Mapping[str, Any]) -> JobContext | None:
        job = await self.store.job(site.cluster.id, int(data["job_id"]))
        if job is None:
            return None
        cost = cost_so_far(job, site)
        known = JobContext(
            cost_micros=cost.micros,
            is_final=cost.final,
            usd_per_hour_micros=cost.usd_per_hour,
            waited_seconds=data.get("waited_seconds"),
            ran_seconds=data.get("ran_seconds"),
            nodes=tuple(sorted(expand(job.nodes))),
        )
        if not job.state.ended or job.state in WENT_WELL:
            return known
        found = await self.diagnose(site, job)
        if found is None:
            return known
        return replace(known, cause=_beyond_the_state(found.summary), advice=found.advice)


def _beyond_the_state(summary: str) -> str:
    """Leave out what the message has said by then: `Job 41 failed: out of memory … after 2m 04s`."""
    what, _, more = summary.partition(": ")
    if not what.startswith("Ran out of memory") or not more:
        return summary
    return more[:1].upper() + more[1:]
