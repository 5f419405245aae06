"""`clusterra login`, `logout` and `whoami`: who one is to a server.

The terminal never sees a password: it shows a code, and a browser that is signed in
(on this machine or any other) approves it. What comes of it is kept by
`client/credentials.py`, for this server only.
"""

import platform
import webbrowser
from datetime import datetime, timedelta

import click
import msgspec

from clusterra.cli.amounts import duration, moment
from clusterra.cli.options import json_option, pass_session, server_options
from clusterra.cli.screen import say, tame
from clusterra.cli.session import Session
from clusterra.cli.tokens import may
from clusterra.client.client import Client
from clusterra.client.connection import Connection
from clusterra.client.credentials import Credentials, KeptSession, Signed, signed
from clusterra.client.find import credentials_file, find_place, find_server
from clusterra.core.errors import (
    ClusterraError,
    Forbidden,
    Refused,
    Unauthenticated,
    Unreachable,
)
from clusterra.core.money import dollars, per_hour
from clusterra.core.words import count
from clusterra.wire.people import Me, TerminalAsked, WorkspaceView
from clusterra.wire.usage import SpendingView

SLOWER = 5
"""Seconds to wait longer when the server finds us asking too often (RFC 8628, 3.5)."""

_LET_IN_BY = {
    "session": "your session",
    "token": "an API token",
    "operator": "the token of whoever runs the server",
}


@click.command()
@server_options
@click.argument("address", required=False, metavar="[URL]")
@click.option("--browser", is_flag=True, help="Open the address in this machine's browser.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print the code to approve, then who you are, as JSON."
)
@pass_session
def login(session: Session, *, address: str | None, browser: bool, as_json: bool) -> None:
    """Sign in to the server at URL, as yourself.

    It shows a code and an address; approve the code there, in any browser in which you are
    signed in. Without URL: the server that other commands would use.

    \b
      clusterra login https://clusterra.lab.example
    """
    place = _place(session, address)
    with Client(Connection(place)) as client:
        asked = client.people.ask_for_terminal(f"clusterra on {platform.node()}")
        _show(asked, as_json=as_json)
        if browser:
            _open(asked.verification_uri_complete)
        try:
            made = _wait(session, client, asked)
        except KeyboardInterrupt:
            say("Stopped waiting. You are not signed in; nothing was stored.", error=True)
            raise
    kept = Credentials(credentials_file(session.environ))
    kept.keep(place, made)
    with Client(Connection(place, token=KeptSession(place, kept, session.watch.now))) as client:
        me = client.people.me()
        if as_json:
            say(client.answer.decode())
            return
    say(f"You are signed in at {place} as {tame(me.email)}: {_what_one_is(me)}.")
    say(_next_step(session, place))


@click.command()
@server_options
@click.argument("address", required=False, metavar="[URL]")
@json_option
@pass_session
def logout(session: Session, *, address: str | None, as_json: bool) -> None:
    """Sign out of the server at URL: it ends the session, and it is forgotten here.

    Without URL: the server that other commands would use.
    """
    place = _place(session, address)
    kept = Credentials(credentials_file(session.environ))
    if (known := kept.at(place)) is None:
        say(f"You were not signed in at {place}.", error=True)
        return
    try:
        with Client(Connection(place, token=KeptSession(place, kept, session.watch.now))) as client:
            elsewhere = client.people.sign_out().url
            if as_json:
                say(client.answer.decode())
    except Unauthenticated:
        say(f"Your session at {place} had ended already; it is forgotten here too.", error=True)
    except ClusterraError as error:
        say(tame(error.detail), error=True)
        say(
            f"The session of {tame(known.email)} is forgotten here, but the server could not be "
            "told: there it goes on until it ends by itself.",
            error=True,
        )
    else:
        if not as_json:
            _tell_signed_out(place, known.email, elsewhere)
    finally:
        kept.forget(place)


@click.command()
@server_options
@json_option
@pass_session
def whoami(session: Session, *, as_json: bool) -> None:
    """Say who you are to the server, what you are there, and until when."""
    me = session.client.people.me()
    if as_json:
        session.say_answer()
        return
    for line in portrait(me, session.server.url, session.watch.now()):
        say(line)


def portrait(me: Me, url: str, now: datetime) -> list[str]:
    name = f" · {tame(me.name)}" if me.name else ""
    by = _LET_IN_BY.get(me.by, me.by)
    limited = f" for {may(me.scopes)}" if me.by == "token" else ""
    until = f", until {moment(me.expires_at, now)}" if me.expires_at else ""
    lines = [f"{tame(me.email)}{name} · at {url}"]
    if me.login:
        number = "" if me.uid is None else f" (uid {me.uid})"
        lines.append(f"  Linux user  {tame(me.login)}{number}")
    lines += [
        f"  workspaces  {' · '.join(_in(each) for each in me.workspaces) or 'none'}",
        f"  let in by   {by}{limited}{until}",
    ]
    if me.spending is not None:
        lines.append(f"  spending    {_spending(me.spending)}")
        lines += [f"  quota       {each}" for each in _left(me.spending)]
    return lines


