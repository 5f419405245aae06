"""`clusterra quota`: what people may spend, what is left of it, and more for a while."""

import click

from clusterra.cli.dollars import NO_LIMIT, Dollars
from clusterra.cli.options import json_option, pass_session, server_options, workspace_option
from clusterra.cli.quota_words import COLUMNS, headline, portrait, row
from clusterra.cli.screen import say, tame
from clusterra.cli.session import Session
from clusterra.cli.table import table
from clusterra.core.errors import Invalid
from clusterra.core.money import dollars
from clusterra.core.units import parse_duration
from clusterra.core.words import count
from clusterra.wire.quotas import QuotaChanged, RaiseQuota

MODES = ("observe", "warn", "block", "block_and_kill")


@click.group()
@server_options
def quota() -> None:
    """What people may spend, and what follows when they would spend more."""


@quota.command("get")
@server_options
@click.argument("whose", required=False)
@workspace_option
@json_option
@pass_session
def get_quota(session: Session, *, whose: str | None, as_json: bool) -> None:
    """Show what is spent and left: yours, or WHOSE: an e-mail, `everybody`, `workspace`.

    Admins see everybody's.
    """
    workspace = session.the_workspace().id
    now = session.watch.now()
    if whose:
        view = session.client.quotas.show(workspace, whose)
        if as_json:
            session.say_answer()
            return
        for line in portrait(view, session.screen, now):
            say(line)
        say("  Change it:  clusterra quota set --help")
        return
    page = session.client.quotas.all(workspace)
    if as_json:
        session.say_answer()
        return
    say(session.screen.paint(headline(page), bold=True))
    for line in table(COLUMNS, [row(each) for each in page.quotas], session.screen):
        say(line)
    say(f"  Days and months begin as in {tame(page.zone)}.  More:  clusterra quota get EMAIL")


@quota.command("set")
@server_options
@click.argument("whose")
@click.option(
    "--month", type=Dollars(), metavar="USD", help="The most in a month; none is no limit."
)
@click.option("--day", type=Dollars(), metavar="USD", help="The most in a day.")
@click.option(
    "--job",
    type=Dollars(),
    metavar="USD",
    help="The most one job may cost if it takes all its time.",
)
@click.option(
    "--burn", type=Dollars(), metavar="USD", help="The most that all that runs may cost per hour."
)
@click.option(
    "--mode", type=click.Choice(MODES), help="What follows: each does all that those before it do."
)
@click.option(
    "--buffer", type=int, metavar="PERCENT", help="How far above the month before jobs are ended."
)
@click.option("--grace", metavar="TIME", help="How long before that they are told: 30s, 5m.")
@click.option("--zone", metavar="NAME", help="Where days begin: Europe/Berlin. The workspace's.")
@click.option(
    "--waste",
    type=Dollars(),
    metavar="USD",
    help="Machines without work, per day, before it is told. The workspace's.",
)
@click.option("--like-everybody", is_flag=True, help="Take their own quota away.")
@click.option("--because", default="", metavar="WORDS", help="Why, for the ledger.")
@workspace_option
@json_option
@pass_session
def set_quota(
    session: Session,
    *,
    whose: str,
    month: int | None,
    day: int | None,
    job: int | None,
    burn: int | None,
    mode: str | None,
    buffer: int | None,
    grace: str | None,
    zone: str | None,
    waste: int | None,
    like_everybody: bool,
    because: str,
    as_json: bool,
) -> None:
    """Set what WHOSE may spend: an e-mail, `everybody`, or all together: `workspace`.

    \b
      clusterra quota set ana@lab.example --month 300 --mode block
      clusterra quota set everybody --month 100 --day 20
      clusterra quota set workspace --month 5000 --zone Europe/Berlin
    """
    amounts = {"month": month, "day": day, "job": job, "burn": burn, "waste_per_day": waste}
    edit: dict[str, object] = {
        f"{name}_micros": None if amount == NO_LIMIT else amount
        for name, amount in amounts.items()
        if amount is not None
    }
    others = {"mode": mode, "buffer_percent": buffer, "zone": zone}
    edit |= {name: value for name, value in others.items() if value is not None}
    if grace is not None:
        edit["grace_seconds"] = _seconds(grace)
    if like_everybody:
        if edit:
            raise click.UsageError("--like-everybody takes all of it away; say nothing else.")
        edit["own"] = False
    if not edit:
        raise click.UsageError("Say what to change: --month, --day, --job, --burn, --mode, …")
    if because:
        edit["why"] = because
    changed = session.client.quotas.set(session.the_workspace().id, whose, edit)
    if as_json:
        session.say_answer()
        return
    _tell_changed(changed)


@quota.command("raise")
@server_options
@click.argument("whose")
@click.argument("amount", type=Dollars())
@click.option("--days", type=int, metavar="N", help="For how many days. [7]")
@click.option("--because", default="", metavar="WORDS", help="Why, for the ledger.")
@workspace_option
@json_option
@pass_session
def raise_quota(
    session: Session, *, whose: str, amount: int, days: int | None, because: str, as_json: bool
) -> None:
    """Allow WHOSE so many dollars more than the limit of the month, for a while; 0 ends it.

    \b
      clusterra quota raise ana@lab.example 100 --days 7 --because "revision is due"
    """
    if amount == NO_LIMIT:
        raise click.UsageError(
            "Say how much more; to lift the limit: clusterra quota set --month none"
        )
    wanted = RaiseQuota(micros=amount, days=7 if days is None else days, why=because)
    changed = session.client.quotas.allow_more(session.the_workspace().id, whose, wanted)
    if as_json:
        session.say_answer()
        return
    name = tame(changed.quota.whose)
    if not amount:
        say(f"{name} has the limit of the month again, and no more.")
    else:
        most = changed.quota.month.limit_micros if changed.quota.month else None
        now = "" if most is None else f": {dollars(most)} in all"
        say(f"{name} may spend {dollars(amount)} more for {count(wanted.days or 0, 'day')}{now}.")
    _warn(changed)


def _tell_changed(changed: QuotaChanged) -> None:
    name = tame(changed.quota.whose)
    if not changed.changed:
        say(f"The quota of {name} was so already.")
    else:
        say(f"The quota of {name} from now on:")
        for each in changed.changed:
            say(f"  {tame(each)}")
    _warn(changed)
    say(f"  Next:  clusterra quota get {name}")


def _warn(changed: QuotaChanged) -> None:
    for each in changed.warnings:
        say(f"  {tame(each)}", error=True)


def _seconds(text: str) -> int:
    try:
        return int(parse_duration(text, at="--grace").total_seconds())
    except OverflowError:
        raise Invalid(f"{text} is too long.", hint="Say up to a day.", at="--grace") from None
