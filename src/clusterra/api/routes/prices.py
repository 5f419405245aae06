"""What a cluster's machines cost, over HTTP: who says so, and an admin's own rates."""

from dataclasses import fields

from fastapi import APIRouter, Request
from starlette.responses import Response

from clusterra.api import body
from clusterra.api.admit import Guarded, caller_of, guest_of
from clusterra.api.door import plane_of
from clusterra.api.openapi import takes
from clusterra.control.cost.price import ground_of
from clusterra.control.cost.rates import set_rates
from clusterra.control.plane import Plane
from clusterra.control.site import Site
from clusterra.core.cost.estimate.ground import Ground
from clusterra.core.cost.own_rates import CURRENCY, own_rates
from clusterra.core.cost.prices import Quote, Rates, is_stale
from clusterra.core.jobs.wish import unknown_field
from clusterra.core.seen import Seen
from clusterra.wire.prices import (
    NodePrice,
    PricesView,
    PriceView,
    RatesView,
    SetRates,
    ShapePrice,
)

router = APIRouter(prefix="/v1/clusters/{cluster}/prices", tags=["prices"], route_class=Guarded)


@router.get("", response_model=PricesView)
async def show_prices(request: Request, cluster: str) -> Response:
    """Return what every machine that is there costs, and every worker that could be started."""
    plane = plane_of(request)
    return body.json(await _view(plane, plane.site(cluster)))


@router.put("/rates", response_model=PricesView, openapi_extra=takes(SetRates))
async def put_rates(request: Request, cluster: str) -> Response:
    """Say what a CPU, a GiB of memory and a GPU cost per hour; it counts from now on."""
    plane = plane_of(request)
    raw = await body.read(request)
    names = [each.name for each in fields(SetRates)]
    for name in body.decode_object(raw):
        # What is left out costs nothing: a rate that is misspelt would be given away.
        if name not in names:
            raise unknown_field(name, names)
    wanted = body.decode(raw, SetRates)
    rates = own_rates(
        cpu=wanted.cpu_usd_per_hour_micros,
        gib=wanted.gib_usd_per_hour_micros,
        gpu=wanted.gpu_usd_per_hour_micros,
        currency=wanted.currency,
        since=plane.clock.now(),
    )
    return await _changed(request, plane, cluster, rates)


@router.delete("/rates", response_model=PricesView)
async def delete_rates(request: Request, cluster: str) -> Response:
    """Take the own rates away: list prices count again, from now on."""
    return await _changed(request, plane_of(request), cluster, None)


async def _changed(request: Request, plane: Plane, cluster: str, rates: Rates | None) -> Response:
    site = plane.site(cluster)
    by = guest_of(request).doer(caller_of(request).role)
    await set_rates(site, rates, by=by, store=plane.store, clock=plane.clock)
    return body.json(await _view(plane, site))


async def _view(plane: Plane, site: Site) -> PricesView:
    ground = await ground_of(site, plane.store)
    offerings, rates = ground.offerings, ground.book.rates
    return PricesView(
        cluster=site.cluster.id,
        currency=CURRENCY,
        purchase=ground.policy.purchase.value,
        rates=None
        if rates is None
        else RatesView(
            cpu_usd_per_hour_micros=rates.cpu,
            gib_usd_per_hour_micros=rates.gib,
            gpu_usd_per_hour_micros=rates.gpu,
            since=rates.since,
        ),
        heard_at=offerings.at if isinstance(offerings, Seen) else None,
        nodes=_nodes(ground),
        shapes=_shapes(ground),
        at=ground.now,
    )


def _nodes(ground: Ground) -> list[NodePrice]:
    return [
        NodePrice(
            node=name,
            phase=last.phase.value,
            cpus=last.cpus,
            memory_mib=last.memory_mib,
            gpus=last.gpus,
            since=last.since,
            price=_price(last.quote or last.why_not, ground),
        )
        for name, stints in sorted(ground.stints.items())
        for last in stints[-1:]
        if last.until is None
    ]


def _shapes(ground: Ground) -> list[ShapePrice]:
    return [
        ShapePrice(
            shape=shape.name,
            arch=shape.arch,
            cpus=shape.cpus,
            memory_mib=shape.memory_mib,
            gpus=shape.gpus,
            gpu_model=shape.gpu_model,
            types=list(shape.types),
            price=_price(
                ground.book.of_shape(shape, ground.policy.purchase, ground.offerings), ground
            ),
        )
        for shape in ground.shapes.values()
    ]


def _price(said: Quote | str, ground: Ground) -> PriceView:
    if isinstance(said, str):
        return PriceView(
            usd_per_hour_micros=None,
            basis="",
            source="",
            at=None,
            stale=False,
            estimate=False,
            why_unknown=said,
        )
    return PriceView(
        usd_per_hour_micros=said.usd_per_hour,
        basis=said.basis,
        source=said.source.value,
        at=said.at,
        stale=is_stale(said, ground.offerings, ground.now),
        estimate=said.estimate,
        why_unknown="",
    )
