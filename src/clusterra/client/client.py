"""The API as methods: wire values in, wire values out.

Each method is one request. `answer` keeps the latest body byte for byte, so that
`--json` can print what the API said and not our retelling of it.

Jobs are what most commands are about; the shapes of other nouns are imported by the
calls that answer with them (those of clusters, nodes and partitions take 6 ms to make).
Those about people are in `people.py`, those about the fleet in `fleet.py`, those
about money in `usage.py` and `quotas.py`, those about webhooks in `webhooks.py`, those about
files in `files.py`.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from clusterra.client.connection import Connection
from clusterra.client.stream import Told, told
from clusterra.core.errors import ClusterraError, Invalid
from clusterra.core.ids import uuid7
from clusterra.wire.jobs import (
    CancelJobs,
    EditJob,
    JobAccepted,
    JobAct,
    JobPage,
    JobsCancelled,
    JobView,
    SubmitJob,
)

if TYPE_CHECKING:
    from clusterra.client.automations import Automations
    from clusterra.client.files import Files
    from clusterra.client.fleet import Fleet
    from clusterra.client.logs import JobLogs
    from clusterra.client.people import People
    from clusterra.client.quotas import Quotas
    from clusterra.client.templates import Templates
    from clusterra.client.usage import Usage
    from clusterra.client.webhooks import Webhooks
    from clusterra.wire.clusters import (
        AddCluster,
        ClusterAdded,
        ClusterPage,
        ClusterRemoved,
        ClusterView,
        KeyRotated,
        NodePage,
        PartitionPage,
    )
    from clusterra.wire.diagnosis import DiagnosisView
    from clusterra.wire.estimate import JobEstimate
    from clusterra.wire.events import EventPage
    from clusterra.wire.prices import PricesView, SetRates
    from clusterra.wire.why import WhyView

T = TypeVar("T")

SILENCE = 45.0
"""Seconds without a word after which a live stream is taken for dead: three missed heartbeats."""

_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOutput:
    data: bytes
    start: int
    """Where in the whole output `data` begins."""
    size: int
    """How long the whole output was when it was read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WhichEvents:
    """What a page or a stream is to show; empty is everything."""

    types: tuple[str, ...] = ()
    """Types, or globs as `job.*`."""
    subject: str = ""
    actor: str = ""
    since: str = ""
    until: str = ""
    """RFC 3339, or an age as `2d`."""


