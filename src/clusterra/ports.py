"""What the control plane needs from the world.

Each protocol states promises. `tests/contracts` holds every adapter to them,
the in-memory ones included, so a test that passes in memory means something.
"""

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, TypeVar

from clusterra.core.change import Change, Kind, Record
from clusterra.core.clusters import Node, Partition, SlurmInfo
from clusterra.core.cost.books import PaidRun, RunQuery, Spending, Spent
from clusterra.core.errors import ClusterraError
from clusterra.core.events.chain import Head
from clusterra.core.events.event import Event, EventQuery
from clusterra.core.jobs.job import Job
from clusterra.core.jobs.query import Page, Query
from clusterra.core.jobs.request import Accepted, JobEdit, JobRequest
from clusterra.core.limits import Licence, Limits, PartitionRules, Reservation
from clusterra.core.scaling.edge import EdgeWorker, Failed
from clusterra.core.scaling.shapes import Price
from clusterra.core.webhooks.delivery import Attempt, Delivery, DeliveryQuery, DeliveryState
from clusterra.core.webhooks.endpoint import Reach
from clusterra.core.webhooks.exchange import Answer, Outgoing
from clusterra.core.webhooks.mail import Mail

T = TypeVar("T")


class Clock(Protocol):
    def now(self) -> datetime:
        """Return the present, in UTC."""
        ...


class Store(Protocol):
    """Records, jobs and events of every cluster: one way to write, several to read."""

    async def get(self, kind: Kind[T], id: str, default: T) -> Record[T]:
        """Return the record, or `default` at version 0. Sees every commit that has returned."""
        ...

    async def list(self, kind: Kind[T], prefix: str = "") -> Sequence[Record[T]]:
        """Return every record of a kind whose id begins so, ordered by id."""
        ...

    async def commit(self, cluster: str, change: Change) -> int:
        """Apply all of `change` and return the cluster's latest sequence number.

        Raises Conflict, and applies nothing, if any record or delivery has moved on from
        the version it was read at. Sequence numbers have no gaps, and an event
        whose id the ledger has is not written again. What an event adds to the
        books is added with it: once, and not for an event that is left out. When
        this returns, the change survives the death of the process and the machine.
        """
        ...

    async def events(self, cluster: str, query: EventQuery) -> Sequence[Event]:
        """Return the events that match, oldest first; at most `query.limit`."""
        ...

    async def events_at(self, cluster: str, seqs: Collection[int]) -> Mapping[int, Event]:
        """Return those of these events that can still be read, by their numbers."""
        ...

    async def head(self, cluster: str) -> Head:
        """Return how far the ledger reaches, and what it hashes to."""
        ...

    async def oldest(self, cluster: str) -> int:
        """Return the first sequence number that can still be read; older ones are sealed."""
        ...

    async def cut(self, cluster: str) -> Head:
        """Return the head where the sealed part ends: what the oldest readable event follows."""
        ...

    async def seal(self, cluster: str, cut: Head, change: Change) -> None:
        """Apply `change` and let go of the events up to `cut`, together.

        Raises Conflict, and does nothing, if the ledger was sealed further already or did
        not hash to `cut` there. The ids of what went are remembered, so that it does not
        come again.
        """
        ...

    def hold(self, cluster: str, why: ClusterraError) -> None:
        """From now on refuse, with this error, whatever would add to this ledger."""
        ...

    def watch(self, told: Callable[[str, int], None]) -> None:
        """Call `told(cluster, head)` on the event loop after every commit that wrote events."""
        ...

    async def job(self, cluster: str, id: int) -> Job | None:
        """Return the newest job that had this id."""
        ...

    async def jobs_by_id(self, cluster: str, ids: Collection[int]) -> Mapping[int, Job]:
        """Return the newest job of each id that there is."""
        ...

    async def run(self, cluster: str, run_id: str) -> Job | None:
        """Return the job that a submission of ours became."""
        ...

    async def jobs(self, cluster: str, query: Query) -> Page:
        """Return one page of the jobs that match, and the cursor of the next."""
        ...

    async def count(self, cluster: str, query: Query) -> int:
        """Count all the jobs that match, whatever the page."""
        ...

    async def live_ids(self, cluster: str) -> Sequence[int]:
        """Return the id of every job that had not ended when last observed."""
        ...

    async def tally(self, cluster: str) -> Mapping[str, int]:
        """Count the jobs by state."""
        ...

    async def spent(self, query: Spending) -> Sequence[Spent]:
        """Return what is in the books, summed up; by key. Quick, however many jobs it was."""
        ...

    async def paid_runs(self, query: RunQuery) -> Sequence[PaidRun]:
        """Return the runs in the books that were going on in a period, the most expensive first.

        Each whole, and not only what falls into the period. Of runs that cost the same, the
        one that ended last comes first.
        """
        ...

    async def delivery(self, endpoint: str, event_id: str) -> Delivery | None: ...

    async def deliveries(self, query: DeliveryQuery) -> Sequence[Delivery]:
        """Return the deliveries that match, in the order asked for; at most `query.limit`."""
        ...

    async def attempts(self, endpoint: str, event_id: str) -> Sequence[Attempt]:
        """Return every try of a delivery, oldest first."""
        ...

    async def lanes(self) -> Mapping[str, datetime]:
        """Return every endpoint that something is due for, now or later, and when first."""
        ...

    async def delivery_tally(
        self, endpoint: str, since: datetime | None = None
    ) -> Mapping[DeliveryState, int]:
        """Count an endpoint's deliveries by every state; of events that happened since then."""
        ...

    async def forget_deliveries(self, endpoint: str, *, ended_before: datetime | None) -> int:
        """Let go of what has ended before that, with its attempts, and say how many.

        What is kept counts from when it was made. None lets go of all, whatever its state;
        with a time, an empty `endpoint` is every endpoint.
        """
        ...


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


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerShape:
    """What every worker of one name offers to jobs."""

    name: str
    arch: str
    cpus: int
    memory_mib: int
    gpus: int = 0
    gpu_model: str = ""
    features: tuple[str, ...] = ()
    on_demand: bool = False


