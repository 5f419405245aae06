"""Where an agent can be asked for logs.

It says so itself, and this server stands where the agent's owner may not: beside Slurm, databases, and
the address where a cloud hands out credentials. So what it says is taken as an address and a port and
nothing else, never as a name, and only addresses are dialled at which an agent can be: public and private
ones, and this machine only for an agent that speaks from it.
"""

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from clusterra.core.scaling.edge import EdgeReport
from clusterra.core.webhooks.addresses import is_loopback, plain, verdict
from clusterra.core.webhooks.endpoint import Reach

PORT = 6001
"""Where the public agent listens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDoor:
    url: str
    key: str = field(repr=False)
    """What it shows to us, and asks of us."""


def log_door(report: EdgeReport, key: str) -> LogDoor | None:
    """Return where this agent is asked for logs; None if it names no place that may be dialled."""
    named = report.address if "://" in report.address else f"http://{_bracketed(report.address)}"
    try:
        parts = urlsplit(named)
        host, port = plain(parts.hostname or ""), parts.port or PORT
    except ValueError:
        return None
    if not host or parts.scheme not in ("http", "https") or verdict(host, Reach.PRIVATE):
        return None
    if is_loopback(host) and not is_loopback(report.heard_from):
        return None
    return LogDoor(url=f"{parts.scheme}://{_bracketed(host)}:{port}", key=key)


def _bracketed(host: str) -> str:
    return f"[{host}]" if host.count(":") > 1 else host
