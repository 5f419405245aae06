"""What is said of jobs, and by whom it may be believed.

`read` takes an item of any shape (`payload`). What is said of a job becomes `Heard`:
a reason to look at that job, kept until somebody has looked; Slurm's own answer is
what the ledger tells. Only when Slurm, answering, knows nothing of the job does
`as_told` make an event of the words themselves. What is said of anything else is
in `notices`, and is a fact at once.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from clusterra.core.errors import Invalid
from clusterra.core.events.catalogue import CATALOGUE
from clusterra.core.events.catalogue import jobs as facts
from clusterra.core.events.derive import SLURM
from clusterra.core.events.event import Draft
from clusterra.core.events.notices import cluster_row, node_row, notice
from clusterra.core.events.payload import LONGEST_LIST, ending, moment, number, said, text
from clusterra.core.ids import uuid8
from clusterra.core.jobs.job import JobState

ENDED = "ended"
"""That a job ended, and not how."""

TOUCHED = "touched"
"""That something happened to a job, and not what."""

_ENDS: Mapping[str, str] = {
    JobState.COMPLETED: "completed",
    JobState.FAILED: "failed",
    JobState.CANCELLED: "cancelled",
    JobState.TIMEOUT: "timeout",
    JobState.OUT_OF_MEMORY: "out_of_memory",
    JobState.NODE_FAIL: "node_fail",
    JobState.PREEMPTED: "preempted",
    JobState.BOOT_FAIL: "failed",
    JobState.DEADLINE: "timeout",
}
_STATES_OF_ROWS = {"running": "started", **{word: word for word in _ENDS.values()}}

_KINDS: Mapping[str, type[facts.JobFact]] = {
    name.removeprefix("job."): kind
    for name, kind in CATALOGUE.items()
    # Nobody can say that a job is lost but whoever has looked everywhere.
    if issubclass(kind, facts.JobFact) and kind is not facts.JobLost
}

_NO_TASK = 2**32 - 2
"""What Slurm puts for a number that there is none of."""


def _state(value: object) -> str:
    """Read `CANCELLED by 2001` as Slurm's word for it."""
    return text(value).partition(" ")[0].upper()


def _list(value: object) -> str:
    return text(value, LONGEST_LIST)


_READINGS: Mapping[str, tuple[str, Callable[[object], Any]]] = {
    **{name: (name, text) for name in ("name", "user", "account", "partition", "reason", "node")},
    **{name: (name, number) for name in ("restarts", "array_id", "array_task")},
    **{name: (name, moment) for name in ("submitted_at", "started_at", "ended_at")},
    "completed_at": ("ended_at", moment),
    "nodes": ("nodes", _list),
    "state": ("state", _state),
}
"""What is taken of a payload: which field of `Heard` it becomes, and how it is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What somebody says happened to a job. Fields that were not said are empty."""

    id: str
    """Made of the content, so that the same words said twice are one. The time comes first: in
    the order of their ids facts are in the order they happened, and a store that keeps them in
    that order writes neighbours into one page (half the work, measured)."""

    what: str
    """The event without `job.`, or `ended`, or `touched`."""

    job_id: int
    at: datetime
    """When it happened, by the clock of whoever said it."""

    name: str = ""
    user: str = ""
    account: str = ""
    partition: str = ""
    state: str = ""
    reason: str = ""
    node: str = ""
    """Where it was said, for what is said on every node of a job."""

    nodes: str = ""
    exit_code: int | None = None
    signal: int | None = None
    restarts: int = 0
    array_id: int | None = None
    array_task: int | None = None
    submitted_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None


def read(item: object, *, cluster: str, now: datetime) -> Heard | Draft:
    """Read one event of any generation. Raises Invalid if it is none that can be used."""
    told = said(item)
    if told.cluster and told.cluster != cluster:
        raise Invalid(
            f"This event is about the cluster {told.cluster!r}.",
            hint=f"Send it as that cluster's; this request is {cluster}'s.",
            code="other-cluster",
        )
    subject, _, what = told.name.partition(".")
    if subject == "job" and (what in _KINDS or what == ENDED):
        return _heard(what, told.detail, told.at, now=now)
    draft = notice(told, cluster=cluster, now=now)
    if draft is None:
        raise Invalid(
            f"There is no event {told.name!r}.",
            hint="docs/guides/hooks.md lists what can be sent.",
            code="unknown-event",
        )
    return draft


