"""What hooks, collectors and clouds send: in by thousands, answered when it is on disk.

Plain ASGI, because nothing else here is asked as often. It authenticates by itself:
a cluster's collector shows a key of its cluster, and is nobody. An unknown
cluster is said to be unknown before any key is looked at, since installers ask just that.

Each item stands for itself: one that cannot be used is named in `results`, and the
others are kept. Sending everything again is always safe.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from clusterra.api import problems
from clusterra.api.door import GUESSES, check_address, visit_of
from clusterra.api.limits import Failures
from clusterra.api.metrics import RequestMetrics
from clusterra.control.people.doing import Visit
from clusterra.core.errors import (
    ClusterraError,
    Invalid,
    Malformed,
    NotFound,
    TooLarge,
    Unauthenticated,
)
from clusterra.core.events.event import Draft
from clusterra.core.events.heard import Heard, read, read_row, rows
from clusterra.core.people.credentials import hash_of
from clusterra.wiring import Plane

EVENTS = "/v1/internal/events"
BATCH = "/v1/internal/batch"

LARGEST = 1 << 20

_encode = msgspec.json.Encoder().encode
_JSON = [(b"content-type", b"application/json")]

NOT_POSTED = "method-not-allowed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An item that was not kept, and why."""

    index: int
    status: int
    code: str
    detail: str


class Taken(msgspec.Struct, kw_only=True):
    accepted: int
    duplicates: int
    results: Sequence[Failure]


class Internal:
    """Answers what collectors send, and passes everything else on."""

    def __init__(self, app: ASGIApp, plane: Plane, metrics: RequestMetrics) -> None:
        self._app = app
        self._plane = plane
        self._metrics = metrics
        self._failures = Failures(plane.clock, most=GUESSES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not (route := _route(scope["path"])):
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        try:
            body = _encode(await self._take(scope, receive))
            status, headers = 200, [*_JSON, (b"content-length", b"%d" % len(body))]
        except ClusterraError as error:
            refusal = problems.respond(error, 405 if error.code == NOT_POSTED else 0)
            status, headers, body = _parts(refusal)
        except Exception as error:  # noqa: BLE001 - said in the log, and to whoever asked
            refusal = await problems.unexpected(Request(scope), error)
            status, headers, body = _parts(refusal)
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})
        self._metrics.note(route, scope["method"], status, time.perf_counter() - began)

    async def _take(self, scope: Scope, receive: Receive) -> Taken:
        if scope["method"] != "POST":
            raise NotFound(
                f"{scope['method']} {scope['path']} is not something this server does.",
                hint="Send events with POST.",
                code=NOT_POSTED,
            )
        check_address(scope)
        if not self._plane.is_open:
            await self._plane.open()
        headers = dict(scope["headers"])
        visit = visit_of(scope, behind_proxy=self._plane.settings.server.behind_proxy)
        cluster = _in_path(scope["path"]) or _word(headers, b"x-cluster-id")
        if cluster:
            # Before the body: nobody has to read a megabyte of a stranger's.
            self._check_key(cluster, headers, visit)
        body = _decode(await _read(headers, receive))
        if not cluster:
            cluster = _in_body(body)
            self._check_key(cluster, headers, visit)
        return await self._keep(cluster, _items(scope["path"], body))

    def _check_key(self, cluster: str, headers: dict[bytes, bytes], visit: Visit) -> None:
        if cluster not in self._plane.sites:
            raise NotFound(
                f"There is no cluster {cluster[:64]!r} here.",
                hint="Check its id; `clusterra clusters list` shows it.",
                code="cluster-not-found",
            )
        scheme, _, token = _word(headers, b"authorization").partition(" ")
        given = token.strip() if scheme.lower() == "bearer" else ""
        given = given or _word(headers, b"x-agent-key")
        if not given:
            raise Unauthenticated(
                "This call needs the key of the cluster and came without one.",
                hint="Send `Authorization: Bearer <key>` or `X-Agent-Key: <key>`; the key is in"
                f" keys/{cluster}.key in the server's state directory, or is made with"
                " `clusterra keys create`.",
            )
        # Looked up by its hash, so that a near miss takes as long as any other.
        key = self._plane.people.directory.key(hash_of(given))
        if key is None or key.cluster != cluster:
            self._failures.check(visit.address)
            self._failures.note(visit.address)
            raise Unauthenticated(
                f"This is not the key of the cluster {cluster}.",
                hint=f"Copy keys/{cluster}.key from the server's state directory again, or make"
                " one with `clusterra keys create`.",
                code="bad-key",
            )
        self._plane.people.uses.note(key, visit)

    async def _keep(self, cluster: str, items: Iterable[tuple[str, object]]) -> Taken:
        now = self._plane.clock.now()
        kept: list[Heard | Draft] = []
        failures: list[Failure] = []
        for index, (table, item) in enumerate(items):
            try:
                if table:
                    kept.append(read_row(table, item, cluster=cluster, now=now))
                else:
                    kept.append(read(item, cluster=cluster, now=now))
            except Invalid as error:
                failures.append(
                    Failure(index=index, status=422, code=error.code, detail=error.detail)
                )
        if failures and not kept:
            first = failures[0]
            raise Malformed(
                first.detail if len(failures) == 1 else f"None can be used. {first.detail}",
                hint="docs/guides/hooks.md shows what can be sent.",
                code=first.code,
                at=f"item {first.index}",
            )
        receipt = await self._plane.inboxes[cluster].hear(kept)
        return Taken(accepted=receipt.accepted, duplicates=receipt.duplicates, results=failures)