class PriceList(Protocol):
    """What a cloud charges for machines, asked with the account's own credentials."""

    async def prices(self, region: str, types: Collection[str]) -> Mapping[str, Price]:
        """Return the price of each of these that is sold there; the others are left out.

        Raises Unreachable if it cannot be asked, and Refused if the credentials do not allow it.
        """
        ...

    async def close(self) -> None: ...


class Workers(Protocol):
    """Where workers run: processes of this machine, pods of a Kubernetes.

    A worker outlives whoever started it: another instance of the same adapter, on the same
    machine or namespace, finds it again. Every method raises Unreachable when the place
    could not be asked, and then has changed nothing it does not tell of later.
    """

    async def present(self) -> Sequence[EdgeWorker]:
        """Return every worker there is, starting ones included, by name."""
        ...

    async def resize(
        self,
        shape: WorkerShape,
        replicas: int,
        *,
        retire: Collection[str] = (),
        protected: Collection[str] = (),
    ) -> None:
        """Make it so many of this shape. Returns when they are started, not when they are ready.

        Those in `retire` go, and are no part of the number; no new one gets such a name. Fewer
        then takes those that are not ready, then the youngest. Never one in `protected`, even
        if more than `replicas` are left. Done again, it does nothing.
        """
        ...

    async def remove(self, name: str) -> None:
        """Stop one worker, and return when nothing of it is left. No such worker is fine."""
        ...

    async def failures(self) -> Sequence[Failed]:
        """Return what did not come or went by itself since this was last asked."""
        ...

    def watch(self, told: Callable[[], None]) -> None:
        """Call `told` on the event loop whenever a worker has come, become ready or gone."""
        ...

    async def close(self) -> None:
        """Let go of them without stopping any."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """A Linux user where jobs run."""

    name: str
    home: str


class Logins(Protocol):
    """The Linux users of the machines where jobs run."""

    async def ensure(self, name: str, uid: int | None) -> Login:
        """Return the user, made just in time, with that number, where that is ours to do.

        Raises Refused where it cannot be made (a reserved name, a number somebody else has,
        a single-user cluster).
        """
        ...

    async def rehearse(self, name: str) -> Login:
        """Return the user that `ensure` would, and make nobody. Raises what it would raise."""
        ...

    async def directory_missing(self, path: str) -> bool:
        """Say whether `path` is known not to exist there. Not knowing is False."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Some bytes of what a job has written."""

    data: bytes
    offset: int
    """Where in the file `data` begins."""

    size: int
    """How long the file was when it was read."""


class Logs(Protocol):
    """What jobs write."""

    async def read(
        self, job: Job, *, stream: str = "stdout", tail: int | None = None, start: int = 0
    ) -> Output | None:
        """Return the output from byte `start`, or its last `tail` bytes; None if there is none yet.

        What is too much for one answer is left out: at the front, or after `start` at the
        end. Never follows a link out of the job's own files. Raises Refused where
        output cannot be reached from here.
        """
        ...