class Client:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.answer = b""
        """The body of the latest answer, byte for byte."""

    @property
    def people(self) -> "People":
        """What there is to ask about people, their tokens, and signing in."""
        from clusterra.client.people import People

        return People(self._call)

    @property
    def fleet(self) -> "Fleet":
        """What there is to ask about the workers of a cluster."""
        from clusterra.client.fleet import Fleet

        return Fleet(self._call)

    @property
    def files(self) -> "Files":
        """What there is to ask about files; the files themselves go over links."""
        from clusterra.client.files import Files

        return Files(self._call)

    @property
    def quotas(self) -> "Quotas":
        """What there is to ask about what people may spend."""
        from clusterra.client.quotas import Quotas

        return Quotas(self._call)

    @property
    def usage(self) -> "Usage":
        """What there is to ask about money."""
        from clusterra.client.usage import Usage

        return Usage(self._call, self._fetch)

    @property
    def automations(self) -> "Automations":
        """What there is to ask about what is done when something happens."""
        from clusterra.client.automations import Automations

        return Automations(self._call)

    @property
    def templates(self) -> "Templates":
        """What there is to ask about recipes."""
        from clusterra.client.templates import Templates

        return Templates(self._call)

    @property
    def webhooks(self) -> "Webhooks":
        """What there is to ask about who is told of events, and what came of it."""
        from clusterra.client.webhooks import Webhooks

        return Webhooks(self._call)

    @property
    def logs(self) -> "JobLogs":
        """What there is to ask about what jobs write: all of it, some lines, as it goes on."""
        from clusterra.client.logs import JobLogs

        return JobLogs(self._connection, self._call)

    def clusters(self) -> "ClusterPage":
        from clusterra.wire.clusters import ClusterPage

        return self._call(ClusterPage, "GET", "/v1/clusters")

    def cluster(self, cluster: str) -> "ClusterView":
        from clusterra.wire.clusters import ClusterView

        return self._call(ClusterView, "GET", _at(cluster))

    def add_cluster(self, wanted: "AddCluster") -> "ClusterAdded":
        from clusterra.wire.clusters import ClusterAdded

        return self._call(ClusterAdded, "POST", "/v1/clusters", wanted)

    def remove_cluster(self, cluster: str) -> "ClusterRemoved":
        from clusterra.wire.clusters import ClusterRemoved

        return self._call(ClusterRemoved, "DELETE", _at(cluster))

    def rotate_key(self, cluster: str, use: str) -> "KeyRotated":
        from clusterra.wire.clusters import KeyRotated, RotateKey

        return self._call(KeyRotated, "POST", _at(cluster, "rotate-key"), RotateKey(use=use))

    def nodes(self, cluster: str) -> "NodePage":
        from clusterra.wire.clusters import NodePage

        return self._call(NodePage, "GET", _at(cluster, "nodes"))

    def partitions(self, cluster: str) -> "PartitionPage":
        from clusterra.wire.clusters import PartitionPage

        return self._call(PartitionPage, "GET", _at(cluster, "partitions"))

    def jobs(
        self,
        cluster: str,
        query: str = "",
        *,
        sort: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> JobPage:
        asked = [("q", query or None), ("sort", sort), ("limit", limit), ("cursor", cursor)]
        return self._call(JobPage, "GET", _at(cluster, "jobs") + _asking(asked))

    def job(self, cluster: str, job: str | int) -> JobView:
        """Return a job by its id or its label (`43_5`)."""
        return self._call(JobView, "GET", _at(cluster, "jobs", job))

    def why(self, cluster: str, job: str | int) -> "WhyView":
        """Return why a job waits."""
        from clusterra.wire.why import WhyView

        return self._call(WhyView, "GET", _at(cluster, "jobs", job, "why"))

    def diagnosis(self, cluster: str, job: str | int, *, as_is: bool = False) -> "DiagnosisView":
        """Return why a job failed, and what to submit instead; with `as_is`, what was submitted."""
        from clusterra.wire.diagnosis import DiagnosisView

        path = _at(cluster, "jobs", job, "diagnosis") + _asking(
            [("as_is", "true" if as_is else None)]
        )
        return self._call(DiagnosisView, "GET", path)

    def submit(
        self, cluster: str, job: SubmitJob | Mapping[str, Any], *, key: str | None = None
    ) -> JobAccepted:
        """Submit once: repeating it with the same `key` never makes a second job.

        Beside the friendly shape it takes slurmrestd's own body, as a diagnosis proposes it.
        """
        fields = _fields(job) if isinstance(job, SubmitJob) else job
        given = {name: value for name, value in fields.items() if value is not None}
        return self._call(
            JobAccepted,
            "POST",
            _at(cluster, "jobs", "submit"),
            given,
            {"Idempotency-Key": key or new_key()},
        )

    def estimate(self, cluster: str, job: SubmitJob) -> "JobEstimate":
        """Ask what a job would come to; nothing is submitted."""
        from clusterra.wire.estimate import JobEstimate

        given = {name: value for name, value in _fields(job).items() if value is not None}
        return self._call(JobEstimate, "POST", _at(cluster, "jobs", "estimate"), given)

    def prices(self, cluster: str) -> "PricesView":
        from clusterra.wire.prices import PricesView

        return self._call(PricesView, "GET", _at(cluster, "prices"))

    def set_rates(self, cluster: str, rates: "SetRates") -> "PricesView":
        from clusterra.wire.prices import PricesView

        return self._call(PricesView, "PUT", _at(cluster, "prices", "rates"), rates)

    def clear_rates(self, cluster: str) -> "PricesView":
        from clusterra.wire.prices import PricesView

        return self._call(PricesView, "DELETE", _at(cluster, "prices", "rates"))

    def cancel(self, cluster: str, job: str | int) -> JobAct:
        return self._call(JobAct, "DELETE", _at(cluster, "jobs", job))

    def act(self, cluster: str, job: str | int, act: str) -> JobAct:
        """Hold, release or requeue a job."""
        return self._call(JobAct, "POST", _at(cluster, "jobs", job, act))

    def edit(self, cluster: str, job: str | int, edit: EditJob) -> JobAct:
        given = {name: value for name, value in _fields(edit).items() if value is not None}
        return self._call(JobAct, "PATCH", _at(cluster, "jobs", job), given)

    def cancel_jobs(self, cluster: str, wanted: CancelJobs) -> JobsCancelled:
        return self._call(JobsCancelled, "POST", _at(cluster, "jobs", "cancel"), wanted)

    def output(
        self,
        cluster: str,
        job: str | int,
        *,
        stream: str = "stdout",
        tail: int | None = None,
        start: int | None = None,
        most: int = 1 << 20,
    ) -> JobOutput:
        """Return what a job wrote, its last `tail` bytes, or at most so many from `start` on.

        Raises NotFound while there is nothing; nothing after `start` is no bytes.
        """
        path = _at(cluster, "jobs", job, "output") + _asking([("stream", stream), ("tail", tail)])
        headers = {"Accept": "text/plain"}
        if start is not None:
            headers["Range"] = f"bytes={start}-{start + most - 1}"
        try:
            reply = self._connection.send("GET", path, headers=headers)
        except Invalid as error:
            if error.code != "range-not-satisfiable":
                raise
            return JobOutput(data=b"", start=start or 0, size=start or 0)
        self.answer = reply.body
        # An empty file has no range and needs none.
        part = _RANGE.fullmatch(reply.headers.get("content-range", ""))
        start, size = (int(part[1]), int(part[2])) if part else (0, len(reply.body))
        return JobOutput(data=reply.body, start=start, size=size)

    def events(
        self,
        cluster: str,
        wanted: WhichEvents | None = None,
        *,
        after: int | None = None,
        last: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> "EventPage":
        asked = [("after", after), ("last", last), ("limit", limit), ("cursor", cursor)]
        path = _at(cluster, "events") + _asking([*_which(wanted), *asked])
        from clusterra.wire.events import EventPage

        return self._call(EventPage, "GET", path)

    def timeline(self, cluster: str, job: str | int) -> "EventPage":
        """Return what happened to a job, by its id or its label (`43_5`)."""
        from clusterra.wire.events import EventPage

        return self._call(EventPage, "GET", _at(cluster, "jobs", job, "events"))

    def follow(
        self, cluster: str, wanted: WhichEvents | None = None, *, after: int | None = None
    ) -> Iterator[Told]:
        """Yield what happens after a position, or from now on, until the server ends it."""
        path = _at(cluster, "events", "stream") + _asking([*_which(wanted), ("after", after)])
        headers = {"Accept": "text/event-stream"}
        return told(self._connection.lines(path, headers, silence=SILENCE))

    def export(
        self, cluster: str, *, after: int | None = None, until: int | None = None
    ) -> Iterator[bytes]:
        """Yield the lines of a part of the ledger, without their ends, as they are sent."""
        path = _at(cluster, "events", "export") + _asking([("after", after), ("until", until)])
        return self._connection.lines(path, {"Accept": "text/plain"}, silence=SILENCE)

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _fetch(self, path: str, kind: str) -> bytes:
        """Return an answer that is no JSON, as it comes."""
        self.answer = self._connection.send("GET", path, headers={"Accept": kind}).body
        return self.answer

    def _call(
        self,
        into: type[T],
        method: str,
        path: str,
        body: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> T:
        sent = None if body is None else msgspec.json.encode(body)
        self.answer = self._connection.send(method, path, sent, headers).body
        try:
            return msgspec.json.decode(self.answer, type=into)
        except msgspec.DecodeError as error:
            raise ClusterraError(
                f"{self._connection.url} answered something this command does not know: {error}.",
                hint="Check that the address is Clusterra's and that both have the same version: "
                "clusterra --version",
            ) from None


def new_key() -> str:
    """Return a name for one submission, so that it can be repeated safely."""
    return uuid7(datetime.now(UTC), os.urandom(10))


def _at(cluster: str, *more: str | int) -> str:
    return "/".join(("/v1/clusters", *(quote(str(each), safe="") for each in (cluster, *more))))


Asked = Sequence[tuple[str, str | int | None]]


def _asking(asked: Asked) -> str:
    given = [(name, value) for name, value in asked if value is not None]
    return f"?{urlencode(given)}" if given else ""


def _which(wanted: WhichEvents | None) -> Asked:
    wanted = wanted or WhichEvents()
    return [
        *(("type", glob) for glob in wanted.types),
        ("subject", wanted.subject or None),
        ("actor", wanted.actor or None),
        ("since", wanted.since or None),
        ("until", wanted.until or None),
    ]


def _fields(value: SubmitJob | EditJob) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(value)
    return found
