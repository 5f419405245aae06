"""`clusterra jobs timeline`: what happened to one job, step by step."""

from datetime import datetime
from itertools import pairwise

import click

from clusterra.cli.amounts import duration, moment
from clusterra.cli.events.words import colour_of, sentence
from clusterra.cli.jobs.naming import complete
from clusterra.cli.options import json_option, pass_session, server_options
from clusterra.cli.screen import Screen, cut_end, pad, say, tame
from clusterra.cli.session import Session
from clusterra.wire.events import EventView


@click.command()
@server_options
@click.argument("job_id", metavar="JOB", shell_complete=complete)
@json_option
@pass_session
def timeline(session: Session, *, job_id: str, as_json: bool) -> None:
    """Show what happened to a job, and how long each step took."""
    page = session.client.timeline(session.cluster_id(), job_id)
    if as_json:
        session.say_answer()
        return
    if not page.events:
        say(f"The ledger holds nothing about job {job_id}: it was over before the ledger began.")
        say(f"Everything else about it: clusterra jobs show {job_id}")
        return
    # The ledger's order is that of learning; a step too short to be seen is learned late.
    steps = sorted(page.events, key=lambda event: (event.time, event.seq))
    for line in _lines(steps, job_id, session.screen, session.watch.now()):
        say(line)


def _lines(steps: list[EventView], job_id: str, screen: Screen, now: datetime) -> list[str]:
    # What automations did to it is told among its steps, and is not how it stands.
    last = next((step for step in reversed(steps) if step.type.startswith("job.")), steps[-1])
    name, user = tame(last.data.get("name") or "job"), tame(last.data.get("user") or "")
    head = " · ".join(part for part in (name, f"job {job_id}", user) if part)
    said = screen.paint(tame(sentence(last)), colour_of(last))
    lines = [f"{screen.paint(head, bold=True)} · {said}"]
    times = [moment(step.time, now) for step in steps]
    gaps = ["", *(f"+{duration(b.time - a.time)}" for a, b in pairwise(steps))]
    wide, gap_wide = max(map(len, times)), max(map(len, gaps))
    room = screen.width - wide - gap_wide - 6
    for step, when, gap in zip(steps, times, gaps, strict=True):
        words = screen.paint(cut_end(tame(sentence(step)), room), colour_of(step))
        lines.append(
            f"  {pad(when, wide)}  {screen.faint(pad(gap, gap_wide, right=True))}  {words}"
        )
    return [*lines, f"Everything about it: clusterra jobs show {job_id}"]
