"""Which webhook, or which delivery of it, is meant by what somebody typed."""

from collections.abc import Iterator

from clusterra.cli.session import Session
from clusterra.cli.which_one import called, the_one
from clusterra.core.errors import Invalid, NotFound
from clusterra.core.words import listed
from clusterra.wire.webhooks import DeliveryView, WebhookView

EVENT_ID = 36
"""Characters of a whole one; tables show the first eight."""

_PAGE = 100
_FURTHEST = 1000


def the_webhook(session: Session, wanted: str) -> WebhookView:
    known = list(_webhooks(session))
    return the_one(known, wanted, noun="webhook", make="clusterra webhooks add URL")


def the_event(session: Session, webhook: WebhookView, wanted: str) -> str:
    """Return the whole id of an event that was, or is to be, delivered to a webhook."""
    if len(wanted) >= EVENT_ID:
        return wanted
    found = {
        each.event_id for each in _deliveries(session, webhook) if each.event_id.startswith(wanted)
    }
    if len(found) == 1:
        return found.pop()
    if found:
        raise Invalid(
            f"{len(found)} deliveries to {called(webhook)} begin with {wanted!r}.",
            hint=f"Write more of it: {listed(sorted(found), most=5)}.",
        )
    raise NotFound(
        f"None of the newest deliveries to {called(webhook)} begins with {wanted!r}.",
        hint=f"See them with: clusterra webhooks deliveries {called(webhook)}",
    )


def _webhooks(session: Session) -> Iterator[WebhookView]:
    workspace, cursor = session.named_workspace() or "", None
    if workspace:
        workspace = session.the_workspace().id
    while True:
        page = session.client.webhooks.list(workspace, cursor=cursor)
        yield from page.webhooks
        cursor = page.next
        if not cursor:
            return


def _deliveries(session: Session, webhook: WebhookView) -> Iterator[DeliveryView]:
    cursor = None
    for _ in range(_FURTHEST // _PAGE):
        page = session.client.webhooks.deliveries(webhook.id, limit=_PAGE, cursor=cursor)
        yield from page.deliveries
        cursor = page.next
        if not cursor:
            return
