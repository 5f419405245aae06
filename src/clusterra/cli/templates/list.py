"""`clusterra templates list`."""

import click

from clusterra.cli.options import json_option, pass_session, server_options, workspace_option
from clusterra.cli.screen import say, tame
from clusterra.cli.session import Session
from clusterra.cli.table import Cell, Column, table
from clusterra.core.words import count
from clusterra.wire.templates import TemplateRow

COLUMNS = (
    Column("ID", name=True),
    Column("KIND"),
    Column("CATEGORY", name=True),
    Column("FROM", name=True),
    Column("", note=True),
)


@click.command("list")
@server_options
@click.argument("words", nargs=-1)
@click.option(
    "--kind",
    type=click.Choice(["batch", "interactive", "preset", "workflow"]),
    help="Only those of one kind.",
)
@workspace_option
@json_option
@pass_session
def list_templates(
    session: Session, *, words: tuple[str, ...], kind: str | None, as_json: bool
) -> None:
    """List the recipes, or those whose name or description has all WORDS."""
    workspace = session.the_workspace().id if session.named_workspace() else ""
    page = session.client.templates.list(" ".join(words), kind=kind or "", workspace=workspace)
    if as_json:
        session.say_answer()
        return
    if not page.templates:
        what = f" with {tame(' '.join(words))}" if words else ""
        say(f"No templates{what}.")
        say("  All of them:  clusterra templates list")
        return
    say(session.screen.paint(f"{count(page.total, 'template')}.", bold=True))
    for line in table(COLUMNS, [_row(each) for each in page.templates], session.screen):
        say(line)
    say(f"  What one asks for:  clusterra templates show {page.templates[0].id}")


def _row(template: TemplateRow) -> list[str | Cell]:
    first = template.description.strip().split("\n")[0]
    return [
        template.id,
        template.kind if template.ready else Cell(f"{template.kind}, not ready", "yellow"),
        template.category,
        template.source,
        Cell(f"{template.name}. {first}", faint=True),
    ]
