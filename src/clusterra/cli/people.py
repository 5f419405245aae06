"""`clusterra people`: who is in a workspace, and what they may do there."""

from datetime import timedelta

import click

from clusterra.cli.agree import agreed
from clusterra.cli.amounts import moment
from clusterra.cli.moments import ago, day
from clusterra.cli.options import json_option, pass_session, server_options, workspace_option
from clusterra.cli.screen import say, tame
from clusterra.cli.session import Session
from clusterra.cli.table import Cell, Column, table
from clusterra.core.access import Role
from clusterra.core.units import parse_duration
from clusterra.core.words import count
from clusterra.wire.people import Invite, Invited, PersonView, Removed, WorkspaceView

ROLES = tuple(each.value for each in reversed(Role))

COLUMNS = (
    Column("E-MAIL", name=True),
    Column("ROLE"),
    Column("LINUX USER", name=True),
    Column("UID", right=True),
    Column("SINCE"),
    Column("LAST SEEN"),
    Column("NAME", name=True),
)

_USUAL = Invite(email="")
"""What is asked for when nobody says otherwise."""


@click.group()
@server_options
def people() -> None:
    """Invite people into a workspace, and say what they may do."""


@people.command("list")
@server_options
@workspace_option
@json_option
@pass_session
def list_people(session: Session, *, as_json: bool) -> None:
    """List who is in a workspace."""
    workspace = session.the_workspace()
    page = session.client.people.people(workspace.id)
    if as_json:
        session.say_answer()
        return
    for line in table(COLUMNS, [_row(each, session) for each in page.people], session.screen):
        say(line)
    found = "1 person" if page.total == 1 else f"{page.total:,} people"
    say(f"{found} in {_name(workspace)} · more: clusterra people invite EMAIL")


@people.command()
@server_options
@click.argument("email")
@click.option(
    "--role", type=click.Choice(ROLES), default=_USUAL.role, help="What they are. [member]"
)
@click.option("--token", is_flag=True, help="Print an API token of theirs instead of a link.")
@click.option("--login", metavar="NAME", help="Their Linux user, where they have one already.")
@click.option("--valid", metavar="TIME", help="How long the link works: 30m, 24h, 7d. [10m]")
@workspace_option
@json_option
@pass_session
def invite(
    session: Session,
    *,
    email: str,
    role: str,
    token: bool,
    login: str | None,
    valid: str | None,
    as_json: bool,
) -> None:
    """Invite somebody, and print the link with which they sign in.

    With --token only the token is on stdout, for scripts:

    \b
      TOKEN=$(clusterra people invite ci@lab.example --token)
    """
    if token and valid:
        raise click.UsageError("--valid is about the sign-in link, and --token makes none.")
    minutes = _USUAL.minutes if valid is None else _minutes(valid)
    workspace = session.the_workspace()
    wanted = Invite(email=email, role=role, login=login, token=token, minutes=minutes)
    invited = session.client.people.invite(workspace.id, wanted)
    if as_json:
        session.say_answer()
        return
    _tell_invited(session, invited, workspace)


@people.command("role")
@server_options
@click.argument("email")
@click.argument("role", type=click.Choice(ROLES))
@workspace_option
@json_option
@pass_session
def change_role(session: Session, *, email: str, role: str, as_json: bool) -> None:
    """Change what somebody is in a workspace."""
    workspace = session.the_workspace()
    person = session.client.people.change_role(workspace.id, email, role)
    if as_json:
        session.say_answer()
        return
    say(f"{tame(person.email)} is now {person.role} of {_name(workspace)}.")


@people.command()
@server_options
@click.argument("email")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@workspace_option
@json_option
@pass_session
def remove(session: Session, *, email: str, yes: bool, as_json: bool) -> None:
    """Remove somebody from a workspace.

    They can submit no more there; their tokens and sessions for it end. Their jobs go on.
    """
    workspace = session.the_workspace()
    words = f"{tame(email)} would lose access to {_name(workspace)}, at once."
    if not yes and not agreed(session, words, ask="Remove them?", nothing="Nobody was removed."):
        return
    removed = session.client.people.remove(workspace.id, email)
    if as_json:
        session.say_answer()
        return
    for line in _removed_words(removed, workspace):
        say(line)


@people.command()
@server_options
@json_option
@pass_session
def link(session: Session, *, as_json: bool) -> None:
    """Print a fresh one-time link with which you sign in yourself."""
    made = session.client.people.link()
    if as_json:
        session.say_answer()
        return
    say(tame(made.url))
    ends = moment(made.expires_at, session.watch.now())
    say(f"It signs you in, once, until {ends}.", error=True)


def _row(person: PersonView, session: Session) -> list[str | Cell]:
    unseen = "long ago" if person.signed_in else "never"
    return [
        person.email,
        person.role,
        person.login,
        str(person.uid),
        day(person.since),
        ago(person.last_seen_at, session.watch.now(), never=unseen),
        person.name,
    ]


def _tell_invited(session: Session, invited: Invited, workspace: WorkspaceView) -> None:
    person = invited.person
    for_whom = (
        f"{tame(person.email)} is invited to {_name(workspace)} as {person.role} "
        f"(Linux user {tame(person.login)}, uid {person.uid})."
    )
    ends = moment(invited.expires_at, session.watch.now()) if invited.expires_at else ""
    if invited.token is not None:
        say(for_whom, error=True)
        until = f"until {ends}" if ends else "until it is revoked"
        say(f"This token of theirs is shown once; it works {until}:", error=True)
        say(tame(invited.token))
        return
    say(for_whom)
    say(tame(invited.url or ""))
    if ends:
        say(f"They sign in there; it works once, until {ends}.")
    else:
        say("They sign in there, with that e-mail address.")


def _removed_words(removed: Removed, workspace: WorkspaceView) -> list[str]:
    person = removed.person
    lines = [f"{tame(person.email)} is no longer in {_name(workspace)}."]
    if removed.live_jobs:
        verb = "goes" if removed.live_jobs == 1 else "go"
        lines.append(
            f"{count(removed.live_jobs, 'job')} of theirs {verb} on. "
            f"To end them: clusterra jobs cancel --query user:{tame(person.login)}"
        )
    return lines


def _minutes(text: str) -> int:
    return -(-parse_duration(text, at="--valid") // timedelta(minutes=1))


def _name(workspace: WorkspaceView) -> str:
    return tame(workspace.name or workspace.id)
