"""`clusterra fleet show`: the workers there are and are wanted, and what waits for more."""

from datetime import datetime, timedelta

import click

from clusterra.cli.amounts import duration, memory_brief, moment
from clusterra.cli.fleet.policy import in_short
from clusterra.cli.options import json_option, pass_session, server_options
from clusterra.cli.screen import Screen, cut_end, say, tame
from clusterra.cli.seen import now_there
from clusterra.cli.session import Session
from clusterra.cli.table import Cell, Column, table
from clusterra.core.money import per_hour
from clusterra.core.words import count
from clusterra.wire.fleet import AgentSeen, FleetView, ShapeFleet

COLUMNS = (
    Column("SHAPE", name=True),
    Column("WANTED", right=True),
    Column("BUSY", right=True),
    Column("IDLE", right=True),
    Column("STARTING", right=True),
    Column("LEAVING", right=True),
    Column("CLOSED", right=True),
    Column("EACH OFFERS"),
    Column("EACH", right=True),
    Column("LIKE"),
)

_SILENT = 90
"""Seconds after which an agent that says nothing is worth a colour."""


@click.command("show")
@server_options
@json_option
@pass_session
def show_fleet(session: Session, *, as_json: bool) -> None:
    """Show the workers: those there are, those that are wanted, and what waits for more."""
    view = session.client.fleet.show(session.cluster_id())
    if as_json:
        session.say_answer()
        return
    for line in portrait(view, session.screen, now_there(view, session.watch.now())):
        say(line)


def portrait(view: FleetView, screen: Screen, now: datetime) -> list[str]:
    if not view.scaled:
        return [tame(view.note), "  Next:  clusterra nodes list"]
    lines = [screen.paint(_headline(view), bold=True)]
    if view.note:
        age = view.age_seconds
        old = "" if age is None else f" This is {duration(timedelta(seconds=age))} old."
        lines.append("  " + screen.paint(f"{tame(view.note)}{old}", "yellow"))
    if view.shapes:
        lines += table(COLUMNS, [_row(each) for each in view.shapes], screen)
    for short in view.shortages:
        until = moment(short.until, now)
        told = f"{short.shape} did not come and is left alone until {until}: {short.why}"
        lines.append(screen.paint(_fit(told, screen), "yellow"))
    lines += [_fit(each.sentence, screen) for each in view.waiting if each.sentence]
    if view.set_aside:
        lines.append(f"  {count(view.set_aside, 'job')} would not be started by more workers")
    lines.append(_fit(f"policy  {in_short(view.policy)}", screen))
    lines.append(screen.paint(_fit(f"agent   {_agent(view.agent)}", screen), _worry(view.agent)))
    return [*lines, _next(view)]


def _headline(view: FleetView) -> str:
    waiting = sum(each.jobs for each in view.waiting)
    if view.workers is None:
        return f"{count(view.desired, 'worker')} wanted; how many there are is not known."
    if not view.workers and not view.desired:
        if waiting:
            return f"No workers, and {count(waiting, 'job')} waiting."
        return "No workers: nothing waits. They start when a job needs them."
    cost = view.usd_per_hour_micros
    price = "" if cost is None else f" · about {per_hour(cost)}"
    wanted = "" if view.desired == view.workers else f" · {view.desired:,} wanted"
    jobs = f" · {count(waiting, 'job')} waiting" if waiting else ""
    return f"{count(view.workers, 'worker')}{wanted}{price}{jobs}"


def _row(each: ShapeFleet) -> list[str | Cell]:
    return [
        each.shape,
        f"{each.desired:,}",
        _number(each.busy, "blue"),
        _number(each.idle, None),
        _number(each.warming, "yellow"),
        _number(each.leaving, None),
        _number(each.closed, "red"),
        _offer(each),
        per_hour(each.usd_per_hour_micros),
        Cell(each.type, faint=True),
    ]


def _number(number: int | None, colour: str | None) -> Cell:
    if number is None:
        return Cell("?", faint=True)
    return Cell(f"{number:,}", colour) if number else Cell("–", faint=True)


def _offer(each: ShapeFleet) -> str:
    gpus = f" {each.gpus}×{each.gpu_model}" if each.gpus else ""
    return f"{each.cpus}c {memory_brief(each.memory_mib)}{gpus}" if each.cpus else "–"


def _agent(agent: AgentSeen | None) -> str:
    if agent is None:
        return "none has been heard: nothing is started or stopped"
    heard = f"heard {duration(timedelta(seconds=agent.age_seconds))} ago"
    return f"{agent.id} · version {agent.version or '?'} · {heard}"


def _worry(agent: AgentSeen | None) -> str | None:
    return "yellow" if agent is None or agent.age_seconds > _SILENT else None


def _fit(sentence: str, screen: Screen) -> str:
    return cut_end(f"  {tame(sentence)}", screen.width)


def _next(view: FleetView) -> str:
    if not view.workers and not view.desired and not view.waiting:
        return "  Next:  clusterra run -- hostname     earlier: clusterra fleet decisions"
    return "  Why:   clusterra fleet decisions"
