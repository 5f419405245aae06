"""`clusterra tokens` and `clusterra sessions`: what lets one in, and taking it away."""

from datetime import datetime

import click

from clusterra.cli.amounts import moment
from clusterra.cli.moments import ago, day
from clusterra.cli.options import json_option, pass_session, server_options
from clusterra.cli.screen import say, tame
from clusterra.cli.session import Session, choose_workspace
from clusterra.cli.table import Cell, Column, table
from clusterra.core.access import Scope
from clusterra.core.words import count
from clusterra.wire.people import CreateToken, SessionView, TokenView

SCOPES = tuple(each.value for each in Scope)

TOKEN_COLUMNS = (
    Column("ID"),
    Column("NAME", name=True),
    Column("MAY"),
    Column("WORKSPACE", name=True),
    Column("UNTIL"),
    Column("LAST USED"),
)

SESSION_COLUMNS = (
    Column("ID"),
    Column("FROM"),
    Column("SIGNED IN"),
    Column("UNTIL"),
    Column("", note=True),
)

_DAYS = 90
_HOW = {"oidc": "by the provider", "link": "by a link", "device": "a terminal"}


@click.group()
@server_options
def tokens() -> None:
    """API tokens: for scripts and programs, in your name."""


@tokens.command("list")
@server_options
@json_option
@pass_session
def list_tokens(session: Session, *, as_json: bool) -> None:
    """List your API tokens. The tokens themselves are shown once, when they are made."""
    page = session.client.people.tokens()
    if as_json:
        session.say_answer()
        return
    if not page.tokens:
        say("You have no API tokens. Make one with: clusterra tokens create NAME")
        return
    now = session.watch.now()
    for line in table(
        TOKEN_COLUMNS, [_token_row(each, now) for each in page.tokens], session.screen
    ):
        say(line)
    say(f"{count(page.total, 'token')} · end one: clusterra tokens revoke {page.tokens[0].id}")


@tokens.command("create")
@server_options
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(SCOPES),
    help="Limit it to this. May be repeated; without any it may all that you may.",
)
@click.option(
    "--days", type=click.IntRange(min=1), metavar="N", help=f"How long it works. [{_DAYS}]"
)
@click.option("--forever", is_flag=True, help="It works until it is revoked.")
@click.option("--workspace", metavar="ID|NAME", help="The only workspace it reaches.")
@json_option
@pass_session
def create_token(
    session: Session,
    *,
    name: str,
    scopes: tuple[str, ...],
    days: int | None,
    forever: bool,
    workspace: str | None,
    as_json: bool,
) -> None:
    """Make an API token called NAME. Only the token is on stdout:

    \b
      TOKEN=$(clusterra tokens create nightly --scope read --scope jobs)
    """
    if forever and days:
        raise click.UsageError("--days and --forever: one of both.")
    people = session.client.people
    within = workspace and choose_workspace(people.workspaces().workspaces, workspace).id
    wanted = CreateToken(
        name=name,
        scopes=list(scopes),
        days=None if forever else days or _DAYS,
        workspace=within or None,
    )
    made = people.create_token(wanted)
    if as_json:
        session.say_answer()
        return
    info = made.info
    ends = moment(info.expires_at, session.watch.now()) if info.expires_at else "it is revoked"
    say(
        f"The token {tame(info.name)} ({info.id}) may: {may(info.scopes)}; it works until {ends}. "
        "It is shown once:",
        error=True,
    )
    say(tame(made.token))


@tokens.command("revoke")
@server_options
@click.argument("id")
@json_option
@pass_session
def revoke_token(session: Session, *, id: str, as_json: bool) -> None:
    """Revoke one of your API tokens: it lets nobody in any more."""
    gone = session.client.people.revoke_token(id)
    if as_json:
        session.say_answer()
        return
    say(f"The token {tame(gone.name)} ({gone.id}) is revoked.")


@click.group()
@server_options
def sessions() -> None:
    """Where you are signed in: browsers and terminals."""


@sessions.command("list")
@server_options
@json_option
@pass_session
def list_sessions(session: Session, *, as_json: bool) -> None:
    """List where you are signed in."""
    page = session.client.people.sessions()
    if as_json:
        session.say_answer()
        return
    if not page.sessions:
        say("You are signed in nowhere. Sign in here with: clusterra login")
        return
    now = session.watch.now()
    rows = [_session_row(each, now) for each in page.sessions]
    for line in table(SESSION_COLUMNS, rows, session.screen):
        say(line)
    other = next((each for each in page.sessions if not each.current), page.sessions[0])
    say(f"{count(page.total, 'session')} · end one: clusterra sessions end {other.id}")


@sessions.command("end")
@server_options
@click.argument("id")
@json_option
@pass_session
def end_session(session: Session, *, id: str, as_json: bool) -> None:
    """End one of your sessions: whoever uses it has to sign in again."""
    ended = session.client.people.end_session(id)
    if as_json:
        session.say_answer()
        return
    say(f"The session {ended.id} ({tame(ended.agent or ended.address)}) has ended.")


def _token_row(token: TokenView, now: datetime) -> list[str | Cell]:
    ended = token.expires_at is not None and token.expires_at <= now
    until = day(token.expires_at) if token.expires_at else "no end"
    return [
        token.id,
        token.name,
        may(token.scopes),
        token.workspace or "all",
        Cell("ended", "red") if ended else until,
        ago(token.last_used_at, now),
    ]


def _session_row(session: SessionView, now: datetime) -> list[str | Cell]:
    parts = ("this one" if session.current else "", session.agent, _HOW.get(session.how, ""))
    return [
        session.id,
        session.address,
        ago(session.since, now),
        day(session.expires_at),
        " · ".join(part for part in parts if part),
    ]


def may(scopes: list[str]) -> str:
    """Return what a token is limited to; nothing left out is no limit."""
    named = [each for each in SCOPES if each in scopes]
    return "everything" if len(named) in (0, len(SCOPES)) else ", ".join(named)
