"""What arrives from hooks and clouds, whatever its shape: a name, a time, and details.

    flat     {"event": …, "ts": …, "job_id": …}                       curl hooks, SQS, our collector
    nested   {"detail-type": …, "time": …, "detail": {…}}             also spelled detail_type
    entry    {"Source": …, "DetailType": …, "Detail": {…} or "{…}"}   EventBridge PutEvents

Nobody vouches for what is inside: numbers may be words, names may be 64 kB of
anything. The functions below take a value out, cut to size, or say that there is none.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from clusterra.core.errors import Invalid

LONGEST = 256
"""Of any name. Names are free text of any length."""

LONGEST_LIST = 1024
"""Of a list of nodes as Slurm writes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    name: str
    at: datetime | None
    """None if no time was given, or none that can be read."""

    detail: Mapping[str, Any]
    cluster: str
    """The cluster that it names; empty if it names none."""


def said(item: object) -> Said:
    """Read an item of any shape, or say why it is none."""
    if not isinstance(item, Mapping):
        raise Invalid(
            "An event is a JSON object, and this is none.",
            hint='Send {"event": "job.started", "job_id": 41, …}, say.',
            code="not-an-event",
        )
    if "event" in item:
        return _said(item["event"], item.get("ts") or item.get("time"), item, item)
    for name, detail, time in (
        ("detail-type", "detail", "time"),
        ("detail_type", "detail", "time"),
        ("DetailType", "Detail", "Time"),
    ):
        if name in item:
            return _said(item[name], item.get(time), _details(item.get(detail)), item)
    raise Invalid(
        "This event does not say what happened.",
        hint="Name it in `event`, `detail-type` or `DetailType`.",
        code="not-an-event",
    )


def _said(
    name: object, time: object, detail: Mapping[str, Any], outside: Mapping[str, Any]
) -> Said:
    cluster = outside.get("cluster_id") or detail.get("cluster_id")
    return Said(name=text(name), at=moment(time), detail=detail, cluster=text(cluster))


def _details(value: object) -> Mapping[str, Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = None
    if not isinstance(value, Mapping):
        raise Invalid(
            "The details of this event cannot be read.",
            hint="Send `detail` as a JSON object, or as a string that holds one.",
            code="not-an-event",
        )
    return value


def text(value: object, longest: int = LONGEST) -> str:
    """Return a word as it can be kept: cut to size, and printable."""
    if isinstance(value, str):
        cut = value[:longest]
        if cut.isprintable():
            return cut
        return "".join(each if each.isprintable() else " " for each in cut)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return ""


def number(value: object, *, most: int = 2**32 - 1) -> int | None:
    """Return a whole number from 0 on; None for anything else."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 20:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= most else None


def moment(value: object) -> datetime | None:
    """Return a time: ISO 8601 with or without an offset, or seconds since 1970, which 0 is not."""
    try:
        if isinstance(value, str) and not value.isdigit():
            read = datetime.fromisoformat(value)
            return read.astimezone(UTC) if read.tzinfo else read.replace(tzinfo=UTC)
        if isinstance(value, str):
            value = int(value[:20])
        if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
            return None
        return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def ending(value: object) -> tuple[int | None, int | None]:
    """Return the exit code and the signal of `256` (as wait() has it) or `1:0` (as sacct has it)."""
    code, colon, by = text(value).partition(":")
    first = number(code)
    if first is None:
        return None, None
    if colon:
        signal = number(by, most=127)
    else:
        first, signal = first >> 8, first & 127
    return (None, signal) if signal else (first, None)
