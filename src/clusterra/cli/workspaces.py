"""`clusterra workspaces`: the workspaces one is in, and how each is set."""

import click

from clusterra.cli.agree import agreed
from clusterra.cli.options import json_option, pass_session, server_options, workspace_option
from clusterra.cli.screen import say, tame
from clusterra.cli.session import Session
from clusterra.cli.table import Cell, Column, table
from clusterra.core.words import count
from clusterra.wire.people import EditWorkspace, WorkspaceView

COLUMNS = (
    Column("ID"),
    Column("NAME", name=True),
    Column("YOU ARE"),
    Column("CLUSTERS", name=True),
    Column("", note=True),
)

_OTHERS_JOBS = {
    "details": "members see each other's jobs in full",
    "queue": "members see that others' jobs wait or run, and no more",
    "hidden": "members see their own jobs only",
}


@click.group()
@server_options
def workspaces() -> None:
    """The workspaces you are in."""


@workspaces.command("list")
@server_options
@json_option
@pass_session
def list_workspaces(session: Session, *, as_json: bool) -> None:
    """List the workspaces you are in."""
    page = session.client.people.workspaces()
    if as_json:
        session.say_answer()
        return
    if not page.workspaces:
        say("You are in no workspace. Ask an owner or admin of one to invite you.")
        return
    for line in table(COLUMNS, [_row(each) for each in page.workspaces], session.screen):
        say(line)
    say(f"{count(page.total, 'workspace')} · who is in one: clusterra people list")


@workspaces.command("set")
@server_options
@workspace_option
@click.option(
    "--others-jobs",
    type=click.Choice(list(_OTHERS_JOBS)),
    help="What members see of each other's jobs.",
)
@click.option("--name", help="What it is called.")
@json_option
@pass_session
def set_workspace(
    session: Session, *, others_jobs: str | None, name: str | None, as_json: bool
) -> None:
    """Change a workspace: its name, and what members see of each other's jobs."""
    if others_jobs is None and name is None:
        raise click.UsageError("Say what to change: --others-jobs, --name.")
    edit = EditWorkspace(name=name, others_jobs=others_jobs)
    changed = session.client.people.edit_workspace(session.the_workspace().id, edit)
    if as_json:
        session.say_answer()
        return
    say(f"{tame(changed.name)} ({changed.id}): {_seen(changed)}.")


@workspaces.command("leave")
@server_options
@workspace_option
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@json_option
@pass_session
def leave_workspace(session: Session, *, yes: bool, as_json: bool) -> None:
    """Leave a workspace. Your jobs there go on; what let you in there ends."""
    workspace = session.the_workspace()
    words = f"What lets you into {tame(workspace.name)} would end, at once."
    if not yes and not agreed(session, words, ask="Leave it?", nothing="You are still in it."):
        return
    left = session.client.people.leave(workspace.id)
    if as_json:
        session.say_answer()
        return
    jobs = f"; {count(left.live_jobs, 'job')} of yours go on" if left.live_jobs else ""
    say(f"You are no longer in {tame(workspace.name)}{jobs}.")


def _row(workspace: WorkspaceView) -> list[str | Cell]:
    return [
        workspace.id,
        workspace.name,
        workspace.role,
        ", ".join(workspace.clusters) or "none",
        Cell(_seen(workspace), faint=True),
    ]


def _seen(workspace: WorkspaceView) -> str:
    return _OTHERS_JOBS.get(workspace.others_jobs, workspace.others_jobs)
