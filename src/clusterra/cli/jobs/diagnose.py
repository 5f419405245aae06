"""`clusterra jobs diagnose`: why a job failed, what that rests on, and what to do."""

import click

from clusterra.cli.jobs.naming import complete
from clusterra.cli.options import json_option, pass_session, server_options
from clusterra.cli.screen import Screen, cut_end, say, tame
from clusterra.cli.session import Session
from clusterra.core.money import dollars
from clusterra.wire.diagnosis import DiagnosisView

_GAP = "  "


@click.command()
@server_options
@click.argument("job_id", metavar="JOB", shell_complete=complete)
@json_option
@pass_session
def diagnose(session: Session, *, job_id: str, as_json: bool) -> None:
    """Say why a job failed, from its state, its output, its nodes and what it used."""
    found = session.client.diagnosis(session.cluster_id(), job_id)
    if as_json:
        session.say_answer()
        return
    for line in told(found, session.screen):
        say(line)


def told(found: DiagnosisView, screen: Screen) -> list[str]:
    lost = f" · {dollars(found.cost_lost_micros)} lost" if found.cost_lost_micros else ""
    whose = f"{tame(found.name or '(no name)')} · job {found.label} · {tame(found.user)}"
    lines = [screen.paint(tame(found.summary), bold=True), f"{_GAP}{whose}{lost}"]
    rows = found.details if found.failed else []
    if rows:
        wide = max(len(row.label) for row in rows)
        lines += ["", *(_row(row.label, row.value, wide, screen) for row in rows)]
    if found.failed and found.last_lines:
        lines += ["", f"{_GAP}Last lines:"]
        lines += [cut_end(f"{_GAP * 2}{tame(line)}", screen.width) for line in found.last_lines]
    lines += ["", f"{_GAP}{tame(found.advice)}"] if found.advice else []
    if found.failed and found.why_not:
        lines.append(f"{_GAP}It cannot be submitted again from here: {tame(found.why_not)}")
    return [*lines, f"{_GAP}Next:  {next_step(found)}"]


def _row(label: str, value: str, wide: int, screen: Screen) -> str:
    return cut_end(f"{_GAP}{label:<{wide}}{_GAP}{tame(value)}", screen.width)


def next_step(found: DiagnosisView) -> str:
    """Return the command that leads on, and what it would change."""
    handle = found.label if "[" not in found.label else found.label.partition("_")[0]
    if found.state == "PENDING":
        return f"clusterra jobs why {handle}"
    if found.state in {"RUNNING", "SUSPENDED"}:
        return f"clusterra jobs logs {handle} -f"
    if found.resubmit is not None and found.resubmit_helps:
        changes = "; ".join(found.resubmit.changes)
        return f"clusterra jobs resubmit {handle}" + (f"     ({tame(changes)})" if changes else "")
    return f"clusterra jobs logs {handle}"
