"""`clusterra templates show`."""

from collections.abc import Iterator

import click

from clusterra.cli.options import json_option, pass_session, server_options, workspace_option
from clusterra.cli.screen import Screen, cut_end, say, tame
from clusterra.cli.session import Session
from clusterra.cli.table import Cell, Column, table
from clusterra.wire.templates import InputView, ParameterView, TemplateView

COLUMNS = (
    Column("KEY", name=True),
    Column("TYPE"),
    Column("DEFAULT", name=True),
    Column("", note=True),
)


@click.command("show")
@server_options
@click.argument("template")
@click.option("--text", is_flag=True, help="Show its texts too: options and script.")
@workspace_option
@json_option
@pass_session
def show_template(session: Session, *, template: str, text: bool, as_json: bool) -> None:
    """Show what TEMPLATE asks for and what it leaves behind."""
    workspace = session.the_workspace().id if session.named_workspace() else ""
    view = session.client.templates.show(template, workspace=workspace)
    if as_json:
        session.say_answer()
        return
    for line in _told(view, session.screen):
        say(line)
    if text:
        for name in ("sbatch", "script", "config"):
            for line in str(view.definition.get(name) or "").splitlines():
                say(session.screen.faint(f"  {name:<7} {tame(line)}"))
    say(f"  Next:  clusterra templates {_next(view)}")


def _told(view: TemplateView, screen: Screen) -> Iterator[str]:
    state = "" if view.ready else " · " + screen.paint("not ready", "yellow")
    yield f"{screen.paint(tame(view.name), bold=True)} · {view.id} · {view.kind}{state}"
    for line in view.description.strip().splitlines():
        yield cut_end(f"  {tame(line)}", screen.width)
    rows = [*map(_input, view.inputs), *map(_parameter, view.parameters)]
    if rows:
        yield ""
        yield from table(COLUMNS, rows, screen)
    for place, step in enumerate(view.steps, start=1):
        after = f" after {', '.join(step.depends_on)}" if step.depends_on else ""
        yield f"  {place}  {step.step_id} ({step.template_id}){after}"
    if view.artifacts:
        yield ""
    for each in view.artifacts:
        yield cut_end(f"  leaves {each.key} ({each.role}): {tame(each.path)}", screen.width)


def _input(each: InputView) -> list[str | Cell]:
    return [each.key, each.role, _default(each.default, each.required), _said(each.description)]


def _parameter(each: ParameterView) -> list[str | Cell]:
    kind = "|".join(map(str, each.options)) if each.widget == "enum" else each.type
    return [
        each.key,
        kind,
        _default(each.default, each.required),
        _said(each.description or each.label),
    ]


def _default(value: object, required: bool) -> str | Cell:
    if value is None or value == "":
        return Cell("required", "yellow") if required else ""
    lines = str(value).strip().splitlines()
    return lines[0] + (" …" if len(lines) > 1 else "")


def _said(text: str) -> Cell:
    return Cell(" ".join(text.split()), faint=True)


def _next(view: TemplateView) -> str:
    needed = [
        *(f" --input {each.key}=…" for each in view.inputs if each.required and not each.default),
        *(
            f" --param {each.key}=…"
            for each in view.parameters
            if each.required and not each.default
        ),
    ]
    return f"submit {view.id}{''.join(needed)} --wait"
