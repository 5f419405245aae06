"""Automations over HTTP: what is done when something happens, and what was."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from clusterra.api import body
from clusterra.api.admit import Guarded, guest_of, in_workspace
from clusterra.api.asked import moment
from clusterra.api.automation_view import automation_view, firing_view, rehearsal
from clusterra.api.door import plane_of
from clusterra.api.guest import OPERATOR, Guest
from clusterra.api.openapi import takes
from clusterra.api.workspace_meant import workspace_meant, workspaces_meant
from clusterra.control.automation.rules import no_such_automation
from clusterra.control.automation.whom import check_webhooks
from clusterra.control.plane import Plane
from clusterra.core.access import Caller, Deed, may_keep
from clusterra.core.automation.read import read_rule, spelled
from clusterra.core.automation.rule import Rule, RuleWish, check_wish
from clusterra.core.errors import Forbidden, Invalid
from clusterra.core.jobs.wish import unknown_field
from clusterra.core.quote import shown
from clusterra.wire.automations import (
    AddAutomation,
    AutomationDeleted,
    AutomationPage,
    AutomationView,
    EditAutomation,
    FiringPage,
    Rehearsal,
    RehearseAutomation,
)

router = APIRouter(prefix="/v1/automations", tags=["automations"], route_class=Guarded)

_REHEARSED = ("id", "automation", "workspace", "since")


@router.get("", response_model=AutomationPage)
async def list_automations(request: Request, workspace: str = "") -> Response:
    """List one's automations; for admins, all of the workspace's."""
    plane, guest = plane_of(request), guest_of(request)
    views = [
        automation_view(plane, rule)
        for id, caller in workspaces_meant(guest, plane, Deed.SEE_WEBHOOKS, workspace)
        for rule in plane.automations.rules.of(id)
        if may_keep(caller.role, rule.owner, guest.person.id)
    ]
    return body.json(AutomationPage(automations=views, total=len(views)))


@router.post("", status_code=201, response_model=AutomationView, openapi_extra=takes(AddAutomation))
async def add_automation(request: Request) -> Response:
    """Add an automation. It acts in one's own name, with the rights that one has then."""
    plane, guest = plane_of(request), guest_of(request)
    wanted = body.decode_object(await body.read(request))
    workspace = _workspace(wanted) or workspace_meant(guest, plane)
    caller = in_workspace(guest, plane, Deed.KEEP_WEBHOOKS, workspace=workspace)
    wish = _wish(plane, workspace, wanted)
    rules = plane.automations.rules
    await check_webhooks(wish, workspace, caller, guest.person.id, store=plane.store)
    made = await rules.make(
        wish,
        workspace,
        guest.person.id,
        by=guest.doer(caller.role),
        ledgers=plane.people.ledgers_of(workspace),
        operator=guest.by == OPERATOR,
    )
    return body.json(automation_view(plane, made), 201)


@router.post("/dry-run", response_model=Rehearsal, openapi_extra=takes(RehearseAutomation))
async def dry_run(request: Request) -> Response:
    """Say what an automation would have done about what happened; nothing is done."""
    plane, guest = plane_of(request), guest_of(request)
    wanted = body.decode_object(await body.read(request))
    for name in wanted:
        if name not in _REHEARSED:
            raise unknown_field(name, _REHEARSED)
    since = moment(_said(wanted, "since"), plane.clock.now(), at="since")
    if id := _said(wanted, "id"):
        _, _, caller, rule = _one(request, id, Deed.KEEP_WEBHOOKS)
        owner = plane.automations.owner_of(rule) or caller
    else:
        table = wanted.get("automation")
        if not isinstance(table, dict):
            raise Invalid(
                "There is no automation to try out.",
                hint="Send the id of one, or one as it would be made in `automation`.",
                at="automation",
            )
        workspace = _said(wanted, "workspace") or _workspace(table)
        workspace = workspace or workspace_meant(guest, plane)
        owner = in_workspace(guest, plane, Deed.KEEP_WEBHOOKS, workspace=workspace)
        rule = _as_if(plane, guest, workspace, _wish(plane, workspace, table))
    return body.json(rehearsal(await plane.automations.rehearse(rule, owner, since=since)))


