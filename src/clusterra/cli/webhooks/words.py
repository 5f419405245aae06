"""Webhooks and deliveries as people read them in a terminal."""

from clusterra.cli.screen import Screen, tame
from clusterra.cli.table import Cell
from clusterra.core.words import count
from clusterra.wire.webhooks import AttemptView, DeliveryView, TimingsView, WebhookView

_STATES = {
    "active": ("●", "green"),
    "paused": ("◌", "yellow"),
    "disabled": ("✗", "red"),
    "failing": ("!", "yellow"),
}

_DELIVERIES = {
    "pending": ("◌", "waiting", "yellow"),
    "retry": ("◌", "retrying", "yellow"),
    "ok": ("✓", "told", "green"),
    "dead": ("✗", "given up", "red"),
    "kept": ("‖", "kept", "yellow"),
}

_FORMATS = {
    "json": "JSON",
    "slack": "messages for Slack",
    "teams": "cards for Teams",
    "github": "repository_dispatch for GitHub",
    "email": "e-mails",
}


def state_of(webhook: WebhookView) -> Cell:
    state = webhook.state
    if state == "active" and webhook.failing_since:
        state = "failing"
    mark, colour = _STATES.get(state, ("?", None))
    return Cell(f"{mark} {state}", colour)


def form_of(webhook: WebhookView) -> str:
    """Return how it is told: `JSON, signed with 2 secrets and Ed25519`."""
    form = _FORMATS.get(webhook.format, tame(webhook.format))
    signed = [count(webhook.secrets, "secret")] if webhook.secrets else []
    if webhook.ed25519:
        signed.append("Ed25519")
    return f"{form}, signed with {' and '.join(signed)}" if signed else form


def outcome(delivery: DeliveryView) -> Cell:
    mark, words, colour = _DELIVERIES.get(delivery.state, ("?", tame(delivery.state), None))
    return Cell(f"{mark} {words}", colour)


def answer(attempt: AttemptView) -> str:
    """Return what a try was answered, words before codes."""
    if attempt.status is None:
        why = attempt.why.removesuffix(".") or "no answer"
        return tame(f"{why} ({attempt.failure})" if attempt.failure else why)
    said = f"answered {attempt.status}"
    return tame(f"{said}: {attempt.why.removesuffix('.')}" if attempt.why else said)


def milliseconds(number: float) -> str:
    return f"{number:,.0f} ms" if number >= 10 else f"{number:.1f} ms"


def split(timings: TimingsView) -> str:
    """Return where the time went: `dns 1.0 ms · connect 0.4 ms · total 14 ms`."""
    known = (
        ("dns", timings.dns_ms),
        ("connect", timings.connect_ms),
        ("tls", timings.tls_ms),
        ("first byte", timings.first_byte_ms),
        ("total", timings.total_ms),
    )
    return " · ".join(f"{name} {milliseconds(ms)}" for name, ms in known if ms is not None)


def tried(attempt: AttemptView, screen: Screen) -> str:
    """Return `✓` or `✗`: whether that try was heard."""
    good = attempt.status is not None and 200 <= attempt.status < 300
    return screen.paint("✓", "green") if good else screen.paint("✗", "red")
