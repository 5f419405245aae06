"""A Slurm behind its REST daemon: the `Slurm` port, spoken to slurmrestd.

This file knows slurmrestd's paths and their traps. How the bytes travel is in
`client`, versions and complaints in `conversation`, and what the members of a
reply mean in the files named after them.

The traps, each met on a real server:
- DELETE answers 200 whether it cancelled or not; the errors are in `status`.
- DELETE with a signal Slurm does not know cancels the job.
- A submission with one unreadable flag answers 500 with an error, and is accepted.
- /ping answers 200 to a token that nothing else accepts.
- Accounting asked without a period means "since midnight", with times cut to fit.
- Counters, and with them their start, are reset at midnight UTC.
- Accounting leaves out earlier runs of a job unless asked for duplicates.
- 304 to an association means "already there", and also "this cluster is not known yet".
"""

from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from datetime import datetime
from urllib.parse import quote

import msgspec

from clusterra.adapters.slurmrest.accounting import PastJob
from clusterra.adapters.slurmrest.client import Http
from clusterra.adapters.slurmrest.cluster import (
    ConfReply,
    DiagReply,
    NodeInfo,
    NodesReply,
    PartitionInfo,
    PartitionsReply,
    cluster_name,
    node,
    partition,
    release,
    started,
)
from clusterra.adapters.slurmrest.conversation import Conversation
from clusterra.adapters.slurmrest.decode import (
    Amount,
    Envelope,
    moment,
    read,
    read_list,
    whole,
)
from clusterra.adapters.slurmrest.duplicates import Newest, newest
from clusterra.adapters.slurmrest.errors import Act, Complaint, explain
from clusterra.adapters.slurmrest.jobs import JobInfo, JobsReply, job
from clusterra.adapters.slurmrest.limits import (
    Association,
    Gathered,
    Qos,
    QosReply,
    RulesInfo,
    partition_rules,
)
from clusterra.adapters.slurmrest.peak import SteppedJob, peak_memory_mib
from clusterra.adapters.slurmrest.reservations import (
    LicenceInfo,
    LicencesReply,
    ReservationInfo,
    ReservationsReply,
    licence,
    reservation,
)
from clusterra.adapters.slurmrest.runs import Runs, earlier_runs, superseded
from clusterra.adapters.slurmrest.signals import known_signal
from clusterra.adapters.slurmrest.stamp import stamp
from clusterra.adapters.slurmrest.states import read_marks
from clusterra.adapters.slurmrest.stream import Broken, Piece
from clusterra.adapters.slurmrest.submission import accepted, read_submission
from clusterra.adapters.slurmrest.tokens import Tokens
from clusterra.core.clusters import Node, Partition, SlurmInfo
from clusterra.core.errors import (
    Forbidden,
    NotFound,
    Refused,
    Unanswered,
    Unreachable,
)
from clusterra.core.jobs.job import Job
from clusterra.core.jobs.request import Accepted, JobEdit, JobRequest
from clusterra.core.limits import Licence, Limits, PartitionRules, Reservation
from clusterra.ports import Clock

BATCH = 100  # ids per question to accounting, nodes per change

AS_IT_WAS = (("disable_truncate_usage_time", "true"), ("skip_steps", "true"))
"""Times as they were, and none of the steps, which are two thirds of the bytes."""

ALREADY_ENDED = 2021


class Failures(Envelope, frozen=True):
    """What cancelling and requeueing say of each job or task they touched."""

    class Failure(msgspec.Struct, frozen=True):
        error: dict[str, object] | str | None = None
        error_code: Amount = None

        @property
        def number(self) -> int:
            named = self.error.get("code") if isinstance(self.error, dict) else self.error_code
            return int(named) if isinstance(named, int | float) else whole(self.error_code) or 0

    status: list[Failure] | None = None


class Associations(Envelope, frozen=True):
    class Association(msgspec.Struct, frozen=True):
        user: str | None = ""
        account: str | None = ""

    associations: list[Association] | None = None


