"""What hooks, collectors and clouds send: in by thousands, answered when it is on disk.

How a machine is known, and answered, is in `api/machines.py`.

Each item stands for itself: one that cannot be used is named in `results`, and the
others are kept. Sending everything again is always safe.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.types import ASGIApp, Receive, Scope, Send

from clusterra.api.machines import Machines, read_body, word
from clusterra.api.metrics import RequestMetrics
from clusterra.control.plane import Plane
from clusterra.core.errors import Invalid, Malformed
from clusterra.core.events.event import Draft
from clusterra.core.events.heard import Heard, read, read_row, rows

EVENTS = "/v1/internal/events"
BATCH = "/v1/internal/batch"

LARGEST = 1 << 20

_encode = msgspec.json.Encoder().encode


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
        self._machines = Machines(plane, metrics)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not (route := _route(scope["path"])):
            await self._app(scope, receive, send)
            return
        await self._machines.answer(route, scope, send, lambda: self._take(scope, receive))

    async def _take(self, scope: Scope, receive: Receive) -> bytes:
        headers, machines = dict(scope["headers"]), self._machines
        visit = machines.visit(scope)
        cluster = _in_path(scope["path"]) or word(headers, b"x-cluster-id")
        if cluster:
            # Before the body: nobody has to read a megabyte of a stranger's.
            machines.check_key(cluster, headers, visit)
        hint = "Send fewer events in one request."
        body = _decode(await read_body(headers, receive, most=LARGEST, hint=hint))
        if not cluster:
            cluster = _in_body(body)
            machines.check_key(cluster, headers, visit)
        return _encode(await self._keep(cluster, _items(scope["path"], body)))

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


def _route(path: str) -> str:
    """Return what the metrics call a request that is answered here; nothing for any other."""
    if path == EVENTS:
        return EVENTS
    return BATCH if path == BATCH or path.startswith(f"{BATCH}/") else ""


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
