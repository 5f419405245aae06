"""Money over HTTP: what was spent, what a job costs, and the statement of a month."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from clusterra.api import body
from clusterra.api.admit import Guarded, caller_of, guest_of
from clusterra.api.csv_file import csv_file
from clusterra.api.door import plane_of
from clusterra.api.guest import Guest
from clusterra.api.job_cost_view import job_cost_view
from clusterra.api.routes.users import login_of
from clusterra.api.statement_view import STATEMENT_COLUMNS, statement_rows, statement_view
from clusterra.api.usage_asked import AskedUsage, Format, Zone, asked_usage, wants_csv
from clusterra.api.usage_reach import ME, reached
from clusterra.api.usage_view import USAGE_COLUMNS, usage_rows, usage_view
from clusterra.control.cost.job_cost import cost_of
from clusterra.control.cost.known_prices import known_prices
from clusterra.control.cost.report import report
from clusterra.control.cost.statement import make_statement
from clusterra.control.find import find_job
from clusterra.control.people.directory import no_such_workspace
from clusterra.control.plane import Plane
from clusterra.control.site import Site
from clusterra.core.access import Caller, check_may_see_cost
from clusterra.core.cost.periods import named, zone
from clusterra.core.errors import Forbidden, Invalid
from clusterra.core.quote import shown
from clusterra.wire.usage import JobCostView, StatementView, UsageView

router = APIRouter(tags=["money"], route_class=Guarded)

Asked = Annotated[AskedUsage, Depends(asked_usage)]

MONTH = len("2026-11")

OR_CSV: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/csv": {"schema": {"type": "string"}}}}
}


@router.get("/v1/clusters/{cluster}/usage", response_model=UsageView, responses=OR_CSV)
async def cluster_usage(request: Request, cluster: str, asked: Asked) -> Response:
    """Return what was spent on a cluster in a period: what is in the books, and what still runs."""
    return await _usage(request, asked, [plane_of(request).site(cluster)])


@router.get("/v1/usage", response_model=UsageView, responses=OR_CSV)
async def usage(
    request: Request,
    asked: Asked,
    workspace: Annotated[str, Query(description="Only in this workspace.")] = "",
) -> Response:
    """Return what was spent on all clusters of the workspaces one is in."""
    plane, guest = plane_of(request), guest_of(request)
    mine = guest.workspaces(plane.people)
    if workspace and workspace not in mine:
        raise no_such_workspace(workspace)
    wanted = {workspace} if workspace else set(mine)
    sites = [site for site in plane.sites.values() if site.workspace in wanted]
    return await _usage(request, asked, sites)


async def _usage(request: Request, asked: AskedUsage, sites: Sequence[Site]) -> Response:
    plane, guest = plane_of(request), guest_of(request)
    sight = reached(plane, guest, sites, asked.person)
    for site in sites:
        await site.meter.load()
    found = await report(
        sight.reaches, asked.period, asked.by, asked.zone, limit=asked.limit, store=plane.store
    )
    prices = known_prices(sites, asked.period.since, asked.period.until)
    view = usage_view(found, asked, sight.reaches, prices, everybodys=sight.everybodys)
    if asked.as_csv:
        name = asked.period.name if "/" not in asked.period.name else "period"
        return csv_file(USAGE_COLUMNS, usage_rows(view), f"usage-{name}")
    return body.json(view)


@router.get("/v1/clusters/{cluster}/jobs/{job_id}/cost", response_model=JobCostView)
async def job_cost(request: Request, cluster: str, job_id: str) -> Response:
    """Return what a job has cost, run by run, and the prices behind it."""
    plane, caller = plane_of(request), caller_of(request)
    site = plane.site(cluster)
    job = await find_job(site, job_id, caller, store=plane.store)
    check_may_see_cost(caller, job)
    found = await cost_of(job, site, store=plane.store)
    return body.json(job_cost_view(job, found))


@router.get(
    "/v1/workspaces/{workspace}/statements/{month}", response_model=StatementView, responses=OR_CSV
)
async def statement(
    request: Request,
    workspace: str,
    month: str,
    person: Annotated[
        str, Query(description="Of this person; left out, everybody's for admins, else one's own.")
    ] = "",
    tz: Zone = "UTC",
    format: Format = "",
) -> Response:
    """Return the statement of a month: what each person spent, and what it was made of."""
    plane, guest, caller = plane_of(request), guest_of(request), caller_of(request)
    where, as_csv = zone(tz), wants_csv(request, format)
    if len(month) != MONTH:
        raise Invalid(
            f"{shown(month)} is no month.", hint="Write 2026-11.", at="month", code="bad-period"
        )
    sites = [site for site in plane.sites.values() if site.workspace == workspace]
    for site in sites:
        await site.meter.load()
    made = await make_statement(
        sites,
        named(month, where),
        where,
        person=_whose(plane, guest, caller, person),
        with_waste=caller.admin,
        now=plane.clock.now(),
        store=plane.store,
    )
    names = {site.cluster.id: site.cluster.name for site in sites}
    if as_csv:
        rows = statement_rows(made, names.__getitem__)
        return csv_file(STATEMENT_COLUMNS, rows, f"statement-{month}")
    return body.json(
        statement_view(
            made,
            workspace=workspace,
            name=plane.people.directory.workspace(workspace).name,
            tz=where.key,
            name_of=names.__getitem__,
            with_waste=caller.admin,
        )
    )


def _whose(plane: Plane, guest: Guest, caller: Caller, person: str) -> str | None:
    """Return whose statement it is; None is everybody's."""
    payer_of = plane.people.directory.payer_of
    own = payer_of(login_of(plane, guest))
    wanted = own if person == ME else payer_of(person)
    if caller.admin:
        return wanted or None
    if wanted not in ("", own):
        raise Forbidden(
            f"The statement of {shown(person)} is for them, and for those who run the workspace.",
            hint="Leave the person out for your own, or ask an admin.",
            code="others-spending",
        )
    return own