def rows(tables: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Yield the rows of a batch with the name of their table, as `jobs.update`."""
    for name, value in tables.items():
        for table, found in (
            ((f"{name}.{verb}", each) for verb, each in value.items())
            if isinstance(value, Mapping)
            else ((name, value),)
        ):
            for row in found if isinstance(found, list) else (found,):
                yield table, row


def read_row(table: str, row: object, *, cluster: str, now: datetime) -> Heard | Draft:
    """Read one row of a batch. Raises Invalid if it cannot be used."""
    if not isinstance(row, Mapping):
        raise Invalid("A row is a JSON object, and this is none.", code="not-a-row")
    match table:
        case "jobs.update":
            what = _STATES_OF_ROWS.get(text(row.get("state")), TOUCHED)
            at = moment(row.get("completed_at")) or moment(row.get("started_at"))
            return _heard(what, row, at, now=now)
        case "nodes.upsert":
            return node_row(row, cluster=cluster, now=now)
        case "clusters.update":
            return cluster_row(row, cluster=cluster, now=now)
    raise Invalid(
        f"There is no table {text(table)!r}.",
        hint="The tables are: jobs.update, nodes.upsert, clusters.update.",
        code="unknown-table",
    )


def _heard(what: str, detail: Mapping[str, Any], at: datetime | None, *, now: datetime) -> Heard:
    job_id = number(detail.get("job_id"))
    if not job_id:
        raise Invalid(
            f"This job.{what} does not say which job.",
            hint="Name it in `job_id`, a number from 1 on.",
            code="which-job",
        )
    known: dict[str, Any] = {}
    for name, value in detail.items():
        if name in _READINGS and value != "":
            field, reading = _READINGS[name]
            if (found := reading(value)) is not None:
                known[field] = found
    if detail.get("exit_code", "") not in ("", None):
        known["exit_code"], known["signal"] = ending(detail["exit_code"])
    if not known.get("array_id"):
        known.pop("array_id", None)  # Slurm says 0 of a job that is in no array
    if "array_id" not in known or known.get("array_task", _NO_TASK) >= _NO_TASK:
        known.pop("array_task", None)
    if what == "failed" and known.get("state") == JobState.COMPLETED:
        del known["state"]  # what old hooks say when they do not know
    what = _word(what, known.get("state", ""))
    content = uuid8("heard", what, job_id, at, *(f"{name}={known[name]}" for name in sorted(known)))
    id = f"{_millis(at):012x}-{content}"
    return Heard(id=id, what=what, job_id=job_id, at=at or now, **known)


def _millis(at: datetime | None) -> int:
    return max(int(at.timestamp() * 1000), 0) if at else 0


def _word(what: str, state: str) -> str:
    """Say how a job ended where only that it ended, or that it failed, was said."""
    return _ENDS.get(state, what) if what in {ENDED, "failed"} else what


def as_told(heard: Heard, cluster: str) -> Draft | None:
    """Return the event for a job that Slurm knows nothing of; None if no event was named.

    With the time of submission its id is the one that `derive` would make.
    """
    kind = _KINDS.get(heard.what)
    if kind is None:
        return None
    ended = issubclass(kind, facts.JobEnded)
    began = kind in {facts.JobAllocated, facts.JobStarted}
    at = (heard.ended_at if ended else heard.started_at if began else None) or heard.at
    born = int((heard.submitted_at or at).timestamp())
    given = {each.name for each in fields(kind)}
    known = {each.name: getattr(heard, each.name) for each in fields(heard)}
    more = {name: value for name, value in known.items() if name in given and name != "id"}
    if ended and heard.started_at is not None:
        more["ran_seconds"] = max(int((at - heard.started_at).total_seconds()), 0)
    return Draft(
        id=uuid8(
            *(cluster, "job", heard.job_id, born, heard.restarts),
            *(ENDED if ended else heard.what, "" if heard.submitted_at else "told"),
        ),
        fact=kind(**more, label=_label(heard), observed_by="hook"),
        at=at,
        actor=SLURM,
        subject=f"job/{heard.job_id}",
        correlation=f"job/{heard.array_id or heard.job_id}/{born}",
    )


def _label(heard: Heard) -> str:
    if heard.array_id is None or heard.array_task is None:
        return str(heard.job_id)
    return f"{heard.array_id}_{heard.array_task}"