def _parts(refusal: Response) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    return refusal.status_code, refusal.raw_headers, bytes(refusal.body)


def _route(path: str) -> str:
    """Return what the metrics call a request that is answered here; nothing for any other."""
    if path == EVENTS:
        return EVENTS
    return BATCH if path == BATCH or path.startswith(f"{BATCH}/") else ""


def _word(headers: dict[bytes, bytes], name: bytes) -> str:
    return headers.get(name, b"").decode("latin-1")


def _in_path(path: str) -> str:
    parts = path.removeprefix(BATCH).strip("/").split("/")
    return parts[1] if path.startswith(BATCH) and len(parts) == 2 else ""


def _in_body(body: object) -> str:
    for each in _nested(body):
        if isinstance(each, dict):
            detail = each.get("detail", each.get("Detail"))
            inner = detail.get("cluster_id") if isinstance(detail, dict) else None
            if isinstance(found := each.get("cluster_id") or inner, str):
                return found
    raise Malformed(
        "This request does not say which cluster it is about.",
        hint="Send the header X-Cluster-ID, or `cluster_id` in the body.",
        code="which-cluster",
    )


def _nested(body: object) -> Iterator[object]:
    yield body
    if (several := _several(body)) is not None:
        yield from several


def _several(body: object) -> list[Any] | None:
    """Return the events of a body that holds several; None if it holds one."""
    if isinstance(body, dict):
        body = body.get("events", body.get("Entries"))
    return body if isinstance(body, list) else None


def _items(path: str, body: object) -> Iterator[tuple[str, object]]:
    if path != EVENTS:
        tables = body.get("tables") if isinstance(body, dict) else None
        if not isinstance(tables, dict):
            raise Malformed(
                "A batch is a JSON object with `tables`.",
                hint='Send {"tables": {"jobs": {"update": […]}}}, say.',
                code="no-tables",
            )
        return rows(tables)
    several = _several(body)
    return (("", item) for item in ([body] if several is None else several))


async def _read(headers: dict[bytes, bytes], receive: Receive) -> bytes:
    declared = headers.get(b"content-length", b"")
    size = int(declared) if declared.isdigit() else 0
    body = b""
    while size <= LARGEST:
        message = await receive()
        body = body + message.get("body", b"") if body else message.get("body", b"")
        size = max(size, len(body))
        if not message.get("more_body"):
            break
    if size > LARGEST:
        raise TooLarge(
            f"The request has {size:,} bytes; {LARGEST:,} are taken at a time.",
            hint="Send fewer events in one request.",
            code="body-too-large",
        )
    return body


def _decode(body: bytes) -> object:
    try:
        try:
            return msgspec.json.decode(body)
        except UnicodeDecodeError:
            # One name in another encoding must not cost the events around it.
            return msgspec.json.decode(body.decode(errors="replace"))
    except (msgspec.MsgspecError, RecursionError) as error:
        raise Malformed(
            f"The request is not JSON: {error}.",
            hint="Send one JSON object, or an array of them.",
            code="malformed-json",
        ) from None
