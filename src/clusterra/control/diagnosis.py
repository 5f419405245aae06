"""Look up all that tells why a job failed, have it judged, and find what to submit again.

The ledger, the job's output and accounting are each asked once. What cannot be seen is left
out of the evidence, and the answer is the more careful for it.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from clusterra.control.cost.job_cost import cost_so_far
from clusterra.control.evict import INTERRUPTED, TAKEN_BACK
from clusterra.control.find import find_job
from clusterra.control.recall import of_job
from clusterra.control.requests import Requests
from clusterra.control.site import Site
from clusterra.core.access import Caller, check_may_read_output
from clusterra.core.errors import ClusterraError, Refused
from clusterra.core.events.event import Event, EventQuery
from clusterra.core.events.tell import tell
from clusterra.core.hosts import expand
from clusterra.core.jobs.again import AS_IS, adjusted
from clusterra.core.jobs.diagnosis import Diagnosis, Evidence, NodeEvent, diagnosis_of
from clusterra.core.jobs.failed.last_words import lines_of
from clusterra.core.jobs.job import Job, JobState
from clusterra.core.seen import Seen
from clusterra.ports import Clock, Store

LAST_WORDS = 4096
"""Bytes at the end of each stream of its output."""

BEFORE, AFTER = timedelta(minutes=10), timedelta(minutes=5)
"""How long before and after its end what happened to its nodes may have to do with it."""

NODE_EVENTS = 1000
LEAVING = ("node.drained", "node.terminated")
NODE_TYPES = ("node.down", INTERRUPTED, *LEAVING)

ASKS_MEMORY = frozenset({JobState.FAILED, JobState.OUT_OF_MEMORY})


async def diagnose_job(
    site: Site,
    label: str,
    caller: Caller,
    *,
    store: Store,
    requests: Requests,
    clock: Clock,
    as_is: bool = False,
) -> Diagnosis:
    """Say why the job called so failed, to somebody who may read what it wrote.

    `as_is` proposes to submit it again as it was, whatever would mend it.
    """
    job = await find_job(site, label, caller, store=store)
    check_may_read_output(caller, job)
    return await diagnose(
        site, job, caller, store=store, requests=requests, clock=clock, as_is=as_is
    )


async def diagnose(
    site: Site,
    job: Job,
    caller: Caller | None,
    *,
    store: Store,
    requests: Requests,
    clock: Clock,
    as_is: bool = False,
) -> Diagnosis:
    """Say why a job failed. Without a caller nothing of what it wrote is repeated."""
    looking = _Looking(site, job, store, clock)
    lines, unread = await looking.lines()
    events, taken_back = await looking.node_events()
    by, why = await looking.cancelled()
    cost = cost_so_far(job, site)
    found = diagnosis_of(
        Evidence(
            job=job,
            lines=lines,
            quotes=caller is not None,
            unread=unread,
            memory_used_mib=await looking.memory_used(asked_for=caller is not None),
            node_events=events,
            taken_back=taken_back,
            cancelled_by=by,
            cancelled_why=why,
            cost_micros=cost.micros,
            cost_unknown=cost.why_unknown,
        )
    )
    return await _with_what_to_submit(found, caller, requests, as_is=as_is)


async def _with_what_to_submit(
    found: Diagnosis, caller: Caller | None, requests: Requests, *, as_is: bool
) -> Diagnosis:
    job = found.job
    if not job.state.ended:
        return replace(found, why_not="It has not ended.")
    if not job.run_id:
        return replace(
            found,
            why_not="It was submitted past Clusterra, so what was submitted is not known here.",
        )
    try:
        request = await requests.of(job.run_id)
    except Refused as error:
        return replace(found, why_not=error.detail)
    if request is None:
        kept = "is no longer kept, or was too large to be" if requests.keep_days else "is not kept"
        return replace(found, why_not=f"What was submitted {kept}.")
    request, changes = adjusted(request, job, AS_IS if as_is else found.fix or AS_IS)
    found = replace(found, changes=changes)
    if caller is None or caller.user != job.user:
        # Its environment may hold what is for its owner alone, and in another's name it would
        # run in another's home.
        why = f"It belongs to {job.user}, and a job runs as whoever submits it."
        return replace(found, why_not=why)
    return replace(found, resubmit=request)


class _Looking:
    """One look around for the sake of one job."""

    def __init__(self, site: Site, job: Job, store: Store, clock: Clock) -> None:
        self._site, self._job, self._store, self._clock = site, job, store, clock

    async def lines(self) -> tuple[tuple[str, ...], str]:
        """Return what it wrote last, errors after the rest; and why not, if it cannot be read."""
        job = self._job
        if job.started_at is None:
            return (), ""
        apart = job.stderr not in ("", job.stdout)
        found: list[str] = []
        for stream in ("stdout", "stderr") if apart else ("stdout",):
            try:
                output = await self._site.logs.read(job, stream=stream, tail=LAST_WORDS)
            except ClusterraError as error:
                return tuple(found), error.detail
            if output is not None:
                # The first line begins somewhere before what was read.
                data = output.data.partition(b"\n")[2] if output.offset else output.data
                found += lines_of(data)
        return tuple(found), ""

    async def memory_used(self, *, asked_for: bool) -> int | None:
        """Ask accounting; where nobody waits for the answer, only if Slurm can bear it."""
        job, now = self._job, self._clock.now()
        if not job.state.ended or job.started_at is None:
            return None
        if not asked_for and (job.state not in ASKS_MEMORY or not self._site.budget.take(now)):
            return None
        try:
            return await self._site.slurm.peak_memory_mib(job.id)
        except ClusterraError:
            return None

    async def node_events(self) -> tuple[tuple[NodeEvent, ...], tuple[str, ...]]:
        """Return what happened to its nodes around its end, and which the cloud took back."""
        job = self._job
        if job.ended_at is None or not job.nodes or job.state is JobState.COMPLETED:
            return (), ()
        query = EventQuery(
            types=NODE_TYPES,
            since=job.ended_at - BEFORE,
            until=job.ended_at + AFTER,
            limit=NODE_EVENTS,
        )
        names, events = expand(job.nodes), list[NodeEvent]()
        for event in await self._store.events(self._site.cluster.id, query):
            data = _data(event)
            if event.type in LEAVING and event.at > job.ended_at:
                continue  # what a worker does that has nothing to do any more
            if (node := self._node(data)) in names:
                reason = str(data.get("reason") or "")
                says = tell(event.type, data)
                events.append(
                    NodeEvent(node=node, type=event.type, at=event.at, says=says, reason=reason)
                )
        back = (
            each.node for each in events if each.type == INTERRUPTED or each.reason == TAKEN_BACK
        )
        return tuple(events), tuple(dict.fromkeys(back))

    def _node(self, data: Mapping[str, Any]) -> str:
        """Return Slurm's name of the machine; clouds know only their own."""
        if name := str(data.get("node") or ""):
            return name
        report, instance = self._site.edge.report, data.get("instance_id")
        machines = (isinstance(report, Seen) and report.value.machines) or ()
        return next((m.node for m in machines if instance and m.instance_id == instance), "")

    async def cancelled(self) -> tuple[str, str]:
        """Return who cancelled it, and what for."""
        if self._job.state is not JobState.CANCELLED:
            return "", ""
        query = replace(of_job(self._job), types=("job.cancelled",))
        told = await self._store.events(self._site.cluster.id, query)
        return (told[-1].actor, str(_data(told[-1]).get("why") or "")) if told else ("", "")


def _data(event: Event) -> Mapping[str, Any]:
    data: Mapping[str, Any] = json.loads(event.body).get("data", {})
    return data
