"""A cluster's scheduler."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from clusterra.core.clusters import Node, Partition, SlurmInfo
from clusterra.core.jobs.job import Job
from clusterra.core.jobs.request import Accepted, JobEdit, JobRequest
from clusterra.core.limits import Licence, Limits, PartitionRules, Reservation


class Slurm(Protocol):
    """One cluster's scheduler, as seen by the service and as told by a person.

    Every method raises Unreachable when Slurm could not be asked, and never
    returns a partial answer. `user` is the Linux user in whose name to act;
    None acts as the service itself.
    """

    async def about(self) -> SlurmInfo: ...

    async def states(self) -> Mapping[int, str]:
        """Return a mark per job slurmctld holds that changes when the job's state does. Cheap."""
        ...

    def all_jobs(self) -> AsyncIterator[Job]:
        """Stream every job slurmctld holds. Expensive on the far side: ask rarely."""
        ...

    async def job(self, id: int) -> Sequence[Job]:
        """Return a job; for an array, its entries. Empty if slurmctld holds no such job."""
        ...

    async def accounted(self, ids: Collection[int]) -> Sequence[Job]:
        """Return what accounting has of these jobs, newest submission of each id."""
        ...

    async def earlier_runs(self, id: int) -> Sequence[Job]:
        """Return what accounting has of the runs of a job that ended because it was queued again.

        By restart count. Each has its own start, end, nodes and resources. `state` says that it
        waits, as the job did then. Empty where accounting knows of none.
        """
        ...

    async def peak_memory_mib(self, id: int) -> int | None:
        """Return the most memory that a step of this job was seen to use, over all its nodes.

        Looked at every few seconds, so what came and went between is missed. None where
        accounting knows nothing of it.
        """
        ...

    def history(self, since: datetime, until: datetime) -> AsyncIterator[Job]:
        """Stream what accounting has of the jobs that were alive in a period."""
        ...

    async def nodes(self) -> Sequence[Node]: ...

    async def partitions(self) -> Sequence[Partition]: ...

    async def partition_rules(self) -> Sequence[PartitionRules]:
        """Return what each partition lets in."""
        ...

    async def reservations(self) -> Sequence[Reservation]:
        """Return the reservations that have not ended."""
        ...

    async def licences(self) -> Sequence[Licence]: ...

    async def limits(self, *, user: str, account: str) -> Limits:
        """Return the limits that this person's jobs in this account are under, and all of QOS.

        Expensive on the far side where there are many people: ask when somebody wants to know.
        """
        ...

    async def submit(self, request: JobRequest, *, user: str) -> Accepted:
        """Hand the job over once.

        Raises Refused or Invalid if Slurm will not have it, and Unanswered if it is
        not known whether Slurm took it.
        """
        ...

    async def cancel(self, id: int, *, user: str | None, signal: str = "") -> None: ...

    async def edit(self, id: int, edit: JobEdit, *, user: str | None) -> None: ...

    async def requeue(self, id: int, *, user: str | None) -> None: ...

    async def stamp(self, job: Job, text: str) -> bool:
        """Write into a job's `admin_comment`, which sacct and scontrol show; replaces what is there.

        Says whether that was done: a Slurm before 25.11 takes nothing about a job that has ended.
        """
        ...

    async def drain(self, nodes: Collection[str], reason: str) -> None:
        """Let no new job start there. What runs there goes on. Done again, they stay drained.

        Raises NotFound if one of them is not there; the others may be drained then.
        """
        ...

    async def resume(self, nodes: Collection[str]) -> None:
        """Let jobs start there again. Raises NotFound as `drain` does."""
        ...

    async def mark_down(self, node: str, reason: str) -> None:
        """Take the node as lost: its jobs are queued again or fail, at once."""
        ...

    async def delete_nodes(self, nodes: Collection[str]) -> None:
        """Forget nodes that registered by themselves. One that is not there is fine.

        Raises Refused if jobs run on one, or if it is not such a node; the others may be gone
        then.
        """
        ...

    async def enroll(self, user: str, account: str) -> None:
        """Let `user` run jobs under `account`; does nothing if they may already."""
        ...

    async def close(self) -> None: ...
