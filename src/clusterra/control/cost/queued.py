"""What is on its way and runs not yet: jobs that wait, and those that Slurm is being given.

A quota that did not count them would be broken by whoever submits quicker than jobs start.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from operator import attrgetter

from clusterra.control.cost.price import ground_of
from clusterra.control.site import Site
from clusterra.core.cost.admission import cost_within
from clusterra.core.cost.estimate.priced import Priced, price
from clusterra.core.cost.quota import WORKSPACE
from clusterra.core.cost.quota_standing import Figures, Standing
from clusterra.core.jobs.job import Job
from clusterra.ports import Clock, Store

GOOD_FOR = timedelta(seconds=60)
"""How long an estimate counts. Prices and workers change by the minute, and jobs are alike."""

SHOWN_WITHIN = timedelta(seconds=30)
"""How long a job that Slurm took may stay unseen. One that came and went meanwhile is in the
books by then."""

_alike = attrgetter(
    "nodes_wanted",
    "nodes_most",
    "cpus",
    "memory_mib",
    "gpus",
    "gpu_model",
    "tasks",
    "exclusive",
    "features",
    "partition",
    "time_limit_minutes",
    "array_waiting",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    workspace: str
    person: str
    cost: Priced
    at: datetime


@dataclass(slots=True, kw_only=True)
class Queued:
    store: Store
    clock: Clock
    _taken: dict[str, Taken] = field(default_factory=dict)
    """By run id: admitted, and not seen in the queue yet."""

    _prices: dict[str, dict[object, Priced]] = field(default_factory=dict)
    """By cluster, for jobs that are alike."""

    _priced_at: datetime | None = None

    def take(self, workspace: str, person: str, run_id: str, cost: Priced) -> None:
        self._taken[run_id] = Taken(
            workspace=workspace, person=person, cost=cost, at=self.clock.now()
        )

    def let_go(self, run_id: str) -> None:
        self._taken.pop(run_id, None)

    async def counted(
        self,
        workspace: str,
        standing: Standing,
        sites: Sequence[Site],
        person_of: Callable[[str], str],
    ) -> Standing:
        """Return how somebody stands with what they have on its way."""
        self._forget(sites)
        costs = [
            (each.cost, 1)
            for each in self._taken.values()
            if each.workspace == workspace and standing.whose in (WORKSPACE, each.person)
        ]
        for site in sites:
            theirs = [
                job
                for job in site.recorder.waiting.values()
                if standing.whose == WORKSPACE or person_of(job.user) == standing.whose
            ]
            costs += await self._estimates(site, theirs)
        return replace(
            standing,
            month=_with(standing, standing.month, costs),
            day=_with(standing, standing.day, costs),
            burn_waiting=sum((cost.usd_per_hour or 0) * number for cost, number in costs),
        )

    async def _estimates(self, site: Site, jobs: Iterable[Job]) -> list[tuple[Priced, int]]:
        """Return what jobs would cost, and how many are alike: a queue has few kinds."""
        now = self.clock.now()
        if self._priced_at is None or abs(now - self._priced_at) > GOOD_FOR:
            self._prices.clear()
            self._priced_at = now
        known = self._prices.setdefault(site.cluster.id, {})
        by_kind: defaultdict[object, list[Job]] = defaultdict(list)
        for job in jobs:
            by_kind[_alike(job)].append(job)
        ground = None
        for kind, (first, *_) in by_kind.items():
            if kind not in known:
                ground = ground or await ground_of(site, self.store)
                known[kind] = price(first, ground)
        return [(known[kind], len(alike)) for kind, alike in by_kind.items()]

    def _forget(self, sites: Iterable[Site]) -> None:
        """Let go of what can be seen by now."""
        if not self._taken:
            return
        now = self.clock.now()
        for site in sites:
            for jobs in (site.recorder.waiting, site.recorder.running):
                for job in jobs.values():
                    self._taken.pop(job.run_id, None)
        self._taken = {
            id: each for id, each in self._taken.items() if abs(now - each.at) <= SHOWN_WITHIN
        }


def _with(standing: Standing, figures: Figures, costs: Iterable[tuple[Priced, int]]) -> Figures:
    waiting = sum(cost_within(cost, figures, standing) * number for cost, number in costs)
    return replace(figures, waiting=waiting)
