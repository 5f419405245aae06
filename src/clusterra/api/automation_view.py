"""Automations and what they did, as they travel."""

from clusterra.control.automation.rehearse import Rehearsed, Would
from clusterra.control.plane import Plane
from clusterra.core.automation.firing import Firing
from clusterra.core.automation.read import spelled
from clusterra.core.automation.rule import Rule
from clusterra.wire.automations import AutomationView, FiringView, Rehearsal, When, WouldView


def automation_view(plane: Plane, rule: Rule) -> AutomationView:
    owner, said = plane.people.directory.person(rule.owner), spelled(rule)
    return AutomationView(
        id=rule.id,
        name=rule.name,
        workspace=rule.workspace,
        owner=owner.email if owner else "",
        when=When(**said["when"]),
        do=said["do"],
        most=rule.most,
        backoff_seconds=rule.backoff_seconds,
        most_per_hour=rule.most_per_hour,
        state=rule.state.value,
        created_at=rule.created_at,
    )


def firing_view(firing: Firing) -> FiringView:
    cause = firing.cause
    return FiringView(
        id=firing.id,
        at=firing.at,
        state=firing.state.value,
        action=firing.action.act.value,
        cause=cause.id,
        cause_type=cause.type,
        cluster=cause.ledger,
        job_id=cause.job_id,
        label=cause.label,
        name=cause.name,
        made_job_id=firing.made_job_id,
        changed=list(firing.changed),
        due_at=firing.due_at,
        ended_at=firing.ended_at,
        tries=firing.tries,
        code=firing.code,
        why=firing.why,
    )


def rehearsal(found: Rehearsed) -> Rehearsal:
    return Rehearsal(
        since=found.since,
        events=found.events,
        acted=found.acted,
        stopped=found.stopped,
        jobs=found.jobs,
        started=found.started,
        cost_micros=found.cost_micros,
        cost_unknown=found.cost_unknown,
        would=[_would(each) for each in found.would],
        cut_off=found.cut_off,
    )


def _would(would: Would) -> WouldView:
    cause = would.cause
    return WouldView(
        at=cause.at,
        cause=cause.id,
        cause_type=cause.type,
        cluster=cause.ledger,
        job_id=cause.job_id,
        label=cause.label,
        name=cause.name,
        user=cause.user,
        action=would.action,
        stopped=would.stopped,
    )
