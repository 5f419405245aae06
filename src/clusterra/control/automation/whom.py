"""Whom an automation may have told of something: webhooks of its owner's, or of the workspace."""

from clusterra.core.access import Caller
from clusterra.core.automation.rule import RuleWish
from clusterra.core.errors import Forbidden, NotFound
from clusterra.core.quote import shown
from clusterra.core.webhooks.endpoint import WEBHOOK
from clusterra.ports import Store


async def check_webhooks(
    wish: RuleWish, workspace: str, caller: Caller, owner: str, *, store: Store
) -> None:
    """Raise NotFound or Forbidden for webhooks that they may not have told of anything."""
    for place, action in enumerate(wish.actions):
        if action.act.tells:
            at = f"do[{place}].{action.act}"
            await check_webhook(action.endpoint, workspace, caller, owner, store=store, at=at)


async def check_webhook(
    id: str, workspace: str, caller: Caller, owner: str, *, store: Store, at: str = ""
) -> None:
    """Raise unless somebody may have this webhook told of something."""
    found = [each.value for each in await store.list(WEBHOOK, id) if each.id == id]
    if not found or found[0].workspace != workspace:
        raise NotFound(
            f"There is no webhook {shown(id)} in {workspace}.",
            hint="`clusterra webhooks list` shows those you have.",
            code="webhook-not-found",
            at=at,
        )
    if found[0].owner != owner and not caller.admin:
        raise Forbidden(
            f"The webhook {found[0].name} is somebody else's.",
            hint="Add one of your own: clusterra webhooks add URL",
            code="foreign-webhook",
            at=at,
        )
