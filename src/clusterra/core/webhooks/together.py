"""Several events in one message: chats hide a burst of messages, and say nothing of it.

What matters most comes first, so that a failure is never among «and 37 more». The tasks of an
array are one line, however many there are.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from clusterra.core.events.severity import severity_of
from clusterra.core.money import dollars
from clusterra.core.webhooks.message import console_link, footer, message, tidy_telling
from clusterra.core.webhooks.telling import Message, Place, Telling
from clusterra.core.webhooks.tidy import tidy
from clusterra.core.webhooks.when import clock, moment, readers_zone
from clusterra.core.words import count, listed

LINES = 10
LINE = 240
HEADLINE = 110


def together(tellings: Sequence[Telling], place: Place) -> Message:
    """Say what happened, in one message; one alone is told as it always is."""
    if len(tellings) == 1:
        return message(tellings[0], place)
    tellings = [tidy_telling(each) for each in tellings]
    groups = _grouped(tellings)
    lines = [tidy(_line(group, place), LINE) for group in groups]
    mark = "Test: " if all(each.is_made_up for each in tellings) else ""
    if len(groups) == 1:
        title, lines = mark + lines[0], []
    else:
        title = mark + _counted(tellings) + _on(tellings)
    link = _link(groups, place)
    return Message(
        title=tidy(title),
        sentence=tidy(title),
        headline=tidy(title, HEADLINE),
        lines=_shortened(lines),
        facts=_facts(tellings),
        link=link,
        link_label="Open jobs" if link else "",
        severity=max((severity_of(each.type) for each in tellings), key=lambda each: each.rank),
        footer=footer(tellings[0], place, _span(tellings, place))
        if len({each.ledger for each in tellings}) == 1
        else _span(tellings, place),
    )


# --- one line each


def _grouped(tellings: Iterable[Telling]) -> list[list[Telling]]:
    """Return what is told in one line each: tasks of an array as one, all else singly."""
    groups: dict[object, list[Telling]] = {}
    for number, telling in enumerate(tellings):
        groups.setdefault(_array(telling) or number, []).append(telling)
    return sorted(groups.values(), key=_weight)


def _array(telling: Telling) -> tuple[str, int] | None:
    array = telling.data.get("array_id")
    return (telling.ledger, array) if telling.type in _DID and array is not None else None


def _weight(group: list[Telling]) -> tuple[int, datetime]:
    return -max(severity_of(each.type).rank for each in group), min(each.at for each in group)


def _line(group: list[Telling], place: Place) -> str:
    if len(group) == 1:
        return message(group[0], place).line
    data = group[0].data
    name, array = data.get("name") or "a job", data.get("array_id")
    return f"{name} (array {array}): {_did(group, 'task')}"


def _shortened(lines: list[str]) -> tuple[str, ...]:
    if len(lines) <= LINES:
        return tuple(lines)
    return (*lines[:LINES], f"and {len(lines) - LINES:,} more")


# --- and all of them counted

_DID: Mapping[str, str] = {
    "job.submitted": "submitted",
    "job.pending": "waiting",
    "job.allocated": "given nodes",
    "job.started": "started",
    "job.completed": "completed",
    "job.failed": "failed",
    "job.out_of_memory": "ran out of memory",
    "job.timeout": "timed out",
    "job.node_fail": "lost a worker",
    "job.preempted": "preempted",
    "job.cancelled": "cancelled",
    "job.lost": "lost",
    "job.requeued": "requeued",
    "job.held": "held",
    "job.released": "released",
    "job.suspended": "suspended",
    "job.resumed": "resumed",
    "job.time_limit_near": "near the time limit",
}
_BECAME: Mapping[str, str] = {
    "node.provisioning": "asked for",
    "node.launched": "launched",
    "node.registered": "joined",
    "node.active": "ready",
    "node.drained": "draining",
    "node.down": "down",
    "node.resumed": "back",
    "node.terminated": "gone",
    "node.spot_interrupted": "taken back by the cloud",
    "node.misclassified": "of the wrong kind",
}


def _counted(tellings: Sequence[Telling]) -> str:
    """Return `12 jobs failed, 3 completed, 2 workers down, 4 other events`."""
    jobs = [each for each in tellings if each.type in _DID]
    workers = [each for each in tellings if each.type in _BECAME]
    others = len(tellings) - len(jobs) - len(workers)
    parts = [
        _did(jobs, "job") if jobs else "",
        _did(workers, "worker") if workers else "",
        count(others, "other event" if others < len(tellings) else "event") if others else "",
    ]
    return ", ".join(part for part in parts if part)


def _did(tellings: Iterable[Telling], noun: str) -> str:
    """Return `12 jobs failed, 3 completed`, what matters most first."""
    numbers: Counter[str] = Counter()
    for each in tellings:
        numbers[each.type] += tasks_in(each.data.get("label") or "")
    ordered = sorted(numbers, key=lambda each: (-severity_of(each).rank, -numbers[each], each))
    words = {**_DID, **_BECAME}
    parts = [f"{numbers[type]:,} {words[type]}" for type in ordered]
    first = numbers[ordered[0]]
    parts[0] = f"{count(first, noun)} {words[ordered[0]]}"
    return ", ".join(parts)


def tasks_in(label: str) -> int:
    """Return how many tasks an entry stands for: `43_[6-9]` for four, everything else for one."""
    _, bracket, inside = label.partition("[")
    if not bracket:
        return 1
    return max(1, sum(map(_in_part, inside.partition("]")[0].partition("%")[0].split(","))))


def _in_part(part: str) -> int:
    bounds, _, step = part.partition(":")
    first, _, last = bounds.partition("-")
    numbers = (first, last or first, step or "1")
    if not all(each.isdecimal() and len(each) < 10 for each in numbers) or int(numbers[2]) == 0:
        return 0
    return len(range(int(numbers[0]), int(numbers[1]) + 1, int(numbers[2])))


def _on(tellings: Iterable[Telling]) -> str:
    names = [each.cluster for each in tellings if each.cluster]
    return f" on {listed(names, most=3)}" if names else ""


def _facts(tellings: Sequence[Telling]) -> tuple[tuple[str, str], ...]:
    """Return what all of it cost, if that is known of every job and does not change any more."""
    jobs = {
        (each.ledger, each.subject): each.job for each in tellings if each.type in _DID and each.job
    }
    costs = [job.cost_micros for job in jobs.values() if job.is_final]
    known = [cost for cost in costs if cost is not None]
    subjects = {(each.ledger, each.subject) for each in tellings if each.type in _DID}
    if not known or len(known) < len(subjects):
        return ()
    return (("Cost together", dollars(sum(known))),)


def _link(groups: list[list[Telling]], place: Place) -> str:
    ledgers = {each.ledger for group in groups for each in group}
    first = groups[0][0]
    if len(ledgers) > 1 or not first.is_of_a_cluster:
        return ""
    of_array = (first.data["array_id"],) if len(groups) == 1 else ()
    return console_link(place, "clusters", first.ledger, "jobs", *of_array)


def _span(tellings: Iterable[Telling], place: Place) -> str:
    zone = readers_zone(place.zone)
    times = sorted(each.at for each in tellings)
    first, last = moment(times[0], zone), clock(times[-1], zone)
    return first if first.endswith(last) else f"{first} to {last}"
