"""A Slurm in a dict, for tests and for reading about.

It keeps the promises of the port and schedules nothing: jobs wait until a test moves
them on. It can be cut off (`reachable`), can lose the answer to a submission, and
counts how often it was asked, which is how the load we put on a Slurm is tested.
"""

from collections import Counter
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from clusterra.adapters.slurmrest.signals import known_signal
from clusterra.adapters.slurmrest.stamp import one_line
from clusterra.core.clusters import Node, Partition, SlurmInfo
from clusterra.core.errors import (
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    Refused,
    Unanswered,
    Unreachable,
)
from clusterra.core.jobs import comment
from clusterra.core.jobs.job import Job, JobState
from clusterra.core.jobs.request import Accepted, JobEdit, JobRequest
from clusterra.core.limits import Holder, Licence, Limits, PartitionRules, Reservation
from clusterra.ports import Clock

OPERATORS = frozenset({None, "root"})
HELD = "JobHeldUser"


class MemorySlurm:
    def __init__(
        self,
        clock: Clock,
        *,
        nodes: Sequence[Node] = (
            Node(name="w1", state="IDLE", cpus=8, memory_mib=16000, partitions=("main",)),
        ),
        partitions: Sequence[Partition] = (Partition(name="main", state="UP", default=True),),
    ) -> None:
        self._clock = clock
        self._nodes = list(nodes)
        self._partitions = list(partitions)
        self._live: dict[int, Job] = {}
        self._past: dict[int, Job] = {}
        self._earlier: dict[int, list[Job]] = {}
        """The runs of a job that ended when it was queued again."""
        self._booted_at = clock.now()
        self.enrolled: set[tuple[str, str]] = set()
        self.reachable = True
        self.loses_answers = False
        """Take submissions and go silent, as a server that dies at the wrong moment does."""
        self.hears_after = 0
        """Refuse so many submissions more, as a controller that accounting has not told yet."""
        self.refuses_after: int | None = None
        """Take so many submissions more, and then none."""
        self.requests: dict[int, JobRequest] = {}
        """What each job was handed over as."""
        self.breaks_after: int | None = None
        """Answer so many questions more, and then none."""
        self.asked: Counter[str] = Counter()
        self.peaks: dict[int, int] = {}
        """The most memory that each job was seen to use, in MiB."""
        self.stamps: dict[int, str] = {}
        """What was last written about each job."""
        self.stamps_ended = True
        """Take it also of a job that has ended, as a Slurm since 25.11 does."""
        self.rules: Sequence[PartitionRules] = ()
        self.reserved: Sequence[Reservation] = ()
        self.licensed: Sequence[Licence] = ()
        self.limited = Limits()
        """What holds jobs back: nothing, until a test says so."""

    # What a test does to it.

    def move(self, id: int, state: JobState, **changes: Any) -> Job:
        """Bring a job into a state, with the times and places that go with it."""
        job, now = self._live[id], self._clock.now()
        facts: dict[str, Any] = {"state": state, "reason": ""}
        if state is not JobState.PENDING and job.started_at is None and not state.ended:
            facts |= {"started_at": now, "nodes": self._nodes[0].name}
        if state.ended:
            facts |= {"ended_at": _end(job, now), "exit_code": 0 if job.started_at else None}
        elif state is not job.state and JobState.SUSPENDED in (state, job.state):
            facts |= {"paused_at": now, "suspended_seconds": _suspended(job, now)}
        self._live[id] = self._past[id] = replace(job, **{**facts, **changes})
        return self._live[id]

    def resize(self, id: int, nodes: str, **changes: Any) -> Job:
        """Give a running job other nodes, and what goes with them."""
        resized = replace(self._live[id], nodes=nodes, resized_at=self._clock.now(), **changes)
        self._live[id] = self._past[id] = resized
        return resized

    def forget(self, id: int) -> None:
        """Drop an ended job, as slurmctld does after a while; accounting keeps it."""
        del self._live[id]

    def join(self, node: Node) -> None:
        """Have a node register, or register anew as it is now."""
        others = [each for each in self._nodes if each.name != node.name]
        self._nodes = sorted([*others, node], key=lambda each: each.name)

    def restart(self) -> None:
        self._booted_at = self._clock.now()

    # The port.

    async def about(self) -> SlurmInfo:
        self._ask("about")
        return SlurmInfo(
            version="26.05.0",
            api_version="v0.0.45",
            cluster_name="memory",
            accounting=True,
            booted_at=self._booted_at,
        )

    async def states(self) -> Mapping[int, str]:
        self._ask("states")
        return {job.id: "+".join((job.state, *job.flags)) for job in self._live.values()}

    async def all_jobs(self) -> AsyncIterator[Job]:
        self._ask("all_jobs")
        for job in list(self._live.values()):
            yield job

    async def job(self, id: int) -> Sequence[Job]:
        self._ask("job")
        return [job for job in self._live.values() if id in (job.id, job.array_id)]

    async def accounted(self, ids: Collection[int]) -> Sequence[Job]:
        self._ask("accounted")
        return [_kept(job) for job in self._past.values() if {job.id, job.array_id} & set(ids)]

    async def earlier_runs(self, id: int) -> Sequence[Job]:
        self._ask("earlier_runs")
        return list(self._earlier.get(id, ()))

    async def peak_memory_mib(self, id: int) -> int | None:
        self._ask("peak_memory_mib")
        return self.peaks.get(id)

    async def history(self, since: datetime, until: datetime) -> AsyncIterator[Job]:
        self._ask("history")
        for job in list(self._past.values()):
            if job.submitted_at <= until and (job.ended_at or until) >= since:
                yield _kept(job)

    async def nodes(self) -> Sequence[Node]:
        self._ask("nodes")
        return list(self._nodes)

    async def partitions(self) -> Sequence[Partition]:
        self._ask("partitions")
        return list(self._partitions)

    async def partition_rules(self) -> Sequence[PartitionRules]:
        self._ask("partition_rules")
        told = {each.name: each for each in self.rules}
        return [
            told.get(each.name)
            or PartitionRules(name=each.name, state=each.state, max_minutes=each.max_minutes)
            for each in self._partitions
        ]

    async def reservations(self) -> Sequence[Reservation]:
        self._ask("reservations")
        return list(self.reserved)

    async def licences(self) -> Sequence[Licence]:
        self._ask("licences")
        return list(self.licensed)

    async def limits(self, *, user: str, account: str) -> Limits:
        self._ask("limits")
        return Limits(
            rows=tuple(
                each
                for each in self.limited.rows
                if each.rule.holder is Holder.QOS
                or (each.user in ("", user) and self.limited.under(account, each.of))
            ),
            parents=self.limited.parents,
        )

    async def submit(self, request: JobRequest, *, user: str) -> Accepted:
        self._ask("submit")
        if self.hears_after:
            self.hears_after -= 1
            raise Refused(f"{user} may not run jobs here.", code="no-association", at="account")
        if self.refuses_after is not None:
            self.refuses_after -= 1
            if self.refuses_after < 0:
                raise Refused("Slurm takes no more jobs.", code="slurm-refused")
        job = self._new(request, user)
        self.requests[job.id] = request
        self._live[job.id] = self._past[job.id] = job
        if self.loses_answers:
            raise Unanswered("Slurm took the job and went silent.", hint="Look for it.")
        return Accepted(job_id=job.id)

    async def cancel(self, id: int, *, user: str | None, signal: str = "") -> None:
        name = known_signal(signal) if signal else "SIGKILL"
        self._ask("cancel")
        job = self._changeable(id, user)
        if name in ("SIGKILL", "SIGTERM"):
            self.move(job.id, JobState.CANCELLED, exit_code=None)

    async def edit(self, id: int, edit: JobEdit, *, user: str | None) -> None:
        self._ask("edit")
        job = self._changeable(id, user)
        if edit.priority is not None and user not in OPERATORS:
            raise Forbidden(f"Slurm does not let {user} do this.", code="not-your-job")
        changes: dict[str, Any] = {}
        if edit.name is not None:
            changes["name"] = edit.name
        if edit.time_limit_minutes is not None:
            changes["time_limit_minutes"] = edit.time_limit_minutes
        if edit.priority is not None:
            changes["priority"] = edit.priority
        if edit.hold is not None and job.state is JobState.PENDING:
            changes |= {"reason": HELD if edit.hold else "", "priority": 0 if edit.hold else 1}
        self._live[id] = self._past[id] = replace(job, **changes)

    async def requeue(self, id: int, *, user: str | None) -> None:
        self._ask("requeue")
        job = self._owned(id, user)
        if job.state is JobState.PENDING:
            raise Conflict(f"Job {id} is waiting already.", code="job-waiting")
        now = self._clock.now()
        waiting = replace(job, state=JobState.PENDING, exit_code=None, signal=None)
        if job.started_at is not None:
            run = replace(
                _kept(waiting), flags=("REQUEUED",), ended_at=job.ended_at or _end(job, now)
            )
            self._earlier.setdefault(id, []).append(run)
        self._live[id] = self._past[id] = replace(
            waiting,
            submitted_at=now,
            restarts=job.restarts + 1,
            nodes="",
            started_at=None,
            ended_at=None,
            suspended_seconds=0,
            paused_at=None,
            resized_at=None,
        )

    async def stamp(self, job: Job, text: str) -> bool:
        self._ask("stamp")
        live, past = self._live.get(job.id), self._past.get(job.id)
        alive = live is not None and not live.state.ended
        if not alive and (past is None or not self.stamps_ended):
            return False
        self.stamps[job.id] = one_line(text)
        return True

    async def drain(self, nodes: Collection[str], reason: str) -> None:
        self._ask("drain")
        for there in map(self._node, nodes):
            flags = tuple(dict.fromkeys((*there.flags, "DRAIN")))
            self.join(replace(there, flags=flags, reason=reason))

    async def resume(self, nodes: Collection[str]) -> None:
        self._ask("resume")
        for there in map(self._node, nodes):
            flags = tuple(flag for flag in there.flags if flag != "DRAIN")
            self.join(replace(there, flags=flags, reason=""))

    async def mark_down(self, node: str, reason: str) -> None:
        self._ask("mark_down")
        self.join(replace(self._node(node), state="DOWN", reason=reason))
        for job in self._on(node):
            await self.requeue(job.id, user=None)

    async def delete_nodes(self, nodes: Collection[str]) -> None:
        self._ask("delete_nodes")
        if busy := [node for node in nodes if self._on(node)]:
            raise Refused(f"Jobs run on the node {busy[0]}.", code="node-busy")
        self._nodes = [each for each in self._nodes if each.name not in nodes]

    async def enroll(self, user: str, account: str) -> None:
        self._ask("enroll")
        self.enrolled.add((user, account))

    async def close(self) -> None:
        return None

    def _ask(self, what: str) -> None:
        self.asked[what] += 1
        if self.breaks_after is not None:
            self.breaks_after -= 1
        if not self.reachable or (self.breaks_after is not None and self.breaks_after < 0):
            raise Unreachable("Slurm cannot be reached.", hint="Try again later.")

    def _new(self, request: JobRequest, user: str) -> Job:
        wanted = request.properties
        partition = wanted.get("partition") or self._partitions[0].name
        if not request.script.strip():
            raise Invalid("There is no script to run.", at="script", code="no-script")
        if partition not in {each.name for each in self._partitions}:
            raise Refused(
                f"There is no partition {partition} on this cluster.",
                code="unknown-partition",
                at="partition",
            )
        id = max(self._past, default=0) + 1
        now = self._clock.now()
        mark = comment.read(str(wanted.get("comment", "")))
        array = str(wanted.get("array") or "")
        work_dir = str(wanted.get("current_working_directory", ""))
        output = f"{work_dir}/slurm-{id}.out"
        return Job(
            id=id,
            born_at=now,
            submitted_at=now,
            state=JobState.PENDING,
            reason=HELD if wanted.get("hold") else "",
            name=str(wanted.get("name", "")),
            user=user,
            account=str(wanted.get("account", "")),
            partition=partition,
            priority=0 if wanted.get("hold") else 1,
            cpus=int(wanted.get("minimum_cpus", 1)),
            nodes_wanted=1,
            memory_mib=_number(wanted.get("memory_per_node")) or 0,
            time_limit_minutes=_number(wanted.get("time_limit")),
            dependency=str(wanted.get("dependency", "")),
            array_id=id if array else None,
            array_waiting=array,
            work_dir=work_dir,
            stdout=output,
            stderr=output,
            run_id=mark.run_id,
            template=mark.template,
            chain=mark.chain,
            step=mark.step,
            comment=mark.note,
        )

    def _node(self, name: str) -> Node:
        for node in self._nodes:
            if node.name == name:
                return node
        raise NotFound(f"There is no node {name}.", code="node-not-found")

    def _on(self, node: str) -> list[Job]:
        return [
            job
            for job in self._live.values()
            if job.nodes == node and job.state in (JobState.RUNNING, JobState.SUSPENDED)
        ]

    def _owned(self, id: int, user: str | None) -> Job:
        job = self._live.get(id)
        if job is None:
            raise NotFound(f"Slurm knows no job {id}.", code="unknown-job")
        if user not in OPERATORS and user != job.user:
            raise Forbidden(f"Slurm does not let {user} do this.", code="not-your-job")
        return job

    def _changeable(self, id: int, user: str | None) -> Job:
        job = self._owned(id, user)
        if job.state.ended:
            raise Conflict(f"Job {id} has already ended.", code="job-ended")
        return job


def _suspended(job: Job, now: datetime) -> int:
    """Return for how long a run has been suspended, one that ends now included."""
    if job.state is not JobState.SUSPENDED or job.paused_at is None:
        return job.suspended_seconds
    return job.suspended_seconds + int((now - job.paused_at).total_seconds())


def _end(job: Job, now: datetime) -> datetime:
    """Return when a run ends that is ended now: for Slurm, one in suspension ended with that."""
    return job.paused_at or now if job.state is JobState.SUSPENDED else now


def _kept(job: Job) -> Job:
    """Return a job as accounting has it, which says how long it was suspended, and not when."""
    return job if job.state is JobState.SUSPENDED else replace(job, paused_at=None)


def _number(amount: Any) -> int | None:
    """Read slurmrestd's `{set, number}`, or a plain number."""
    if isinstance(amount, dict):
        return int(amount["number"]) if amount.get("set", True) else None
    return int(amount) if amount is not None else None
