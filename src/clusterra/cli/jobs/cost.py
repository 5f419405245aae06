"""`clusterra jobs cost`: what a job costs, run by run, and the prices behind it."""

from datetime import datetime, timedelta

import click

from clusterra.cli.amounts import duration, moment
from clusterra.cli.jobs.naming import complete
from clusterra.cli.options import json_option, pass_session, server_options
from clusterra.cli.screen import Screen, cut_end, say, tame
from clusterra.cli.session import Session
from clusterra.cli.usage.telling import SOURCES
from clusterra.core.money import dollars, per_hour
from clusterra.wire.usage import JobCostView, JobPrice, RunCostView

_MOST_CHARGES = 8
"""Lines of one run; a price that changes every minute would fill the screen."""


@click.command()
@server_options
@click.argument("job_id", metavar="JOB", shell_complete=complete)
@json_option
@pass_session
def cost(session: Session, *, job_id: str, as_json: bool) -> None:
    """Say what a job has cost so far, what it costs now, and how that is known."""
    view = session.client.usage.job(session.cluster_id(), job_id)
    if as_json:
        session.say_answer()
        return
    for line in portrait(view, session.screen, session.watch.now()):
        say(line)


def portrait(view: JobCostView, screen: Screen, now: datetime) -> list[str]:
    name = screen.paint(tame(view.name or "(no name)"), bold=True)
    lines = [f"  {_payer(view)}"]
    if view.state == "PENDING" and not view.runs:
        lines.append("  It waits, and has cost nothing yet.")
    for run in view.runs:
        lines += _run(run, view, now)
    if view.sealed_micros > 0:
        lines.append(f"  {dollars(view.sealed_micros)} for runs whose events are in the archive")
    lines += [f"  {_price(each, now)}" for each in view.prices]
    if not view.prices:
        lines += [f"  priced as {each}" for each in view.basis]
    head = f"{name} · job {view.label} · {tame(view.sentence)}"
    return [head, *(cut_end(tame(line), screen.width) for line in lines)]


def _payer(view: JobCostView) -> str:
    account = f" · account {view.account}" if view.account else ""
    kind = " · an estimate: nobody pays for workers on a machine of your own"
    return f"put down to {view.person}{account}{kind if view.estimate else ''}"


def _run(run: RunCostView, view: JobCostView, now: datetime) -> list[str]:
    called = f"run {run.restarts + 1}" if len(view.runs) > 1 else "run"
    if run.micros is None:
        # With one run, the headline has the reason.
        why = f": {run.why_unknown}" if len(view.runs) > 1 else ""
        return [f"  {called}: not known{why}"]
    went_on = "" if run.final else " so far"
    lines = [f"  {called}: {dollars(run.micros)}{went_on}"]
    for each in run.charges[-_MOST_CHARGES:]:
        took = duration(timedelta(seconds=(each.until - each.since).total_seconds()))
        rate, amount = per_hour(each.usd_per_hour_micros), dollars(each.micros or 0)
        lines.append(f"    {moment(each.since, now)}  {took} at {rate}: {amount}")
    if (more := len(run.charges) - _MOST_CHARGES) > 0:
        lines.insert(1, f"    {more:,} earlier changes of its price are in --json")
    return lines


def _price(price: JobPrice, now: datetime) -> str:
    said = SOURCES.get(price.source, price.source)
    old = " (the agent is silent: its last word)" if price.stale else ""
    rate = per_hour(price.usd_per_hour_micros)
    return f"{price.basis}: {rate} by {said}, as of {moment(price.at, now)}{old}"
