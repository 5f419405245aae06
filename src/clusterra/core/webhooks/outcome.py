"""What follows from an answer: told, tried again and when, given up, or never to be asked again.

2xx                                  told
410, and 404 of a chat               the endpoint is gone: disabled, what waits is kept
429, 503 with Retry-After            later, and so is everything else for it
3xx                                  a failure; where it points to is said, and not gone to
400, 413, 422 of a chat or GitHub    given up at once: the same message would be refused again
webhook-delivery: abort-message      given up, as asked
everything else, no answer included  tried again, as the schedule says
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from clusterra.core.quote import shown
from clusterra.core.webhooks.delivery import Delivery, DeliveryState
from clusterra.core.webhooks.endpoint import Format
from clusterra.core.webhooks.exchange import Answer, Failure
from clusterra.core.webhooks.retry import SCHEDULE, asked_to_wait, wait_before

ABORT = "abort-message"
HOLD_FOR = timedelta(seconds=60)
"""How long everything for an endpoint waits that says «too many» and not until when."""

_GONE: Mapping[Format, frozenset[int]] = {
    Format.SLACK: frozenset({404, 410}),
    Format.TEAMS: frozenset({404, 410}),
}
_REFUSED_FOR_GOOD = frozenset({400, 413, 422})
_BUSY = frozenset({429, 503})


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What an answer means, whatever was sent."""

    ok: bool
    why: str = ""
    """What went wrong, in words, for whoever made the endpoint."""

    gone: bool = False
    """It will never answer again."""

    for_good: bool = False
    """The same message would be refused again."""

    hint: timedelta | None = None
    """How long it asks to be left alone, message and all."""


def judged(answer: Answer, format: Format, now: datetime) -> Judgement:
    status = answer.status
    if status is None or answer.failure is not None:
        for_good = answer.failure is Failure.MAIL and (status or 0) >= 500
        return Judgement(ok=False, why=answer.why, for_good=for_good)
    if answer.headers.get("webhook-delivery", "").strip().lower() == ABORT:
        return Judgement(ok=False, why="It asked us to stop trying this event.", for_good=True)
    if 200 <= status < 300:
        return _taken(answer, format)
    if status in _GONE.get(format, frozenset({410})):
        return Judgement(ok=False, why=f"It answered {status}: it is gone for good.", gone=True)
    if 300 <= status < 400:
        return Judgement(ok=False, why=_moved(status, answer.headers.get("location", "")))
    hint = asked_to_wait(answer.headers.get("retry-after", ""), now) if status in _BUSY else None
    if status == 429 and hint is None:
        hint = HOLD_FOR
    for_good = format is not Format.JSON and status in _REFUSED_FOR_GOOD
    return Judgement(ok=False, why=_said(status), for_good=for_good, hint=hint)


def _taken(answer: Answer, format: Format) -> Judgement:
    start = answer.snippet.lstrip()[:15].lower()
    if format.is_chat and start.startswith((b"<!doctype", b"<html")):
        return Judgement(
            ok=False,
            why=f"It answered {answer.status} with a web page, perhaps one to sign in, where a chat"
            " says that it has the message.",
        )
    return Judgement(ok=True)


def _moved(status: int, location: str) -> str:
    to = f" and points to {shown(location)}" if location else ""
    return f"It answered {status}{to}. Redirects are not followed: set the final address."


def _said(status: int) -> str:
    words = {
        400: "the request is wrong",
        401: "it does not know us",
        403: "we may not",
        404: "there is no such address",
        405: "it takes no POST there",
        408: "it waited too long",
        413: "the message is too large",
        422: "it does not understand the message",
        429: "too many messages",
        500: "an error of its own",
        502: "what stands behind it did not answer",
        503: "it is not available",
        504: "what stands behind it was too slow",
    }.get(status)
    return f"It answered {status}{f': {words}' if words else ''}."


def after_attempt(
    delivery: Delivery, answer: Answer, judgement: Judgement, *, now: datetime, chance: float
) -> Delivery:
    """Return the delivery as it is after an attempt."""
    made = delivery.attempts + 1
    tried = partial(
        replace,
        delivery,
        attempts=made,
        status=answer.status,
        took_ms=round(answer.timings.total_ms),
        why=judgement.why,
    )
    if judgement.ok:
        return tried(state=DeliveryState.OK, due=None, ended_at=now)
    if judgement.gone:
        # Not its fault: it is told if the endpoint is brought back.
        return tried(state=DeliveryState.RETRY, due=now)
    wait = None if judgement.for_good else wait_before(made + 1, chance)
    if wait is None:
        why = judgement.why if judgement.for_good else _given_up(judgement.why)
        return tried(state=DeliveryState.DEAD, due=None, ended_at=now, why=why)
    due = now + max(wait, judgement.hint or wait)
    return tried(state=DeliveryState.RETRY, due=due)


def _given_up(why: str) -> str:
    return f"Given up after {len(SCHEDULE)} attempts. The last one: {why}"
