"""`clusterra jobs show`: what a job asked for, what became of it, and what to do next."""

from datetime import datetime
from typing import TYPE_CHECKING

import click

from clusterra.cli.amounts import duration, moment
from clusterra.cli.jobs.naming import complete
from clusterra.cli.jobs.output import last_lines
from clusterra.cli.jobs.telling import (
    asked,
    cost_words,
    ending,
    handle,
    has_ended,
    output_name,
    ran,
    remark,
    waited,
)
from clusterra.cli.options import json_option, pass_session, server_options
from clusterra.cli.screen import Screen, cut_end, say, tame
from clusterra.cli.session import Session
from clusterra.cli.words import HELD, state_words
from clusterra.core.errors import ClusterraError
from clusterra.wire.jobs import JobView

if TYPE_CHECKING:
    from clusterra.wire.diagnosis import DiagnosisView

_GLIMPSE = 2048
"""Bytes at the end of the output that the last lines are taken from."""

_GLIMPSE_LINES = 5

FAILED = frozenset(
    {"FAILED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL", "BOOT_FAIL", "DEADLINE", "LOST"}
)
"""States after which people ask why."""


@click.command()
@server_options
@click.argument("job_id", metavar="JOB", shell_complete=complete)
@json_option
@pass_session
def show(session: Session, *, job_id: str, as_json: bool) -> None:
    """Show one job, live or past: what it asked for, what became of it, its last lines."""
    cluster = session.cluster_id()
    job = session.client.job(cluster, job_id)
    if as_json:
        session.say_answer()
        return
    found = _diagnosis(session, cluster, job) if job.state in FAILED else None
    if found is not None:
        glimpse = found.last_lines[-_GLIMPSE_LINES:]
    else:
        glimpse = _glimpse(session, cluster, job) if job.started_at else []
    for line in portrait(job, glimpse, session.screen, session.watch.now(), found):
        say(line)


def portrait(
    job: JobView,
    glimpse: list[str],
    screen: Screen,
    now: datetime,
    found: "DiagnosisView | None" = None,
) -> list[str]:
    lines = [
        _headline(job, screen, now),
        *_why(job, now),
        *([f"  {found.summary}"] if found else []),
        f"  asked      {asked(job)}{_where_asked(job)}",
        f"  {_story(job, now)}",
    ]
    if (said := cost_words(job)) and not _is_known(job):
        lines.append(f"  cost       {said}")
    if job.restarts:
        times = "once" if job.restarts == 1 else f"{job.restarts} times"
        lines.append(f"  was put back into the queue {times}")
    if job.dependency:
        lines.append(f"  waits for  {job.dependency}")
    if job.stdout and job.started_at:
        lines.append(f"  output     {output_name(job)}   in {job.work_dir or '/'}")
    if job.comment:
        lines.append(f"  comment    {job.comment}")
    if glimpse:
        lines.append("  Last lines:")
        lines += [f"    {line}" for line in glimpse]
    lines = [lines[0], *(cut_end(tame(line), screen.width) for line in lines[1:])]
    return [*lines, f"  Next:  {_next(job, found)}"]


def _headline(job: JobView, screen: Screen, now: datetime) -> str:
    words = state_words(job.state, job.flags, job.reason)
    how = words.short
    if has_ended(job):
        how = ending(job)
    elif (run_time := ran(job, now)) is not None:
        how = f"{words.short} for {duration(run_time)}"
    elif job.state == "PENDING":
        how = f"{words.short} for {duration(waited(job, now))}"
    state = screen.paint(f"{words.mark} {how}", words.colour)
    name = screen.paint(tame(job.name or "(no name)"), bold=True)
    cost = f" · {cost_words(job)}" if _is_known(job) else ""
    return f"{name} · job {job.label} · {tame(job.user)} · {state}{cost}"


def _is_known(job: JobView) -> bool:
    """Say whether what it cost is one number, for good."""
    return job.cost_final and job.cost_micros is not None


def _why(job: JobView, now: datetime) -> list[str]:
    if job.state != "PENDING":
        return []
    said = remark(job, now)
    return [f"  It waits: {said}."] if said else []


def _where_asked(job: JobView) -> str:
    parts = (
        f"partition {job.partition}" if job.partition else "",
        f"account {job.account}" if job.account else "",
        f"features {job.features}" if job.features else "",
    )
    return "".join(f" · {part}" for part in parts if part)


def _story(job: JobView, now: datetime) -> str:
    steps = [f"submitted {moment(job.submitted_at, now)}"]
    patience = duration(waited(job, now))
    if job.state == "PENDING":
        return " → ".join([*steps, f"has waited {patience}"])
    steps.append(f"waited {patience}")
    if (run_time := ran(job, now)) is not None:
        verb = "ran" if has_ended(job) else "has run"
        steps.append(f"{verb} {duration(run_time)}{f' on {job.nodes}' if job.nodes else ''}")
    if job.ended_at:
        steps.append(f"ended {moment(job.ended_at, now)}")
    return " → ".join(steps)


def _next(job: JobView, found: "DiagnosisView | None") -> str:
    if found is not None and found.resubmit is not None and found.resubmit_helps:
        changes = tame("; ".join(found.resubmit.changes))
        return f"clusterra jobs resubmit {handle(job)}" + (f"     ({changes})" if changes else "")
    if found is not None:
        return f"clusterra jobs diagnose {handle(job)}"
    if job.state == "PENDING" and job.reason in HELD:
        return f"clusterra jobs release {handle(job)}"
    if job.state == "PENDING":
        return f"clusterra jobs why {handle(job)}"
    if not has_ended(job):
        return f"clusterra jobs logs {handle(job)} -f"
    return f"clusterra jobs logs {handle(job)}"


def _diagnosis(session: Session, cluster: str, job: JobView) -> "DiagnosisView | None":
    """Return why it failed; nothing if that is not for whoever asks, or the server is older."""
    try:
        return session.client.diagnosis(cluster, handle(job))
    except ClusterraError:
        return None


def _glimpse(session: Session, cluster: str, job: JobView) -> list[str]:
    """Return its last lines; what cannot be read is left out, for it is not what was asked."""
    try:
        data = session.client.output(cluster, handle(job), tail=_GLIMPSE).data
    except ClusterraError:
        return []
    return last_lines(data, _GLIMPSE_LINES).decode(errors="replace").expandtabs().splitlines()