@router.get("/{automation}", response_model=AutomationView)
async def show_automation(request: Request, automation: str) -> Response:
    """Return one automation."""
    plane, _, _, rule = _one(request, automation, Deed.SEE_WEBHOOKS)
    return body.json(automation_view(plane, rule))


@router.patch("/{automation}", response_model=AutomationView, openapi_extra=takes(EditAutomation))
async def edit_automation(request: Request, automation: str) -> Response:
    """Change an automation, turn it on or off. It answers what happens from then on."""
    plane, guest, caller, rule = _one(request, automation, Deed.KEEP_WEBHOOKS)
    wanted = body.decode_object(await body.read(request))
    wanted = {name: value for name, value in wanted.items() if value is not None}
    wish = _wish(plane, rule.workspace, spelled(rule) | wanted)
    rules = plane.automations.rules
    # It goes on acting in its owner's name, whoever changes it: what it does is theirs to say.
    if wish.actions != rule.actions and rule.owner != guest.person.id:
        raise Forbidden(
            f"{rule.name} acts in somebody else's name; what it does is theirs to change.",
            hint="Turn it off or remove it, and make one of your own.",
            code="foreign-automation",
            at="do",
        )
    owner = plane.automations.owner_of(rule) or caller
    await check_webhooks(wish, rule.workspace, owner, rule.owner, store=plane.store)
    changed = await rules.edit(
        rule.id,
        wish,
        by=guest.doer(caller.role),
        ledgers=plane.people.ledgers_of(rule.workspace),
    )
    return body.json(automation_view(plane, changed))


@router.delete("/{automation}", response_model=AutomationDeleted)
async def delete_automation(request: Request, automation: str) -> Response:
    """Remove an automation. What it has not done yet is not done."""
    plane, guest, caller, rule = _one(request, automation, Deed.KEEP_WEBHOOKS)
    await plane.automations.rules.delete(rule.id, by=guest.doer(caller.role))
    return body.json(AutomationDeleted(id=rule.id, name=rule.name))


@router.get("/{automation}/firings", response_model=FiringPage)
async def list_firings(
    request: Request, automation: str, limit: Annotated[int, Query(ge=1, le=500)] = 50
) -> Response:
    """List what an automation did, and what it still has to do; the newest first."""
    plane, _, _, rule = _one(request, automation, Deed.SEE_WEBHOOKS)
    found = await plane.automations.firings(rule, limit)
    return body.json(FiringPage(firings=[firing_view(each) for each in found]))


def _one(request: Request, automation: str, deed: Deed) -> tuple[Plane, Guest, Caller, Rule]:
    """Return an automation that is there for whoever asks."""
    plane, guest = plane_of(request), guest_of(request)
    rule = plane.automations.rules.find(automation)
    role = guest.role_in(plane.people, rule.workspace) if rule and not rule.once else None
    if rule is None or role is None or not may_keep(role, rule.owner, guest.person.id):
        raise no_such_automation(automation)
    caller = in_workspace(guest, plane, deed, workspace=rule.workspace)
    return plane, guest, caller, rule


def _wish(plane: Plane, workspace: str, table: Mapping[str, Any]) -> RuleWish:
    wish = read_rule(table)
    named = tuple(
        plane.cluster_in(workspace, each, at="when.clusters") for each in wish.when.clusters
    )
    actions = tuple(
        replace(
            each,
            submit=replace(
                each.submit, cluster=plane.cluster_in(workspace, each.submit.cluster, at="do")
            ),
        )
        if each.submit.cluster
        else each
        for each in wish.actions
    )
    wish = replace(wish, when=replace(wish.when, clusters=named), actions=actions)
    check_wish(wish)
    return wish


def _as_if(plane: Plane, guest: Guest, workspace: str, wish: RuleWish) -> Rule:
    return Rule(
        id="aut_tried",
        workspace=workspace,
        owner=guest.person.id,
        name=wish.name,
        when=wish.when,
        actions=wish.actions,
        most=wish.most,
        most_per_hour=wish.most_per_hour,
        created_at=plane.clock.now(),
    )


def _workspace(table: Mapping[str, Any]) -> str:
    return _said(table, "workspace")


def _said(table: Mapping[str, Any], name: str) -> str:
    value = table.get(name) or ""
    if not isinstance(value, str):
        raise Invalid(
            f"{name} must be text, got {shown(value)}.",
            hint="Mend it, or leave it out.",
            at=name,
        )
    return value
