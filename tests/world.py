"""A whole control plane in memory: a cluster called `lab`, its store and its clock.

With `next_door` there is a second one, `rival`, in a workspace of its own.
"""

from dataclasses import dataclass, field
from pathlib import Path

from clusterra.adapters.logins_remote import RemoteLogins
from clusterra.adapters.memory import ManualClock, MemoryStore
from clusterra.adapters.memory_logs import MemoryLogs
from clusterra.adapters.memory_slurm import MemorySlurm
from clusterra.control.link import Linked
from clusterra.control.observe import Observer
from clusterra.control.plane import Plane
from clusterra.control.site import Site
from clusterra.core.budget import Budget
from clusterra.core.clusters import Cluster
from clusterra.core.jobs.job import Job
from clusterra.core.jobs.request import JobRequest
from clusterra.ports import Store
from clusterra.settings import ClusterSettings, ServerSettings, Settings, WorkspaceSettings
from clusterra.wiring import make_plane, make_recorder
from tests.builders import NOON

LAB = "cluslab1"
RIVAL = "clusriv1"
OURS, THEIRS = "lab", "rival"
"""The workspaces of the two clusters, where there are two."""

TOKEN = "a-token"


@dataclass
class World:
    store: Store = field(default_factory=MemoryStore)
    calls_per_minute: int = 10_000
    clock: ManualClock = field(default_factory=lambda: ManualClock(NOON))
    id: str = LAB
    name: str = "lab"

    def __post_init__(self) -> None:
        self.slurm = MemorySlurm(self.clock)
        self.logs = MemoryLogs()
        self.woken = 0
        self.site = Site(
            cluster=Cluster(id=self.id, name=self.name, slurm_url="http://slurm"),
            slurm=self.slurm,
            logins=RemoteLogins("/home/{user}"),
            logs=self.logs,
            user="ana",
            account=self.name,
            recorder=make_recorder(
                self.id,
                store=self.store,
                clock=self.clock,
                logs=self.logs,
                slurm=self.slurm,
            ),
            linked=Linked(cluster=self.id, store=self.store, clock=self.clock),
            budget=Budget(self.calls_per_minute),
            wake=self._wake,
        )
        self.observer = Observer(site=self.site, store=self.store, clock=self.clock)

    def _wake(self) -> None:
        self.woken += 1

    def plane(self, server: ServerSettings | None = None) -> Plane:
        return make_plane(
            Settings(server=server or ServerSettings()),
            store=self.store,
            clock=self.clock,
            sites=[self.site],
            token=TOKEN,
        )

    def next_door(self) -> "World":
        """Return the cluster of somebody else, with the same server."""
        return World(store=self.store, clock=self.clock, id=RIVAL, name="rival")

    def plane_with(self, other: "World") -> Plane:
        """Return the plane of two tenants, each a workspace with a cluster."""
        owned = {self.id: OURS, other.id: THEIRS}
        settings = Settings(
            workspaces=tuple(WorkspaceSettings(id=each) for each in owned.values()),
            clusters=tuple(
                ClusterSettings(id=id, slurm="http://slurm", jwt_key=Path("key"), workspace=each)
                for id, each in owned.items()
            ),
        )
        return make_plane(
            settings,
            store=self.store,
            clock=self.clock,
            sites=[self.site, other.site],
            token=TOKEN,
        )

    async def submitted_past_us(self, *, user: str = "ana", **properties: object) -> int:
        """Submit a job straight to Slurm, as sbatch would."""
        request = JobRequest(script="#!/bin/sh\n", properties=properties)
        return (await self.slurm.submit(request, user=user)).job_id

    async def job(self, id: int) -> Job:
        found = await self.store.job(self.id, id)
        assert found is not None
        return found
