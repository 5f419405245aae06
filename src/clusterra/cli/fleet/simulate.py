"""`clusterra fleet simulate`: one policy against another, on the same queue.

It runs here and not on the server: a simulation keeps a processor busy for seconds, and
somebody who only wants to compare policies needs no server at all.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from clusterra.adapters.ec2_prices import prices
from clusterra.cli.fleet.compared import conclusion, rows, span
from clusterra.cli.fleet.policy import MostPerHour
from clusterra.cli.fleet.queues import read_queue, recorded
from clusterra.cli.options import pass_session, server_options
from clusterra.cli.screen import say, tame
from clusterra.cli.session import Session
from clusterra.cli.table import Column, table
from clusterra.core.errors import Invalid
from clusterra.core.money import micros_of
from clusterra.core.scaling.edit import PolicyEdit, edited
from clusterra.core.scaling.policy import Policy, Rule
from clusterra.core.scaling.shapes import Purchase, Shape
from clusterra.core.scaling.shapes import table as shape_table
from clusterra.core.scaling.simulate import BOOT_SECONDS, Outcome, simulate
from clusterra.core.scaling.synthetic import synthetic
from clusterra.core.scaling.yard import Arrival
from clusterra.core.words import count
from clusterra.wire.fleet import PolicyView

_NUMBERS = ("max_workers", "idle_seconds")
_WORDS = ("rule", "purchase")


@click.command("simulate")
@server_options
@click.option(
    "--policy",
    "first",
    metavar="SPEC",
    help="A rule, settings, or both: cheapest,idle_seconds=600. Else the one there is.",
)
@click.option("--against", "second", metavar="SPEC", help="Another. Else the other rule.")
@click.option(
    "--queue",
    "file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The jobs: a JSON list of objects with at, seconds, cpus, memory_mib, ….",
)
@click.option(
    "--days",
    type=click.IntRange(1, 365),
    metavar="N",
    help="The jobs: those this cluster ran in the last days, under its own policy.",
)
@click.option(
    "--synthetic",
    "made_up",
    type=click.IntRange(1, 1_000_000),
    metavar="N",
    help="The jobs: so many, made up, over a day.",
)
@click.option("--seed", type=int, default=1, metavar="S", help="Which made-up queue.")
@click.option("--max-workers", type=int, metavar="N", help="For both: most workers at a time.")
@click.option(
    "--idle-seconds", type=int, metavar="N", help="For both: how long an idle worker is kept."
)
@click.option(
    "--max-usd-per-hour",
    type=MostPerHour(),
    metavar="USD",
    help="For both: the most they may cost together.",
)
@click.option("--region", default="us-east-1", show_default=True, help="Whose prices.")
@click.option(
    "--boot-seconds",
    type=click.IntRange(0, 3600),
    default=BOOT_SECONDS,
    show_default=True,
    help="How long a worker takes to come.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
@pass_session
def simulate_fleet(
    session: Session,
    *,
    first: str | None,
    second: str | None,
    file: Path | None,
    days: int | None,
    made_up: int | None,
    seed: int,
    max_workers: int | None,
    idle_seconds: int | None,
    max_usd_per_hour: int | None,
    region: str,
    boot_seconds: int,
    as_json: bool,
) -> None:
    """Run a queue through two policies on a virtual clock: cost, waits and node-hours.

    The planner is the one that decides in earnest; workers always come, and prices are those of
    the price list. Nothing is started anywhere.

    \b
      clusterra fleet simulate --synthetic 1000
      clusterra fleet simulate --days 7 --against cheapest,idle_seconds=600
      clusterra fleet simulate --queue jobs.json --max-workers 20
    """
    if sum(given is not None for given in (file, days, made_up)) != 1:
        raise click.UsageError("Say which jobs: --synthetic 1000, --queue FILE or --days 7.")
    shapes = shape_table(prices(region))
    policy = Policy()
    if file is not None:
        jobs = read_queue(file)
    elif made_up is not None:
        jobs = synthetic(made_up, seed)
    else:
        cluster = session.cluster_id()
        policy = _theirs(session.client.fleet.policy(cluster))
        jobs = recorded(session.client, cluster, days or 1, session.watch.now())
    limits = PolicyEdit(
        max_workers=max_workers, idle_seconds=idle_seconds, max_usd_per_hour=max_usd_per_hour
    )
    policy = policy if limits == PolicyEdit() else edited(policy, limits, shapes)
    policies = _two(first, second, policy, shapes)
    outcomes = {
        spec: _run(session, spec, each, jobs, shapes, boot_seconds)
        for spec, each in policies.items()
    }
    if as_json:
        say(_as_json(outcomes, jobs=len(jobs), region=region, boot_seconds=boot_seconds))
        return
    say(
        f"{count(len(jobs), 'job')} over {span(jobs)} · prices of {tame(region)}"
        f" · workers come after {boot_seconds} s"
    )
    columns = (Column(""), *(Column(tame(spec), right=True) for spec in outcomes))
    for line in table(columns, rows(list(outcomes.values())), session.screen):
        say(line)
    for sentence in conclusion(outcomes):
        say(tame(sentence))


def read_spec(spec: str, base: Policy, shapes: Mapping[str, Shape]) -> Policy:
    """Read `cheapest`, `idle_seconds=600` or both, separated by commas; the rest is as in `base`."""
    edit: dict[str, Any] = {}
    for part in spec.split(","):
        name, equals, value = part.strip().partition("=")
        if not equals:
            name, value = "rule", name
        if name in _WORDS:
            edit[name] = value
        elif name in _NUMBERS and value.removeprefix("-").isdecimal():
            edit[name] = int(value)
        elif name == "max_usd_per_hour" and micros_of(value) is not None:
            edit[name] = micros_of(value)
        else:
            raise Invalid(
                f"{part.strip()!r} is nothing that a policy can be simulated with.",
                hint=f"Say a rule ({', '.join(Rule)}), or one of "
                f"{', '.join((*_WORDS, *_NUMBERS))}, max_usd_per_hour with =value.",
                at=name,
            )
    return edited(base, PolicyEdit(**edit), shapes)


def _theirs(view: PolicyView) -> Policy:
    """Return a cluster's policy. Which shapes it always keeps may be its own: that is left out."""
    return Policy(
        rule=Rule(view.rule),
        max_workers=view.max_workers,
        max_usd_per_hour=view.max_usd_per_hour_micros,
        idle_seconds=view.idle_seconds,
        purchase=Purchase(view.purchase),
        architectures=tuple(view.architectures),
    )


def _two(
    first: str | None, second: str | None, base: Policy, shapes: Mapping[str, Shape]
) -> dict[str, Policy]:
    """Return the policies to compare, by what they are called."""
    one = read_spec(first, base, shapes) if first else base
    name = first or str(base.rule)
    if not second:
        second = str(Rule.FAMILY if one.rule is Rule.CHEAPEST else Rule.CHEAPEST)
    return {name: one, second: read_spec(second, base, shapes)}


def _run(
    session: Session,
    spec: str,
    policy: Policy,
    jobs: Sequence[Arrival],
    shapes: Mapping[str, Shape],
    boot_seconds: int,
) -> Outcome:
    if session.screen_for(aside=True).live:
        say(f"simulating {tame(spec)} …", error=True)
    return simulate(jobs, policy, shapes, boot_seconds=boot_seconds)


def _as_json(outcomes: Mapping[str, Outcome], **about: object) -> str:
    told = [{"policy": spec, **msgspec.to_builtins(each)} for spec, each in outcomes.items()]
    return msgspec.json.encode({**about, "outcomes": told}).decode()