class SlurmRest:
    """One cluster's scheduler, spoken to through its slurmrestd."""

    def __init__(
        self,
        url: str,
        key: bytes,
        *,
        clock: Clock,
        service_user: str = "root",
        timeout_seconds: float = 30,
        connections: int = 8,
    ) -> None:
        """`url` is `http://host:port`, `https://…` or `unix:/path`; `key` Slurm's HS256 key."""
        http = Http(
            url, Tokens(key, clock), timeout_seconds=timeout_seconds, connections=connections
        )
        self._slurm = Conversation(http, service_user=service_user)
        self._service_user = service_user
        self._booted_at: datetime | None = None

    async def about(self) -> SlurmInfo:
        dialect = await self._slurm.dialect()
        diag = await self._slurm.ask("/slurm/{v}/diag/", DiagReply)
        if dialect.boot_time:
            conf = await self._slurm.ask("/slurm/{v}/conf", ConfReply)
            self._booted_at = moment(conf.slurm_conf_meta.boot_time)
        else:
            counting_since = moment(diag.statistics.req_time_start)
            self._booted_at = started(counting_since, before=self._booted_at)
        return SlurmInfo(
            version=release(diag),
            api_version=dialect.version,
            cluster_name=cluster_name(diag),
            accounting=await self._has_accounting(),
            booted_at=self._booted_at,
        )

    async def states(self) -> Mapping[int, str]:
        reply = await self._slurm.fetch("/slurm/{v}/jobs/state/")
        asked = {"user": self._service_user}
        try:
            marks, around = await read_marks(reply.body)
        except Broken as error:
            self._slurm.settled(reply, Envelope, Act.READ, asked)
            raise Unreachable(
                "slurmrestd's list of the states of its jobs cannot be read.",
                hint="Check what stands between Clusterra and slurmrestd.",
            ) from error
        without_jobs = replace(reply, body=msgspec.json.encode(around))
        self._slurm.settled(without_jobs, Envelope, Act.READ, asked)
        return marks

    async def all_jobs(self) -> AsyncIterator[Job]:
        seen = Newest()
        async with aclosing(self._slurm.each("/slurm/{v}/jobs/", "jobs", _jobs)) as found:
            async for some in found:
                for each in some:
                    if each.id and seen.is_news(each):
                        yield each

    async def job(self, id: int) -> Sequence[Job]:
        try:
            reply = await self._slurm.ask(f"/slurm/{{v}}/job/{id}", JobsReply)
        except NotFound:
            return []
        return newest(job(read(each, JobInfo)) for each in reply.jobs or ())

    async def accounted(self, ids: Collection[int]) -> Sequence[Job]:
        wanted = sorted(set(ids))
        found: list[Job] = []
        for first in range(0, len(wanted), BATCH):
            steps = [("step", str(id)) for id in wanted[first : first + BATCH]]
            async with aclosing(self._past([*steps, *AS_IT_WAS])) as batch:
                found += [each async for each in batch]
        return newest(found)

    async def earlier_runs(self, id: int) -> Sequence[Job]:
        query = [("step", str(id)), ("show_duplicates", "true"), *AS_IT_WAS]
        rows = self._slurm.each("/slurmdb/{v}/jobs/", "jobs", _rows, query=query)
        async with aclosing(rows) as found:
            # That of an array is also the id of one of its tasks, and asks for all of them.
            return earlier_runs([row async for some in found for row in some if row.job_id == id])

    async def peak_memory_mib(self, id: int) -> int | None:
        query = [("step", str(id))]
        rows = self._slurm.each("/slurmdb/{v}/jobs/", "jobs", _stepped, query=query)
        async with aclosing(rows) as found:
            return peak_memory_mib(
                [row async for some in found for row in some if row.job_id == id]
            )

    async def history(self, since: datetime, until: datetime) -> AsyncIterator[Job]:
        period = [
            ("start_time", str(int(since.timestamp()))),
            ("end_time", str(int(until.timestamp()))),
        ]
        seen = Newest()
        async with aclosing(self._past([*period, *AS_IT_WAS])) as found:
            async for each in found:
                if not superseded(each) and seen.is_news(each):
                    yield each

    async def nodes(self) -> Sequence[Node]:
        reply = await self._slurm.ask("/slurm/{v}/nodes/", NodesReply)
        return [node(read(each, NodeInfo)) for each in reply.nodes or ()]

    async def partitions(self) -> Sequence[Partition]:
        reply = await self._slurm.ask("/slurm/{v}/partitions/", PartitionsReply)
        return [partition(read(each, PartitionInfo)) for each in reply.partitions or ()]

    async def partition_rules(self) -> Sequence[PartitionRules]:
        reply = await self._slurm.ask("/slurm/{v}/partitions/", PartitionsReply)
        return [partition_rules(read(each, RulesInfo)) for each in reply.partitions or ()]

    async def reservations(self) -> Sequence[Reservation]:
        reply = await self._slurm.ask("/slurm/{v}/reservations/", ReservationsReply)
        return [reservation(read(each, ReservationInfo)) for each in reply.reservations or ()]

    async def licences(self) -> Sequence[Licence]:
        reply = await self._slurm.ask("/slurm/{v}/licenses/", LicencesReply)
        return [licence(read(each, LicenceInfo)) for each in reply.licenses or ()]

    async def limits(self, *, user: str, account: str) -> Limits:
        diag = await self._slurm.ask("/slurm/{v}/diag/", DiagReply)
        gathered = Gathered(user=user, account=account, cluster=cluster_name(diag))
        rows = self._slurm.each("/slurmdb/{v}/associations/", "associations", _associations)
        async with aclosing(rows) as found:
            async for some in found:
                gathered.add(some)
        reply = await self._slurm.ask("/slurmdb/{v}/qos/", QosReply)
        return gathered.limits(read(each, Qos) for each in reply.qos or ())

    async def submit(self, request: JobRequest, *, user: str) -> Accepted:
        reply = await self._slurm.act(
            "POST",
            "/slurm/{v}/job/submit",
            user=user,
            body={"script": request.script, "job": request.properties},
        )
        taken = accepted(read_submission(reply))
        if taken is not None:
            return taken
        self._slurm.settled(reply, Envelope, Act.SUBMIT, {**request.properties, "user": user})
        raise Unanswered(
            "slurmrestd answered without naming the job.",
            hint="Look for the job before submitting it again.",
        )

    async def cancel(self, id: int, *, user: str | None, signal: str = "") -> None:
        query = [("signal", known_signal(signal))] if signal else []
        reply = await self._slurm.act("DELETE", f"/slurm/{{v}}/job/{id}", user=user, query=query)
        asked = {"job": id, "user": user or self._service_user}
        result = self._slurm.settled(reply, Failures, Act.CHANGE, asked)
        numbers = [each.number for each in result.status or () if each.number]
        if not numbers:
            return
        if set(numbers) == {ALREADY_ENDED} and len(await self.job(id)) > len(numbers):
            return  # some tasks of an array had ended before; the others are cancelled now
        worst = next((number for number in numbers if number != ALREADY_ENDED), ALREADY_ENDED)
        raise explain(Complaint(number=worst), Act.CHANGE, asked)

    async def edit(self, id: int, edit: JobEdit, *, user: str | None) -> None:
        changes: dict[str, object] = {}
        if edit.name is not None:
            changes["name"] = edit.name
        if edit.time_limit_minutes is not None:
            changes["time_limit"] = {"set": True, "number": edit.time_limit_minutes}
        if edit.priority is not None:
            changes["priority"] = {"set": True, "number": edit.priority}
        if edit.hold is not None:
            changes["hold"] = edit.hold
        reply = await self._slurm.act("POST", f"/slurm/{{v}}/job/{id}", user=user, body=changes)
        asked = {"job": id, "user": user or self._service_user}
        self._slurm.settled(reply, Envelope, Act.CHANGE, asked)

    async def requeue(self, id: int, *, user: str | None) -> None:
        dialect = await self._slurm.dialect()
        if not dialect.requeue:
            raise Refused(
                f"Queueing a job again through slurmrestd needs Slurm 26.05; this one speaks "
                f"{dialect.version}.",
                hint=f"Run `scontrol requeue {id}` on the cluster, or submit the job again.",
                code="requeue-unsupported",
            )
        reply = await self._slurm.act("GET", f"/slurm/{{v}}/job/{id}/requeue", user=user)
        asked = {"job": id, "user": user or self._service_user}
        result = self._slurm.settled(reply, Failures, Act.CHANGE, asked)
        numbers = [each.number for each in result.status or ()]
        if numbers and all(numbers):  # one 0 among them: some tasks of an array were requeued
            raise explain(Complaint(number=numbers[0]), Act.CHANGE, asked)

    async def stamp(self, job: Job, text: str) -> bool:
        return await stamp(self._slurm, job, text)

    async def drain(self, nodes: Collection[str], reason: str) -> None:
        await self._change_nodes(nodes, state="DRAIN", reason=reason)

    async def resume(self, nodes: Collection[str]) -> None:
        # Not RESUME, which is refused to a node that takes jobs already.
        await self._change_nodes(nodes, state="UNDRAIN")

    async def mark_down(self, node: str, reason: str) -> None:
        await self._change_nodes([node], state="DOWN", reason=reason)

    async def delete_nodes(self, nodes: Collection[str]) -> None:
        for some in _host_lists(nodes):
            reply = await self._slurm.act("DELETE", f"/slurm/{{v}}/node/{quote(some)}", user=None)
            with suppress(NotFound):
                self._slurm.settled(reply, Envelope, Act.NODE, {"node": some})

    async def _change_nodes(self, nodes: Collection[str], *, state: str, reason: str = "") -> None:
        body = {"state": [state], "reason": reason} if reason else {"state": [state]}
        for some in _host_lists(nodes):
            reply = await self._slurm.act(
                "POST", f"/slurm/{{v}}/node/{quote(some)}", user=None, body=body
            )
            self._slurm.settled(reply, Envelope, Act.NODE, {"node": some})

    async def enroll(self, user: str, account: str) -> None:
        if await self._associated(user, account):
            return
        diag = await self._slurm.ask("/slurm/{v}/diag/", DiagReply)
        here = {"accounts": [account], "clusters": [cluster_name(diag)]}
        for path, body in (
            (
                "/slurmdb/{v}/accounts_association/",
                {
                    "association_condition": here,
                    "account": {"description": account, "organization": account},
                },
            ),
            (
                "/slurmdb/{v}/users_association/",
                {"association_condition": {**here, "users": [user]}, "user": {}},
            ),
        ):
            reply = await self._slurm.act("POST", path, user=None, body=body)
            asked = {"user": self._service_user, "account": account}
            self._slurm.settled(reply, Envelope, Act.CHANGE, asked)
        if not await self._associated(user, account):
            raise Unreachable(
                f"Slurm's accounting did not put {user} into the account {account}.",
                hint="A cluster that has just been started must register with slurmdbd first; "
                "try again in a few seconds.",
                code="not-registered",
            )

    async def close(self) -> None:
        await self._slurm.close()

    async def _past(self, query: Sequence[tuple[str, str]]) -> AsyncGenerator[Job, None]:
        past = self._slurm.each("/slurmdb/{v}/jobs/", "jobs", Runs().read, query=query)
        async with aclosing(past) as found:
            async for some in found:
                for each in some:
                    yield each

    async def _has_accounting(self) -> bool:
        try:
            await self._slurm.ask("/slurmdb/{v}/diag/", Envelope)
        except Forbidden:
            return True  # slurmdbd answered; only its statistics are for operators
        except Refused:
            return False
        except Unreachable as error:
            if error.code == "accounting-unreachable":
                return False
            raise
        return True

    async def _associated(self, user: str, account: str) -> bool:
        query = [("user", user), ("account", account)]
        found = await self._slurm.ask("/slurmdb/{v}/associations/", Associations, query=query)
        return any(
            each.user == user and each.account == account for each in found.associations or ()
        )


def _host_lists(nodes: Collection[str]) -> Iterator[str]:
    """Write nodes as Slurm does, so many at a time: it takes a list wherever it takes a name."""
    wanted = sorted(nodes)
    for first in range(0, len(wanted), BATCH):
        yield ",".join(wanted[first : first + BATCH])


def _jobs(data: Piece) -> list[Job]:
    return [job(each) for each in read_list(data, JobInfo)]


def _associations(data: Piece) -> list[Association]:
    return read_list(data, Association)


def _stepped(data: Piece) -> list[SteppedJob]:
    return read_list(data, SteppedJob)


def _rows(data: Piece) -> list[PastJob]:
    return read_list(data, PastJob)