class Signer(Protocol):
    """Who signs checkpoints."""

    @property
    def public(self) -> bytes:
        """The public half of its Ed25519 key."""
        ...

    def sign(self, message: bytes) -> bytes: ...


class Archive(Protocol):
    """An append-only place outside the store: what a store that was altered is held to."""

    async def add(self, cluster: str, checkpoint: str) -> None:
        """Add a signed checkpoint after the others. When this returns, it survives the machine."""
        ...

    def checkpoints(self, cluster: str) -> AsyncIterator[str]:
        """Stream every checkpoint that was added, oldest first."""
        ...

    async def newest(self, cluster: str) -> str | None:
        """Return the checkpoint that was added last."""
        ...

    async def keep(self, cluster: str, first: int, lines: AsyncIterator[bytes]) -> None:
        """Keep the segment of the ledger that begins with event `first`: all of it or nothing.

        A segment that begins there already is replaced.
        """
        ...

    async def segments(self, cluster: str) -> Sequence[int]:
        """Return the first event of every segment, oldest first."""
        ...

    def segment(self, cluster: str, first: int) -> AsyncIterator[bytes]:
        """Stream a segment as it was kept."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """Who somebody is, as their identity provider says; every check has been passed."""

    issuer: str
    subject: str
    """Theirs for ever at that issuer, which an e-mail is not."""

    email: str
    """Verified by the provider; as it wrote it."""

    name: str = ""
    groups: tuple[str, ...] = ()
    id_token: str = field(default="", repr=False)
    """As it came, to be shown to the provider when they sign out."""


class Provider(Protocol):
    """Where people sign in: OpenID Connect by discovery, authorization code with PKCE."""

    name: str
    """What people call it: `Meridian SSO`."""

    async def sign_in_url(
        self, *, state: str, nonce: str, verifier: str, redirect_uri: str, another: bool = False
    ) -> str:
        """Return where to send the browser; with `another`, to choose another account there.

        Raises Unreachable if discovery fails.
        """
        ...

    async def redeem(self, code: str, *, verifier: str, nonce: str, redirect_uri: str) -> Claims:
        """Turn a code into who came back with it, once.

        Raises Unauthenticated, with a code of its own for each cause, if the provider does
        not take the code or its ID token does not pass; Unreachable if it cannot be asked.
        """
        ...

    async def sign_out_url(self, *, id_token: str, back_to: str) -> str:
        """Return where the browser signs out at the provider too; empty if it offers that nowhere."""
        ...

    async def close(self) -> None: ...


class Sealer(Protocol):
    """Lets us give something to a client and know it again when it comes back."""

    def seal(self, kind: str, content: Mapping[str, str], *, until: datetime) -> str:
        """Return `content` as text that nobody else can make or change, good until then."""
        ...

    def opened(self, kind: str, sealed: str) -> Mapping[str, str]:
        """Return what was sealed as this kind.

        Raises Unauthenticated: `token-expired` if its time is over, `bad-token` if it is not ours.
        """
        ...


class JwtKeys(Protocol):
    """Where the keys of Slurms that were added lie, and nobody but the server reads them."""

    def keep(self, cluster: str, key: bytes) -> None:
        """Keep it. Raises Refused where that is not possible."""
        ...

    def forget(self, cluster: str) -> None:
        """Let go of it; there being none is fine."""
        ...


class Sender(Protocol):
    """HTTP to addresses that others have chosen."""

    async def check(self, url: str, reach: Reach) -> None:
        """Raise Invalid, with the verdict that a delivery would meet, if it may not be dialled."""
        ...

    async def send(self, outgoing: Outgoing) -> Answer:
        """POST once and say what came of it, within the time that the settings allow.

        No redirect is followed, no address dialled that `reach` does not allow, and no more
        read than is kept. Whatever the far side does is an answer and raises nothing.
        """
        ...

    async def close(self) -> None: ...


class Mailer(Protocol):
    """Sends e-mail."""

    async def mail(self, mail: Mail) -> Answer:
        """Hand it over once and say what came of it; raises nothing."""
        ...


class Vault(Protocol):
    """Keeps what must be used and never shown: secrets that the store holds locked."""

    def lock(self, text: str) -> str:
        """Return it so that only this vault can read it."""
        ...

    def unlock(self, locked: str) -> str:
        """Return what was locked. Raises Refused if it was not by this vault."""
        ...

    def signer(self, locked: str) -> Signer:
        """Return who signs with the Ed25519 seed (in hexadecimal) that was locked."""
        ...
