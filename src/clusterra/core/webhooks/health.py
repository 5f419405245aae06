"""When to tell that an endpoint fails, and when to stop asking it.

It is disabled after five days in which nothing but failures came, and never for a few that
came together: twenty attempts at least, over half a day at least. People are told on the way.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from clusterra.core.webhooks.endpoint import Health
from clusterra.core.words import span

TOLD_AFTER = 4
"""Failures in a row, after which it is worth telling."""

GIVEN_UP_AFTER = timedelta(days=5)
LEAST_FAILURES = 20
WARNINGS = (50, 70, 90)
"""How far on the way to being disabled it is told, in per cent."""


def after_failure(health: Health, now: datetime) -> Health:
    return replace(health, failures=health.failures + 1, failing_since=health.failing_since or now)


def percent(health: Health, now: datetime) -> int:
    """Return how far it is on the way to being disabled."""
    if health.failing_since is None:
        return 0
    return min(100, int(100 * ((now - health.failing_since) / GIVEN_UP_AFTER)))


def is_to_be_told(health: Health, now: datetime) -> int | None:
    """Return how far it is, if that has not been told yet and is worth it."""
    if health.failures >= TOLD_AFTER and not health.warned:
        return percent(health, now)
    due = [each for each in WARNINGS if health.warned < each <= percent(health, now)]
    return due[-1] if due and health.failures >= TOLD_AFTER else None


def why_given_up(health: Health, now: datetime) -> str:
    """Return why it is not to be asked any more; empty if it is."""
    since = health.failing_since
    if since is None or now - since < GIVEN_UP_AFTER or health.failures < LEAST_FAILURES:
        return ""
    return f"It has not been reached for {span(now - since)}, in {health.failures:,} attempts."
