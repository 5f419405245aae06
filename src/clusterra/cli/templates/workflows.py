"""`clusterra templates workflows`: how workflows stand."""

from collections.abc import Iterator

import click

from clusterra.cli.options import json_option, pass_session, server_options
from clusterra.cli.screen import Screen, cut_end, say, tame
from clusterra.cli.session import Session
from clusterra.cli.table import Cell, Column, table
from clusterra.core.words import count
from clusterra.wire.templates import StepStanding, WorkflowView

_LIST = (
    Column("WORKFLOW", name=True),
    Column("NAME", name=True),
    Column("USER"),
    Column("STATE"),
    Column("STEPS", right=True),
    Column("SUBMITTED"),
)
_STEPS = (
    Column("STEP", name=True),
    Column("JOB", right=True),
    Column("STATE"),
    Column("AFTER", name=True),
    Column("", note=True),
)
_COLOURS = {"COMPLETED": "green", "FAILED": "red", "RUNNING": "blue"}


@click.command("workflows")
@server_options
@click.argument("workflow", required=False)
@click.option("--limit", type=click.IntRange(1, 200), default=20, show_default=True)
@json_option
@pass_session
def workflows(session: Session, *, workflow: str | None, limit: int, as_json: bool) -> None:
    """Show how a WORKFLOW stands, by its id or the beginning of it; or list them."""
    cluster, asked = session.cluster_id(), session.client.templates
    if workflow:
        view = asked.workflow(cluster, workflow)
        lines = told(view, session.screen)
    else:
        page = asked.workflows(cluster, limit=limit)
        lines = _listed(page.workflows, page.total, session.screen)
    if as_json:
        session.say_answer()
        return
    for line in lines:
        say(line)


def _listed(views: list[WorkflowView], total: int, screen: Screen) -> Iterator[str]:
    if not views:
        yield "No workflows yet."
        yield "  Recipes for one:  clusterra templates list --kind workflow"
        return
    yield screen.paint(f"{count(total, 'workflow')}.", bold=True)
    yield from table(_LIST, [_row(each) for each in views], screen)
    yield f"  One of them:  clusterra templates workflows {views[0].id[:13]}"


def _row(view: WorkflowView) -> list[str | Cell]:
    return [
        view.id,
        view.name,
        view.user,
        Cell(view.state.lower(), _COLOURS.get(view.state)),
        str(len(view.steps)),
        f"{view.submitted_at:%Y-%m-%d %H:%M}",
    ]


def told(view: WorkflowView, screen: Screen) -> Iterator[str]:
    """Say how each step stands, and why one was not started."""
    state = screen.paint(view.state.lower(), _COLOURS.get(view.state))
    yield f"{tame(view.name)} · workflow {view.id} · {state}"
    yield from table(_STEPS, [_step(each) for each in view.steps], screen)
    yield cut_end(f"  It writes to {tame(view.directory)}", screen.width)
    failed = [
        each for each in view.steps if each.job_id and each.state not in _FINE and not each.why
    ]
    if failed:
        yield f"  Next:  clusterra jobs diagnose {failed[0].job_id}"


_FINE = ("COMPLETED", "RUNNING", "PENDING")


def _step(each: StepStanding) -> list[str | Cell]:
    return [
        each.display_name or each.step_id,
        str(each.job_id or "–"),
        Cell("not started", "yellow") if each.why else _state(each),
        ", ".join(each.depends_on),
        each.why,
    ]


def _state(each: StepStanding) -> Cell:
    return Cell(each.state.lower(), _COLOURS.get(each.state))
