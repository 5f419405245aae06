"""Submit a job: intent, act, confirm.

The call to Slurm and our own record of it cannot be one transaction. So a submission
with an Idempotency-Key is recorded first, under its run id; the run id travels in the
job's comment; and whoever finds the submission unconfirmed looks for a job with that
run id before acting again. Resending the request is therefore safe, also when the
first answer was lost or the server died.

Without a key no request can be told to be the same one again, so there is no intent to
wait for: Slurm is asked at once, and what came of it is recorded.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from clusterra.control.notes import Notes
from clusterra.control.site import Site
from clusterra.core.access import Caller
from clusterra.core.change import Change, Kind, Record
from clusterra.core.errors import ClusterraError, Conflict, Refused, Unanswered
from clusterra.core.jobs.fit import check_fits
from clusterra.core.jobs.request import Accepted, JobRequest
from clusterra.core.seen import Seen
from clusterra.ports import Clock, Login, Store

SETTLED_AFTER = timedelta(seconds=10)
"""How long after an unanswered request Slurm may still be taking it in."""


HEARD_WITHIN = timedelta(seconds=5)
"""How long slurmctld may take to hear from accounting of a person just enrolled."""


_AT_HOME = {"current_working_directory": ""}


class Outcome(StrEnum):
    INTENDED = "intended"
    ACCEPTED = "accepted"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    run_id: str
    user: str
    fingerprint: str
    at: datetime
    outcome: Outcome = Outcome.INTENDED
    job_id: int = 0
    warnings: tuple[str, ...] = ()


SUBMISSION: Kind[Submission] = Kind("submission", Submission)


Admit = Callable[[JobRequest, str, str], Awaitable[tuple[str, ...]]]
"""Given a request, the Linux user and the run id: raises QuotaExceeded if they may not submit it,
and returns what to say to them if they may."""


async def _unlimited(*_: object) -> tuple[str, ...]:
    """Take every job."""
    return ()


Keep = Callable[[str, JobRequest, str], Record[Any] | None]
"""Given a run id, the request and the Linux user: returns the record it is kept in, if it is."""


def _forget(*_: object) -> None:
    """Keep nothing."""


Prepare = Callable[[str], Awaitable[None]]
"""Told the run id of a job that is about to be handed over, to keep what goes with it."""


async def nothing(_: str) -> None:
    """Keep nothing with it."""


Compose = Callable[[Login, str], JobRequest]
"""Makes the request, given its owner and run id. Raises Invalid before anything has happened."""


NOT_THERE_YET = frozenset(
    {
        "Required node not available (down, drained or reserved)",
        "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions",
    }
)
"""What Slurm remarks when it takes a job that no node of the moment can run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    submission: Submission
    repeated: bool = False
    """The same request had been made before, and this is what it came to."""


