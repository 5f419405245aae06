"""The fleet of a cluster over HTTP: what there is, what was decided and why, and its policy."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from clusterra.api import body
from clusterra.api.admit import Guarded, caller_of, guest_of
from clusterra.api.asked import LARGEST
from clusterra.api.decisions import recall_decisions
from clusterra.api.door import plane_of
from clusterra.api.fleet_view import fleet_view, policy_view
from clusterra.api.openapi import takes
from clusterra.control.policy import change_policy, policy_record
from clusterra.core.scaling.edit import PolicyEdit
from clusterra.core.scaling.fleet import FLEET, Fleet
from clusterra.wire.fleet import DecisionPage, EditPolicy, FleetView, PolicyView

router = APIRouter(prefix="/v1/clusters/{cluster}/fleet", tags=["fleet"], route_class=Guarded)


@router.get("", response_model=FleetView)
async def show_fleet(request: Request, cluster: str) -> Response:
    """Return the workers there are, those that are wanted, what they cost, and what waits."""
    plane = plane_of(request)
    site = plane.site(cluster)
    policy = await policy_record(site, plane.store)
    fleet = await plane.store.get(FLEET, cluster, default=Fleet())
    return body.json(
        fleet_view(
            site,
            fleet.value,
            policy.value,
            plane.clock.now(),
            set_by_admin=policy.version > 0,
        )
    )


@router.get("/decisions", response_model=DecisionPage)
async def list_decisions(
    request: Request,
    cluster: str,
    limit: Annotated[int, Query(ge=1, le=200)] = 20,
    before: Annotated[
        int | None, Query(ge=1, le=LARGEST, description="`next` of the page before.")
    ] = None,
) -> Response:
    """List what was decided about the fleet, newest first: the change, its reason, its inputs."""
    store = plane_of(request).store
    return body.json(await recall_decisions(cluster, limit=limit, before=before, store=store))


@router.get("/policy", response_model=PolicyView)
async def show_policy(request: Request, cluster: str) -> Response:
    """Return how the fleet may grow and shrink."""
    plane = plane_of(request)
    policy = await policy_record(plane.site(cluster), plane.store)
    return body.json(policy_view(policy.value, set_by_admin=policy.version > 0))


@router.patch("/policy", response_model=PolicyView, openapi_extra=takes(EditPolicy))
async def edit_policy(request: Request, cluster: str) -> Response:
    """Change how the fleet may grow and shrink; it is planned anew at once."""
    plane = plane_of(request)
    site = plane.site(cluster)
    wanted = body.decode(await body.read(request), EditPolicy)
    await change_policy(
        site,
        _edit(wanted),
        by=guest_of(request).doer(caller_of(request).role),
        store=plane.store,
        clock=plane.clock,
    )
    policy = await policy_record(site, plane.store)
    return body.json(policy_view(policy.value, set_by_admin=policy.version > 0))


def _edit(wanted: EditPolicy) -> PolicyEdit:
    return PolicyEdit(
        rule=wanted.rule,
        max_workers=wanted.max_workers,
        max_usd_per_hour=wanted.max_usd_per_hour_micros,
        idle_seconds=wanted.idle_seconds,
        purchase=wanted.purchase,
        architectures=None if wanted.architectures is None else tuple(wanted.architectures),
        minimum=wanted.minimum,
    )
