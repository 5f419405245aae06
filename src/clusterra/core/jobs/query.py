"""Which jobs somebody wants to see, as a value.

`language.py` reads it from text; finding is the store's business. `matches` is
the meaning of a query, and the contract suite holds every store to it.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from fnmatch import fnmatchcase

from clusterra.core.jobs.job import LIVE, Job, JobState


class Op(StrEnum):
    IS = ":"
    """One of the values; in text `*` stands for anything."""
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    HAS = "has"
    """Free text: somewhere in what people search."""


class Sort(StrEnum):
    SUBMITTED = "submitted"
    STARTED = "started"
    ENDED = "ended"
    ID = "id"
    NAME = "name"
    USER = "user"
    STATE = "state"
    CPUS = "cpus"
    MEMORY = "memory"
    PRIORITY = "priority"


class Sense(StrEnum):
    """How a field's values are written and compared."""

    TEXT = "text"
    NUMBER = "number"
    MEMORY = "memory"
    MOMENT = "moment"
    SPAN = "span"


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    field: str
    """A key of FIELDS, or `text`."""
    op: Op
    values: tuple[str | int, ...]
    """Lower-case text, or whole numbers; a moment is seconds since 1970, a span seconds."""
    negated: bool = False


After = tuple[str | int, int, int]
"""Where a page ended: the sort value, id and birth of its last job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    terms: tuple[Term, ...] = ()
    sort: Sort = Sort.SUBMITTED
    descending: bool = True
    limit: int = 50
    after: After | None = None
    now: int = 0
    """The present, in seconds since 1970, for the spans of jobs that have not ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    jobs: Sequence[Job]
    next: After | None = None
    """What to put into `Query.after` for the following page; None on the last."""


def seconds(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.timestamp())


def _waited(job: Job, now: int) -> int:
    until = seconds(job.started_at) or seconds(job.ended_at) or now
    return until - int(job.submitted_at.timestamp())


def _ran(job: Job, now: int) -> int | None:
    start = seconds(job.started_at)
    return None if start is None else (seconds(job.ended_at) or now) - start


Getter = Callable[[Job, int], str | int | None]

FIELDS: dict[str, tuple[Sense, Getter]] = {
    "id": (Sense.NUMBER, lambda job, _: job.id),
    "name": (Sense.TEXT, lambda job, _: job.name),
    "user": (Sense.TEXT, lambda job, _: job.user),
    "account": (Sense.TEXT, lambda job, _: job.account),
    "partition": (Sense.TEXT, lambda job, _: job.partition),
    "qos": (Sense.TEXT, lambda job, _: job.qos),
    "state": (Sense.TEXT, lambda job, _: job.state.value),
    "reason": (Sense.TEXT, lambda job, _: job.reason),
    "nodes": (Sense.TEXT, lambda job, _: job.nodes),
    "run": (Sense.TEXT, lambda job, _: job.run_id),
    "array": (Sense.NUMBER, lambda job, _: job.array_id),
    "task": (Sense.NUMBER, lambda job, _: job.array_task),
    "cpus": (Sense.NUMBER, lambda job, _: job.cpus),
    "gpus": (Sense.NUMBER, lambda job, _: job.gpus),
    "memory": (Sense.MEMORY, lambda job, _: job.memory_mib),
    "priority": (Sense.NUMBER, lambda job, _: job.priority),
    "exit": (Sense.NUMBER, lambda job, _: job.exit_code),
    "restarts": (Sense.NUMBER, lambda job, _: job.restarts),
    "submitted": (Sense.MOMENT, lambda job, _: seconds(job.submitted_at)),
    "started": (Sense.MOMENT, lambda job, _: seconds(job.started_at)),
    "ended": (Sense.MOMENT, lambda job, _: seconds(job.ended_at)),
    "waited": (Sense.SPAN, _waited),
    "ran": (Sense.SPAN, _ran),
}

STATE_WORDS: dict[str, tuple[str, ...]] = {
    "live": tuple(sorted(state.lower() for state in LIVE)),
    "ended": tuple(sorted(state.lower() for state in JobState if state not in LIVE)),
    "waiting": ("pending",),
    "queued": ("pending",),
    "done": ("completed",),
    "memory": ("out_of_memory",),
    "oom": ("out_of_memory",),
}
"""What people call states, besides Slurm's own names."""


def searched(job: Job) -> str:
    """Return the text that bare words look in."""
    words = (job.label, str(job.id), job.name, job.user, job.account, job.partition, job.nodes)
    return "\n".join(dict.fromkeys(words)).lower()  # each once: most jobs are labelled by their id


def sort_value(job: Job, sort: Sort) -> str | int:
    """Return what a job is ordered by; a moment that has not come sorts before all others."""
    value = FIELDS[sort][1](job, 0)
    if isinstance(value, str):
        return value.lower()
    return 0 if value is None else value


def matches(job: Job, query: Query) -> bool:
    return all(_holds(term, job, query.now) != term.negated for term in query.terms)


def _holds(term: Term, job: Job, now: int) -> bool:
    if term.op is Op.HAS:
        return str(term.values[0]) in searched(job)
    value = FIELDS[term.field][1](job, now)
    if value is None:
        return False
    if isinstance(value, str):
        return any(fnmatchcase(value.lower(), _glob(str(each))) for each in term.values)
    numbers = [each for each in term.values if isinstance(each, int)]
    match term.op:
        case Op.LT:
            return value < numbers[0]
        case Op.LE:
            return value <= numbers[0]
        case Op.GT:
            return value > numbers[0]
        case Op.GE:
            return value >= numbers[0]
        case _:
            return value in numbers


def _glob(text: str) -> str:
    """Only `*` is special to us; `?` and `[` stand for themselves (`w[1-3]` is a host list)."""
    return re.sub(r"[\[?]", lambda found: f"[{found[0]}]", text)
