"""`clusterra prices`: what machines cost, who says so, and an admin's own rates."""

from datetime import datetime

import click

from clusterra.cli.amounts import duration, memory_brief
from clusterra.cli.options import json_option, pass_session, server_options
from clusterra.cli.screen import Screen, say, tame
from clusterra.cli.session import Session
from clusterra.cli.table import Cell, Column, table
from clusterra.core.money import micros_of, per_hour
from clusterra.core.words import count
from clusterra.wire.prices import NodePrice, PricesView, PriceView, SetRates, ShapePrice

NODES = (
    Column("NODE", name=True),
    Column("OFFERS"),
    Column("PRICE", right=True),
    Column("SOURCE"),
    Column("KNOWN FOR", right=True),
    Column("PRICED AS", note=True),
)
SHAPES = (Column("SHAPE", name=True), *NODES[1:])

_SOURCES = {
    "rates": "own rates",
    "edge": "the agent",
    "cloud": "price list",
    "table": "shipped table",
}


@click.group()
@server_options
def prices() -> None:
    """What machines cost per hour, who says so, and since when."""


class Dollars(click.ParamType[int]):
    name = "dollars"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        micros = micros_of(str(value))
        if micros is None:
            self.fail(f"{value!r} is no amount of dollars; write 0.04.", param, ctx)
        return micros


@prices.command("show")
@server_options
@click.option("--shapes", is_flag=True, help="Also every worker that could be started.")
@json_option
@pass_session
def show_prices(session: Session, *, shapes: bool, as_json: bool) -> None:
    """Show what each machine costs, where that comes from, and how old it is."""
    view = session.client.prices(session.cluster_id())
    if as_json:
        session.say_answer()
        return
    for line in portrait(view, session.screen, session.watch.now(), shapes=shapes):
        say(line)


@prices.command("set")
@server_options
@click.option("--cpu", type=Dollars(), default=0, metavar="USD", help="A CPU per hour, as 0.04.")
@click.option("--gib", type=Dollars(), default=0, metavar="USD", help="A GiB of memory per hour.")
@click.option("--gpu", type=Dollars(), default=0, metavar="USD", help="A GPU per hour, as 1.20.")
@click.option("--currency", default="USD", metavar="CODE", help="Only USD is known. [USD]")
@json_option
@pass_session
def set_prices(
    session: Session, *, cpu: int, gib: int, gpu: int, currency: str, as_json: bool
) -> None:
    """Say what the machines here cost, against every list. For admins; it counts from now on.

    What is left out costs nothing.

    \b
      clusterra prices set --cpu 0.04 --gib 0.005 --gpu 1.20
    """
    wanted = SetRates(
        cpu_usd_per_hour_micros=cpu,
        gib_usd_per_hour_micros=gib,
        gpu_usd_per_hour_micros=gpu,
        currency=currency,
    )
    view = session.client.set_rates(session.cluster_id(), wanted)
    _changed(session, view, as_json=as_json)


@prices.command("clear")
@server_options
@json_option
@pass_session
def clear_prices(session: Session, *, as_json: bool) -> None:
    """Take the own rates away: list prices count again, from now on. For admins."""
    _changed(session, session.client.clear_rates(session.cluster_id()), as_json=as_json)


def _changed(session: Session, view: PricesView, *, as_json: bool) -> None:
    if as_json:
        session.say_answer()
        return
    said = _rates(view) or "List prices count again"
    say(f"{said}. What ran before keeps the price it had.")
    say("  See them:  clusterra prices show")


def portrait(view: PricesView, screen: Screen, now: datetime, *, shapes: bool = False) -> list[str]:
    lines = [screen.paint(_headline(view), bold=True)]
    if rates := _rates(view):
        lines.append(f"  {rates}; they count before every list")
    if any(each.price.stale for each in view.nodes) and view.heard_at:
        silent = duration(now - view.heard_at)
        told = f"The agent that tells prices has been silent for {silent}; these are its last."
        lines.append("  " + screen.paint(told, "yellow"))
    if view.nodes:
        lines += table(NODES, [_row(each.node, each, now) for each in view.nodes], screen)
    if shapes and view.shapes:
        lines += ["", *table(SHAPES, [_row(each.shape, each, now) for each in view.shapes], screen)]
    elif view.shapes:
        lines.append(f"  {count(len(view.shapes), 'shape')} more:  clusterra prices show --shapes")
    if any(each.price.usd_per_hour_micros is None for each in view.nodes):
        lines.append("  Say what they cost:  clusterra prices set --cpu 0.04 --gib 0.005")
    return lines


def _headline(view: PricesView) -> str:
    known = [each.price.usd_per_hour_micros for each in view.nodes]
    if not known:
        return f"No machine is there now; workers are bought {view.purchase}."
    total = sum(each for each in known if each is not None)
    unknown = known.count(None)
    more = f" · of {count(unknown, 'machine')} it is not known" if unknown else ""
    return f"{count(len(known), 'machine')} · {per_hour(total)}{more}"


def _rates(view: PricesView) -> str:
    if view.rates is None:
        return ""
    parts = (
        (view.rates.cpu_usd_per_hour_micros, "a CPU"),
        (view.rates.gib_usd_per_hour_micros, "a GiB"),
        (view.rates.gpu_usd_per_hour_micros, "a GPU"),
    )
    return "Own rates: " + ", ".join(f"{noun} {per_hour(rate)}" for rate, noun in parts if rate)


def _row(name: str, each: NodePrice | ShapePrice, now: datetime) -> list[str | Cell]:
    price = each.price
    gpus = f" {each.gpus}g" if each.gpus else ""
    return [
        name,
        f"{each.cpus}c {memory_brief(each.memory_mib)}{gpus}",
        per_hour(price.usd_per_hour_micros),
        _source(price),
        Cell("–" if price.at is None else duration(now - price.at), faint=True),
        Cell(tame(price.why_unknown or price.basis), faint=not price.why_unknown),
    ]


def _source(price: PriceView) -> Cell:
    if price.usd_per_hour_micros is None:
        return Cell("nobody", "yellow")
    word = _SOURCES.get(price.source, price.source)
    if price.stale:
        return Cell(f"{word}, silent", "yellow")
    return Cell(f"{word}, estimate" if price.estimate else word)
