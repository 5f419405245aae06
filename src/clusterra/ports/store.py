"""Records, jobs, events and money, kept."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol, TypeVar

from clusterra.core.change import Change, Kind, Record
from clusterra.core.cost.books import PaidRun, RunQuery, Spending, Spent
from clusterra.core.errors import ClusterraError
from clusterra.core.events.chain import Head
from clusterra.core.events.event import Event, EventQuery
from clusterra.core.jobs.job import Job
from clusterra.core.jobs.query import Page, Query
from clusterra.core.webhooks.delivery import Attempt, Delivery, DeliveryQuery, DeliveryState

T = TypeVar("T")


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