def _left(spends: SpendingView) -> list[str]:
    """Return what is left of the limits of the month, for each workspace that has one."""
    return [
        f"{dollars(month.left_micros or 0)} left of {dollars(month.limit_micros)} this month"
        + (f" in {tame(each.workspace)}" if len(spends.workspaces) > 1 else "")
        for each in spends.workspaces
        if each.quota and (month := each.quota.month) and month.limit_micros is not None
    ]


def _spending(spends: SpendingView) -> str:
    """Return `$41.20 this month, $2.10 today · 3 jobs running, $0.86/h`."""
    spent = f"{dollars(spends.month.micros)} this month, {dollars(spends.today.micros)} today"
    if not spends.running:
        return f"{spent} · nothing running"
    rate = per_hour(spends.burn_usd_per_hour_micros)
    unknown = f" ({spends.burn_unknown:,} not known)" if spends.burn_unknown else ""
    return f"{spent} · {count(spends.running, 'job')} running, {rate}{unknown}"


def _place(session: Session, address: str | None) -> str:
    place = find_place(session.environ, url=address or session.url, state=session.state)
    return place.url.rstrip("/")


def _show(asked: TerminalAsked, *, as_json: bool) -> None:
    if as_json:
        # Without the device code: whoever has that one can take the session.
        shown = msgspec.to_builtins(asked)
        del shown["device_code"]
        say(msgspec.json.encode(shown).decode())
        return
    code = tame(asked.user_code)
    say("To let this terminal in, open this address in a browser, and compare the code:")
    say(f"  {tame(asked.verification_uri_complete)}")
    say(f"Waiting for you to approve {code} at {tame(asked.verification_uri)}")


def _open(address: str) -> None:
    """Open the page in this machine's browser; what is no page is left alone."""
    if not address.startswith(("http://", "https://")) or not webbrowser.open(address):
        say("No browser could be opened here: open the address yourself.", error=True)


def _wait(session: Session, client: Client, asked: TerminalAsked) -> Signed:
    """Ask, as often as the server likes it, until somebody has decided."""
    pause = float(asked.interval)
    give_up = session.watch.now() + timedelta(seconds=asked.expires_in)
    while session.watch.now() < give_up:
        session.watch.wait(pause)
        try:
            answer = client.people.terminal_token(asked.device_code)
        except Unreachable:
            continue  # a server that restarts knows the code afterwards
        except ClusterraError as error:
            match error.code:
                case "authorization-pending":
                    continue
                case "slow-down":
                    pause += SLOWER
                    continue
                case "access-denied":
                    raise Forbidden(
                        f"{asked.user_code} was turned down in the browser. Nothing was stored.",
                        hint="If that was a mistake, begin again with: clusterra login",
                        code=error.code,
                    ) from None
                case "device-code-expired":
                    break
            raise
        return signed(answer, now=session.watch.now())
    raise Refused(
        f"Nobody approved {asked.user_code} within "
        f"{duration(timedelta(seconds=asked.expires_in))}. Nothing was stored.",
        hint="Begin again with: clusterra login",
        code="device-code-expired",
    )


def _next_step(session: Session, place: str) -> str:
    """Say what to do next; also where other commands would go elsewhere, or as somebody else."""
    try:
        usual = find_server(session.environ, state=session.state)
    except ClusterraError:
        return f"To use it:  export CLUSTERRA_URL={place}"
    if usual.url.rstrip("/") != place:
        return f"Other commands use {usual.url}. To use this one:  export CLUSTERRA_URL={place}"
    if isinstance(usual.token, str):
        return "CLUSTERRA_TOKEN comes before your session. To use that:  unset CLUSTERRA_TOKEN"
    return "Next:  clusterra jobs list"


def _tell_signed_out(place: str, email: str, elsewhere: str | None) -> None:
    say(f"{tame(email)} is signed out of {place}.")
    if elsewhere:
        say("To sign out of your identity provider as well, open:")
        say(f"  {tame(elsewhere)}")


def _what_one_is(me: Me) -> str:
    places = " · ".join(_in(each) for each in me.workspaces) or "in no workspace yet"
    number = "" if me.uid is None else f" ({me.uid})"
    return f"Linux user {tame(me.login)}{number}, {places}"


def _in(workspace: WorkspaceView) -> str:
    return f"{tame(workspace.role)} of {tame(workspace.name or workspace.id)}"