@dataclass(slots=True, kw_only=True)
class Submitter:
    """Submits to one cluster. Holds what is under way, so that a repeated request joins it."""

    site: Site
    store: Store
    clock: Clock
    new_run_id: Callable[[], str]
    uid_of: Callable[[str], int | None] = lambda _: None
    """The number of a Linux user who is a person here."""

    admit: Admit = _unlimited
    let_go: Callable[[str], None] = lambda _: None
    """Told the run id of a job that was admitted and that Slurm did not take."""

    keep: Keep = _forget
    given: Callable[[str], Mapping[str, str]] = lambda _: {}
    """What every job of a Linux user finds in its environment."""

    _under_way: dict[str, asyncio.Task[Submitted]] = field(default_factory=dict)
    _enrolling: asyncio.Lock = field(default_factory=asyncio.Lock)
    _notes: Notes = field(init=False)
    """Outcomes on their way to the store."""

    def __post_init__(self) -> None:
        self._notes = Notes(cluster=self.site.cluster.id, store=self.store)

    async def submit(
        self,
        compose: Compose,
        caller: Caller,
        *,
        body: bytes,
        key: str = "",
        run_id: str = "",
        prepare: Prepare = nothing,
    ) -> Submitted:
        """Submit a job; `run_id` is of whoever has to know it before they ask."""
        intent = Submission(
            run_id=run_id or self.new_run_id(),
            user=caller.user,
            fingerprint=hashlib.sha256(body).hexdigest(),
            at=self.clock.now(),
        )
        if not key:
            record = Record(kind=SUBMISSION, id=intent.run_id, value=intent)
            request, warnings = await self._request(intent, compose, prepare)
            return await self._act(record, request, warnings)
        named = f"{self.site.cluster.id}\n{caller.user}\n{key}"
        id = hashlib.sha256(named.encode()).hexdigest()
        joined = self._under_way.get(id)
        if joined is None:
            task = asyncio.create_task(self._act_once(id, intent, compose, prepare))
            self._under_way[id] = task
            task.add_done_callback(lambda _: self._under_way.pop(id, None))
        else:
            task = joined
        # Shielded: a client that hangs up must not leave the submission half made.
        done = await asyncio.shield(task)
        _check_same(done.submission, intent, key)
        return replace(done, repeated=done.repeated or joined is not None)

    async def rehearse(self, compose: Compose, caller: Caller) -> JobRequest:
        """Return what would be handed to Slurm, or refuse as a submission would; do nothing."""
        login = self._surrounded(await self.site.logins.rehearse(caller.user))
        request = compose(login, self.new_run_id())
        if request.properties.get("current_working_directory") == login.home:
            # It is made with the user.
            await self._check(replace(request, properties=request.properties | _AT_HOME))
        else:
            await self._check(request)
        return request

    async def settle(self) -> None:
        """Wait until everything accepted has been recorded, before the store is closed."""
        await asyncio.gather(*self._under_way.values(), return_exceptions=True)
        await self._notes.all_written()

    async def _act_once(
        self, id: str, intent: Submission, compose: Compose, prepare: Prepare
    ) -> Submitted:
        await self._notes.written(id)
        record = await self.store.get(SUBMISSION, id, default=intent)
        if not record.version or record.value.outcome is Outcome.REFUSED:
            return await self._intend(replace(record, value=intent), compose, prepare)
        if record.value.fingerprint != intent.fingerprint:
            return Submitted(submission=record.value)
        if record.value.outcome is Outcome.INTENDED:
            job_id = await self._find(record.value)
            if job_id is None:
                return await self._intend(record, compose, prepare)
            record = _confirmed(record, Accepted(job_id=job_id))
            self._notes.add(record)
        return Submitted(submission=record.value, repeated=True)

    async def _intend(
        self, record: Record[Submission], compose: Compose, prepare: Prepare
    ) -> Submitted:
        """Act with the intent on disk, so that a repeated request finds it whatever happens."""
        request, warnings = await self._request(record.value, compose, prepare)
        await self.store.commit(self.site.cluster.id, Change(puts=[record]))
        return await self._act(replace(record, version=record.version + 1), request, warnings)

    async def _act(
        self, record: Record[Submission], request: JobRequest, warnings: tuple[str, ...]
    ) -> Submitted:
        intent = record.value
        try:
            accepted = await self._hand_over(request, intent.user)
        except Unanswered:
            if not record.version:  # with a key the intent has been recorded
                self._notes.add(record)
            # Slurm may have it, and then somebody may want it again.
            self._keep(intent, request)
            raise
        except ClusterraError:
            self.let_go(intent.run_id)
            self._notes.add(replace(record, value=replace(intent, outcome=Outcome.REFUSED)))
            raise
        accepted = self._without_the_expected(accepted)
        accepted = replace(accepted, warnings=(*warnings, *accepted.warnings))
        record = _confirmed(record, accepted)
        self._notes.add(record)
        self._keep(intent, request)
        self.site.hand_over(accepted.job_id, intent.run_id)
        self.site.wake()
        return Submitted(submission=record.value)

    def _keep(self, intent: Submission, request: JobRequest) -> None:
        if kept := self.keep(intent.run_id, request, intent.user):
            self._notes.add(kept)

    async def _request(
        self, intent: Submission, compose: Compose, prepare: Prepare
    ) -> tuple[JobRequest, tuple[str, ...]]:
        """Return what Slurm is to be given, and what to say to whoever submits it."""
        login = await self._enrolled(intent.user)
        request = compose(login, intent.run_id)
        await self._check(request)
        await prepare(intent.run_id)
        return request, await self.admit(request, intent.user, intent.run_id)

    async def _hand_over(self, request: JobRequest, user: str) -> Accepted:
        """Give the job to Slurm; again, while slurmctld has not heard of a person just enrolled."""
        while True:
            try:
                return await self.site.slurm.submit(request, user=user)
            except Refused as error:
                enrolled_at = self.site.enrolled.get(user)
                if error.code != "no-association" or enrolled_at is None:
                    raise
                if self.clock.now() - enrolled_at > HEARD_WITHIN:
                    raise
            await asyncio.sleep(0.05)

    async def _enrolled(self, user: str) -> Login:
        login = await self.site.logins.ensure(user, self.uid_of(user))
        if self.site.account and user not in self.site.enrolled:
            async with self._enrolling:
                if user not in self.site.enrolled:
                    await self.site.slurm.enroll(user, self.site.account)
                    self.site.enrolled[user] = self.clock.now()
        return self._surrounded(login)

    def _surrounded(self, login: Login) -> Login:
        return replace(login, variables={**login.variables, **self.given(login.name)})

    async def _check(self, request: JobRequest) -> None:
        """Catch what Slurm would take and then fail, or refuse without saying what there is."""
        directory = request.properties.get("current_working_directory", "")
        if await self.site.logins.directory_missing(directory):
            raise Refused(
                f"The working directory {directory} does not exist on {self.site.cluster.name}.",
                hint="Leave it out to run in your home directory, or make it first.",
                code="no-such-directory",
                at="workdir",
            )
        if there := self.site.largest or self.site.shapes:
            check_fits(request, there)
        wanted, partitions = request.properties.get("partition"), self.site.sky.partitions
        if wanted and isinstance(partitions, Seen):
            names = [each.name for each in partitions.value]
            if unknown := [name for name in str(wanted).split(",") if name not in names]:
                raise Refused(
                    f"There is no partition {unknown[0]} on {self.site.cluster.name}.",
                    hint=f"The partitions are: {', '.join(names) or 'none'}.",
                    code="unknown-partition",
                    at="partition",
                )

    def _without_the_expected(self, accepted: Accepted) -> Accepted:
        """Leave out that no node is there yet: where we start them, that is how it begins."""
        if not self.site.shapes:
            return accepted
        told = tuple(each for each in accepted.warnings if each not in NOT_THERE_YET)
        return replace(accepted, warnings=told)

    async def _find(self, intent: Submission) -> int | None:
        """Return the job that an unconfirmed submission became, if it became one."""
        if job := await self.store.run(self.site.cluster.id, intent.run_id):
            return job.id
        since = self.clock.now() - intent.at
        if since < SETTLED_AFTER:
            await asyncio.sleep((SETTLED_AFTER - since).total_seconds())
        async for job in self.site.slurm.all_jobs():
            if job.run_id == intent.run_id:
                return job.id
        return None


def _confirmed(record: Record[Submission], accepted: Accepted) -> Record[Submission]:
    done = replace(
        record.value,
        outcome=Outcome.ACCEPTED,
        job_id=accepted.job_id,
        warnings=accepted.warnings,
    )
    return replace(record, value=done)


def _check_same(before: Submission, now: Submission, key: str) -> None:
    if before.fingerprint != now.fingerprint:
        raise Conflict(
            f"The Idempotency-Key {key!r} was used for another request.",
            hint="Use a new key for a new request; repeat a key only with the same body.",
            code="idempotency-key-reused",
        )
