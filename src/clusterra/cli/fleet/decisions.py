"""`clusterra fleet decisions`: the story of the fleet, newest first."""

from datetime import datetime

import click

from clusterra.cli.amounts import moment
from clusterra.cli.options import json_option, pass_session, server_options
from clusterra.cli.screen import Screen, cut_end, say, tame
from clusterra.cli.session import Session
from clusterra.core.money import per_hour
from clusterra.core.words import count
from clusterra.wire.fleet import DecisionView, ResizeTold, ShortageTold

_USUAL = 20


@click.command("decisions")
@server_options
@click.option(
    "--limit", type=click.IntRange(1, 200), default=_USUAL, metavar="N", help="At most this many."
)
@click.option(
    "--before", type=click.IntRange(min=1), metavar="N", help="Only those before event N."
)
@click.option("--all", "refused", is_flag=True, help="Also what else was considered, and why not.")
@json_option
@pass_session
def list_decisions(
    session: Session, *, limit: int, before: int | None, refused: bool, as_json: bool
) -> None:
    """Tell what was decided about the fleet, newest first: when, what, and why.

    #N is the event in the ledger that proves it: clusterra events list --after N-1
    """
    page = session.client.fleet.decisions(session.cluster_id(), limit=limit, before=before)
    if as_json:
        session.say_answer()
        return
    if not page.decisions:
        say("Nothing has been decided yet: no job has needed a worker.")
        say("  Next:  clusterra run -- hostname")
        return
    now = session.watch.now()
    for decision in page.decisions:
        for line in story(decision, session.screen, now, refused=refused):
            say(line)
    older = f" · older: clusterra fleet decisions --before {page.next}" if page.next else ""
    say(f"{count(len(page.decisions), 'decision')}{older}")


def story(
    decision: DecisionView, screen: Screen, now: datetime, *, refused: bool = False
) -> list[str]:
    """Return one decision: what it came from, then each change with its reason."""
    lines = [
        f"{screen.paint(moment(decision.at, now), bold=True)}  {screen.faint(_inputs(decision))}"
    ]
    room = screen.width
    lines += [
        screen.paint(cut_end(_short(each, now), room), "yellow") for each in decision.shortages
    ]
    for change in decision.changes:
        lines.append(_change(change, screen))
        lines.append(cut_end(f"      {tame(change.reason)}", room))
        if refused:
            lines += [
                screen.faint(cut_end(f"      not {tame(each)}", room)) for each in change.refused
            ]
    return lines


def _inputs(decision: DecisionView) -> str:
    if not decision.changes:
        return "workers did not come"
    warming = f", {decision.warming:,} of them starting" if decision.warming else ""
    parts = [
        f"{count(decision.waiting_jobs, 'job')} waiting",
        f"{count(decision.workers, 'worker')}{warming}",
        f"rule {tame(decision.rule)}" if decision.rule else "",
        ""
        if decision.usd_per_hour_micros is None
        else f"then {per_hour(decision.usd_per_hour_micros)}",
        f"plan {decision.version}" if decision.version else "",
    ]
    return " · ".join(part for part in parts if part)


def _change(change: ResizeTold, screen: Screen) -> str:
    mark, colour = ("▲", "green") if change.after > change.before else ("▼", "blue")
    sizes = f"{change.before:,} → {change.after:,}"
    return f"  {screen.paint(mark, colour)} {tame(change.shape)}  {sizes}  {screen.faint(f'#{change.seq}')}"


def _short(short: ShortageTold, now: datetime) -> str:
    again = f" (time {short.failures} in a row)" if short.failures > 1 else ""
    until = f"; left alone until {moment(short.until, now)}" if short.until else ""
    return f"  ! {tame(short.shape)} did not come{again}: {tame(short.why)}{until}  #{short.seq}"
