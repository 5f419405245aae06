"""Which of an automation's actions answer an event; whether they may is in `guard`."""

from collections.abc import Sequence

from clusterra.core.access import Caller
from clusterra.core.automation.action import Act, Action, adjustment_of
from clusterra.core.automation.cause import Cause
from clusterra.core.automation.guard import is_own_doing
from clusterra.core.automation.rule import ENDS, Rule


def answers(rule: Rule, cause: Cause, owner: Caller | None) -> Sequence[tuple[int, Action]]:
    """Return what is to be done about an event that the rule means, each with its place.

    `owner` is None when they are gone: then it is refused by whoever acts, so that it is told.
    """
    if cause.is_copy or is_own_doing(rule, cause):
        return ()
    return [
        (place, action)
        for place, action in enumerate(rule.actions)
        if _answers(action, cause, owner)
    ]


def _answers(action: Action, cause: Cause, owner: Caller | None) -> bool:
    if not action.act.needs_job:
        return True
    if cause.job_id is None or not cause.type.startswith("job."):
        return False
    # What somebody may only look at, their automation only looks at.
    if owner is not None and not owner.admin and owner.user != cause.user:
        return False
    if action.act is Act.REQUEUE:
        return True
    state = cause.job_state
    return (
        cause.type in ENDS and state is not None and adjustment_of(action.retry, state) is not None
    )
