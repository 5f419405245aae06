"""The server about itself: is it alive, is it ready, what has it counted."""

from collections.abc import Iterator

from fastapi import APIRouter, Request
from starlette.responses import PlainTextResponse, Response

from clusterra.api import body
from clusterra.api.admit import Guarded
from clusterra.api.door import plane_of
from clusterra.api.metrics import Sample, family
from clusterra.control.plane import Plane
from clusterra.control.site import Site
from clusterra.core.seen import Seen
from clusterra.core.webhooks.endpoint import EndpointState

router = APIRouter(include_in_schema=False, route_class=Guarded)


@router.get("/healthz")
async def healthz() -> Response:
    """The process answers."""
    return body.json({"status": "ok"})


@router.get("/readyz")
async def readyz(request: Request) -> Response:
    """Every cluster of the settings has been seen once, or cannot be until its database is mended."""
    plane = plane_of(request)
    held = {id: ledger.why_held for id, ledger in plane.ledgers.items() if ledger.why_held}
    waiting = {
        site.cluster.id: site.sky.why_not
        for site in plane.sites.values()
        if site.sky.seen_at is None and site.cluster.id not in held and not site.cluster.added
    }
    if waiting:
        return body.json({"status": "waiting", "clusters": waiting}, 503, {"retry-after": "1"})
    if held:
        # Ready all the same: what there is can be read, and only these ledgers take nothing more.
        return body.json({"status": "ready", "ledgers_held": held})
    return body.json({"status": "ready"})


@router.get("/metrics")
async def metrics(request: Request) -> Response:
    plane = plane_of(request)
    lines = [*request.app.state.metrics.lines()]
    tallies = {id: await plane.store.tally(id) for id in plane.sites}
    lines += family(
        "clusterra_jobs",
        "gauge",
        "Jobs known, by state.",
        (
            ("", (("cluster", id), ("state", state)), number)
            for id, tally in tallies.items()
            for state, number in tally.items()
        ),
    )
    lines += family("clusterra_nodes", "gauge", "Nodes seen.", _nodes(plane))
    lines += family(
        "clusterra_observation_age_seconds",
        "gauge",
        "Time since the queue was last seen.",
        _ages(plane),
    )
    lines += family(
        "clusterra_deliveries",
        "gauge",
        "Deliveries of webhooks, by state.",
        await _deliveries(plane),
    )
    lines += family(
        "clusterra_delivery_late_seconds",
        "gauge",
        "By how long the delivery that should have been tried first is late.",
        await _lateness(plane),
    )
    return PlainTextResponse(
        "\n".join(lines) + "\n", media_type="text/plain; version=0.0.4; charset=utf-8"
    )


def _nodes(plane: Plane) -> Iterator[Sample]:
    for id, site in plane.sites.items():
        if isinstance(site.sky.nodes, Seen):
            yield "", (("cluster", id),), len(site.sky.nodes.value)


def _ages(plane: Plane) -> Iterator[Sample]:
    for id, site in plane.sites.items():
        if (age := _age(plane, site)) is not None:
            yield "", (("cluster", id),), age


def _age(plane: Plane, site: Site) -> float | None:
    if site.sky.seen_at is None:
        return None
    return (plane.clock.now() - site.sky.seen_at).total_seconds()


async def _deliveries(plane: Plane) -> list[Sample]:
    return [
        ("", (("webhook", endpoint.id), ("state", state)), number)
        for endpoint in plane.webhooks.endpoints.all()
        for state, number in (await plane.store.delivery_tally(endpoint.id)).items()
    ]


async def _lateness(plane: Plane) -> list[Sample]:
    """Of those that are told at all: what waits for one that is paused is not late."""
    now, first = plane.clock.now(), await plane.store.lanes()
    return [
        ("", (("webhook", each.id),), max(0.0, (now - first.get(each.id, now)).total_seconds()))
        for each in plane.webhooks.endpoints.all()
        if each.state is EndpointState.ACTIVE
    ]
