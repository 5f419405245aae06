"""Recipes that are started again and again, over HTTP. They are made by submitting one."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from clusterra.api import body
from clusterra.api.admit import Guarded, caller_of
from clusterra.api.door import plane_of
from clusterra.core.access import sees_whole
from clusterra.core.templates.schedule import Schedule
from clusterra.wire.templates import SchedulePage, ScheduleView

router = APIRouter(
    prefix="/v1/clusters/{cluster}/schedules", tags=["templates"], route_class=Guarded
)


@router.get("", response_model=SchedulePage)
async def list_schedules(request: Request, cluster: str) -> Response:
    """List what is started again and again, and when next."""
    plane, caller = plane_of(request), caller_of(request)
    plane.site(cluster)
    views = [
        _view(each) for each in await plane.schedules.of(cluster) if sees_whole(caller, each.user)
    ]
    return body.json(SchedulePage(schedules=views, total=len(views)))


@router.delete("/{schedule}", response_model=ScheduleView)
async def remove_schedule(request: Request, cluster: str, schedule: str) -> Response:
    """Start it no more; its jobs are not touched."""
    plane, caller = plane_of(request), caller_of(request)
    plane.site(cluster)
    return body.json(_view(await plane.schedules.remove(cluster, schedule, caller)))


def _view(each: Schedule) -> ScheduleView:
    return ScheduleView(
        id=each.id,
        template_id=each.template_id,
        cron=each.cron,
        user=each.user,
        made_at=each.made_at,
        next_at=each.next_at,
        last_at=each.last_at,
        last_job_id=each.last_job_id or None,
        last_problem=each.last_problem,
    )
