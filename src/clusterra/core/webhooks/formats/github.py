"""An event for GitHub: a `repository_dispatch`, which starts workflows with values from it.

Workflows paste such values into shell scripts more often than they should. So nothing here is
free text: names have no character that a shell or a workflow's expression reads.
"""

import re
from decimal import Decimal
from typing import Any

from clusterra.core.events.severity import severity_of
from clusterra.core.money import MICROS
from clusterra.core.webhooks.message import message, tidy_telling
from clusterra.core.webhooks.telling import Place, Telling

LONGEST_TYPE = 100
HEADERS = {
    "accept": "application/vnd.github+json",
    "x-github-api-version": "2022-11-28",
}
"""Beside `authorization`, which is the endpoint's own secret."""

_UNSAFE = re.compile(r"[^\w.,:@/+=\[\]-]")
_NUMBERS = ("job_id", "array_id", "array_task", "exit_code", "signal", "ran_seconds", "restarts")
_NAMES = ("label", "name", "user", "account", "partition", "state", "run_id", "nodes")


def github(telling: Telling, place: Place) -> dict[str, Any]:
    """Return the body: an event's type, and at most ten values."""
    link = message(telling, place).link
    telling = tidy_telling(telling)
    return {
        "event_type": telling.type[:LONGEST_TYPE],
        "client_payload": {
            "id": telling.id,
            "type": telling.type,
            "at": telling.at.isoformat(),
            "cluster": {"id": safe(telling.ledger), "name": safe(telling.cluster)},
            "subject": safe(telling.subject),
            "actor": safe(telling.actor),
            "severity": severity_of(telling.type).value,
            "job": _job(telling) if telling.type.startswith("job.") else None,
            "test": telling.is_made_up,
            "url": link,
        },
    }


def safe(text: str) -> str:
    """Return a name that means nothing to a shell: every other character is an underscore."""
    return _UNSAFE.sub("_", text)


def _job(telling: Telling) -> dict[str, Any]:
    data, job = telling.data, telling.job
    cost = None if job is None else job.cost_micros
    return {
        **{name: data.get(name) for name in _NUMBERS},
        **{name: safe(str(data.get(name) or "")) for name in _NAMES},
        "cost_usd": None if cost is None else f"{Decimal(cost) / MICROS:.6f}",
        "cost_is_final": job is not None and job.is_final,
        "cost_is_estimate": job is not None and job.estimate,
    }
