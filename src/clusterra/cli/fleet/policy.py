"""`clusterra fleet policy`: within which limits a fleet grows and shrinks."""

from datetime import timedelta

import click

from clusterra.cli.amounts import duration
from clusterra.cli.dollars import NO_LIMIT, Dollars
from clusterra.cli.options import json_option, pass_session, server_options
from clusterra.cli.screen import say, tame
from clusterra.cli.session import Session
from clusterra.core.money import dollars
from clusterra.core.words import count
from clusterra.wire.fleet import EditPolicy, PolicyView

_RULES = {
    "family": "a family by memory per CPU, sized by its biggest waiting job",
    "cheapest": "whatever mix of shapes costs least",
}


@click.group(invoke_without_command=True)
@server_options
@json_option
@click.pass_context
def policy(context: click.Context, *, as_json: bool) -> None:
    """How the fleet may grow and shrink; without a command, show it."""
    if context.invoked_subcommand is None:
        _show(context.ensure_object(Session), as_json=as_json)


@policy.command("get")
@server_options
@json_option
@pass_session
def get_policy(session: Session, *, as_json: bool) -> None:
    """Show how the fleet may grow and shrink."""
    _show(session, as_json=as_json)


class MostPerHour(Dollars):
    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Return millionths of a dollar; `none` is 0, which lifts the limit."""
        micros = super().convert(value, param, ctx)
        if micros == 0:
            self.fail("to start no workers say --max-workers 0; for no limit say none.", param, ctx)
        return 0 if micros == NO_LIMIT else micros


class Kept(click.ParamType[tuple[str, int]]):
    name = "shape=number"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int]:
        shape, equals, number = str(value).partition("=")
        if not shape or not equals or not (number.isascii() and number.isdecimal()):
            self.fail(f"{value!r} is not like general-small=2.", param, ctx)
        return shape, int(number)


@policy.command("set")
@server_options
@click.option("--rule", metavar="RULE", help="How shapes are chosen: family or cheapest.")
@click.option("--max-workers", type=int, metavar="N", help="Most workers at a time.")
@click.option(
    "--max-usd-per-hour",
    type=MostPerHour(),
    metavar="USD",
    help="The most they may cost together, as 12.50; none is no limit.",
)
@click.option("--idle-seconds", type=int, metavar="N", help="How long an idle worker is kept.")
@click.option("--purchase", metavar="HOW", help="on-demand, or spot: cheaper, may be taken back.")
@click.option("--arch", "architectures", multiple=True, help="Preferred first: amd64, arm64.")
@click.option(
    "--minimum",
    type=Kept(),
    multiple=True,
    metavar="SHAPE=N",
    help="Always keep so many of a shape; 0 keeps none. May be given repeatedly.",
)
@json_option
@pass_session
def set_policy(
    session: Session,
    *,
    rule: str | None,
    max_workers: int | None,
    max_usd_per_hour: int | None,
    idle_seconds: int | None,
    purchase: str | None,
    architectures: tuple[str, ...],
    minimum: tuple[tuple[str, int], ...],
    as_json: bool,
) -> None:
    """Change how the fleet may grow and shrink. For admins; it counts at once.

    \b
      clusterra fleet policy set --max-workers 20 --max-usd-per-hour 12.50
      clusterra fleet policy set --rule cheapest --minimum general-small=2
    """
    edit = EditPolicy(
        rule=rule,
        max_workers=max_workers,
        max_usd_per_hour_micros=max_usd_per_hour,
        idle_seconds=idle_seconds,
        purchase=purchase,
        architectures=list(architectures) or None,
        minimum=dict(minimum) or None,
    )
    if edit == EditPolicy():
        raise click.UsageError("Say what to change: --max-workers, --max-usd-per-hour, --rule, …")
    changed = session.client.fleet.set_policy(session.cluster_id(), edit)
    if as_json:
        session.say_answer()
        return
    say(f"From now on: {in_short(changed)}.")
    say("  Next:  clusterra fleet show")


def in_short(policy: PolicyView) -> str:
    """Return a policy on one line: `family · at most 64 workers, $12.50/h · idle for 2m 00s`."""
    most = policy.max_usd_per_hour_micros
    kept = ", ".join(f"{number} {shape}" for shape, number in sorted(policy.minimum.items()))
    parts = [
        policy.rule,
        f"at most {count(policy.max_workers, 'worker')}"
        + ("" if most is None else f" and {dollars(most)}/h"),
        f"idle ones go after {duration(timedelta(seconds=policy.idle_seconds))}",
        policy.purchase,
        f"{policy.architectures[0]} only" if len(policy.architectures) == 1 else "",
        f"always {kept}" if kept else "",
    ]
    return tame(" · ".join(part for part in parts if part))


def _show(session: Session, *, as_json: bool) -> None:
    view = session.client.fleet.policy(session.cluster_id())
    if as_json:
        session.say_answer()
        return
    for name, value in _lines(view):
        say(f"  {name:<18}{tame(value)}")
    if not view.set_by_admin:
        say("  These are the server's settings; no admin has set anything yet.")
    say("  Change it:  clusterra fleet policy set --help")


def _lines(view: PolicyView) -> list[tuple[str, str]]:
    most = view.max_usd_per_hour_micros
    kept = [f"{number} {shape}" for shape, number in sorted(view.minimum.items())]
    return [
        ("rule", f"{view.rule}: {_RULES[view.rule]}" if view.rule in _RULES else view.rule),
        ("max workers", f"{view.max_workers:,}"),
        ("max per hour", "no limit" if most is None else dollars(most)),
        ("idle workers go", f"after {duration(timedelta(seconds=view.idle_seconds))}"),
        ("purchase", view.purchase),
        ("architectures", ", ".join(view.architectures)),
        ("always kept", ", ".join(kept) or "none"),
    ]
