"""One cluster and everything needed to act on it."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from clusterra.control.cost.meter import Meter
from clusterra.control.cost.waste import Wasting
from clusterra.control.edge import Edge
from clusterra.control.link import Linked
from clusterra.control.record import Recorder
from clusterra.core.budget import Budget
from clusterra.core.clusters import Cluster, Node, Partition, SlurmInfo
from clusterra.core.jobs.fit import Largest
from clusterra.core.jobs.job import Job
from clusterra.core.scaling.planned import NOT_PLANNED, Planned
from clusterra.core.scaling.policy import Policy
from clusterra.core.scaling.shapes import Shape
from clusterra.core.seen import Sight, Unseen
from clusterra.ports import JobFiles, Logins, Logs, Objects, Slurm

NOT_YET = Unseen("Slurm has not been seen yet.")


@dataclass(slots=True, kw_only=True)
class Sky:
    """What is known of a cluster right now, apart from its jobs (those are in the store)."""

    info: Sight[SlurmInfo] = NOT_YET
    nodes: Sight[tuple[Node, ...]] = NOT_YET
    partitions: Sight[tuple[Partition, ...]] = NOT_YET
    seen_at: datetime | None = None
    """When the queue was last seen."""

    since: datetime | None = None
    """Since when it has been seen without interruption; None while it cannot be."""

    why_not: str = NOT_YET.why
    """While the queue cannot be seen: the reason. Empty while it can."""


REMEMBERED = 1000
"""Jobs that were handed over last; all but a few of them have been seen by then."""


@dataclass(slots=True, kw_only=True)
class Site:
    cluster: Cluster
    slurm: Slurm
    logins: Logins
    logs: Logs
    user: str
    """The Linux user in whose name whoever runs the server submits."""

    recorder: Recorder
    """Writes what is observed of its jobs."""

    linked: Linked
    """Tells whether it can be seen."""

    budget: Budget
    """How often observing may still ask Slurm. What a person asks for is not held back by it."""

    files: Objects | None = None
    """Where its people's files are; None where there is no place for any."""

    job_files: JobFiles | None = None
    """What its jobs leave on the file system they run on; None where that cannot be seen."""

    workspace: str = ""
    """Whose cluster it is."""

    account: str = ""
    """Where people are enrolled before their first job; empty enrols nobody."""

    largest: Largest | None = None
    """Where it is known; a job that fits on no such node is refused."""

    shapes: Mapping[str, Shape] = field(default_factory=dict)
    """The workers there can be, where they are ours to start and stop through an agent. Empty
    where they are not."""

    region: str = ""
    """Of the cloud whose prices count; empty where that is not known."""

    policy: Policy = field(default_factory=Policy)
    """How its fleet grows and shrinks until an admin says otherwise."""

    slurm_key: bytes = field(default=b"", repr=False)
    """Slurm's own key, for an agent whose workers have none; empty if we were not given it."""

    begun_at: datetime | None = None
    """When all of its machines were started anew, where that is known: no worker is older."""

    planned: Sight[Planned] = NOT_PLANNED
    sky: Sky = field(default_factory=Sky)
    edge: Edge = field(default_factory=Edge)
    enrolled: dict[str, datetime] = field(default_factory=dict)
    """People known to be enrolled, and since when, so that a second submission asks nobody."""

    handed: dict[int, str] = field(default_factory=dict)
    """The run ids of the jobs that Slurm took from us last, by the number it gave them."""

    wake: Callable[[], None] = lambda: None
    """Have the queue looked at now."""

    nudge: Callable[[Collection[int]], None] = lambda _: None
    """Have these jobs looked at now, because a hook spoke of them."""

    def hand_over(self, id: int, run_id: str) -> None:
        self.handed.pop(id, None)
        self.handed[id] = run_id
        if len(self.handed) > REMEMBERED:
            del self.handed[next(iter(self.handed))]

    def is_succeeded(self, job: Job) -> bool:
        """Say whether another job has its number by now.

        A controller that has lost its memory counts from one again, as does one that has come to
        its highest number. Until the new job has been seen, the old one stands in the store.
        """
        return self.handed.get(job.array_id or job.id, job.run_id) != job.run_id

    @property
    def meter(self) -> Meter:
        """Who knows what its machines and its running jobs cost."""
        return self.recorder.meter

    @property
    def wasting(self) -> Wasting:
        """Who puts down what its machines cost without working."""
        return self.recorder.wasting
