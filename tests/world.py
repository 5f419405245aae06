"""A whole control plane in memory: a cluster called `lab`, its store and its clock."""

from dataclasses import dataclass, field

from clusterra.adapters.logins_remote import RemoteLogins
from clusterra.adapters.memory import ManualClock, MemoryStore
from clusterra.adapters.memory_slurm import MemorySlurm
from clusterra.control.link import Linked
from clusterra.control.observe import Observer
from clusterra.control.site import Site
from clusterra.core.budget import Budget
from clusterra.core.clusters import Cluster
from clusterra.core.jobs.job import Job
from clusterra.core.jobs.request import JobRequest
from clusterra.ports import Output, Store
from clusterra.settings import Settings
from clusterra.wiring import Plane, make_plane, make_recorder
from tests.builders import NOON

LAB = "cluslab1"
TOKEN = "a-token"


class MemoryLogs:
    def __init__(self) -> None:
        self.written: dict[int, bytes] = {}

    async def read(
        self, job: Job, *, stream: str = "stdout", tail: int | None = None, start: int = 0
    ) -> Output | None:
        data = self.written.get(job.id)
        if data is None:
            return None
        offset = max(len(data) - tail, 0) if tail else start
        return Output(data=data[offset:], offset=offset, size=len(data))


@dataclass
class World:
    store: Store = field(default_factory=MemoryStore)
    calls_per_minute: int = 10_000

    def __post_init__(self) -> None:
        self.clock = ManualClock(NOON)
        self.slurm = MemorySlurm(self.clock)
        self.logs = MemoryLogs()
        self.woken = 0
        self.site = Site(
            cluster=Cluster(id=LAB, name="lab", slurm_url="http://slurm"),
            slurm=self.slurm,
            logins=RemoteLogins("/home/{user}"),
            logs=self.logs,
            user="ana",
            account="lab",
            recorder=make_recorder(LAB, store=self.store, clock=self.clock, logs=self.logs),
            linked=Linked(cluster=LAB, store=self.store, clock=self.clock),
            budget=Budget(self.calls_per_minute),
            wake=self._wake,
        )
        self.observer = Observer(site=self.site, store=self.store, clock=self.clock)

    def _wake(self) -> None:
        self.woken += 1

    def plane(self) -> Plane:
        return make_plane(
            Settings(), store=self.store, clock=self.clock, sites=[self.site], token=TOKEN
        )

    async def submitted_past_us(self, *, user: str = "ana", **properties: object) -> int:
        """Submit a job straight to Slurm, as sbatch would."""
        request = JobRequest(script="#!/bin/sh\n", properties=properties)
        return (await self.slurm.submit(request, user=user)).job_id

    async def job(self, id: int) -> Job:
        found = await self.store.job(LAB, id)
        assert found is not None
        return found
