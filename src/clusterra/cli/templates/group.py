"""`clusterra templates`: recipes to start jobs from."""

import click

from clusterra.cli.lazy import Lazy, LazyGroup
from clusterra.cli.options import server_options

_HERE = "clusterra.cli.templates"

COMMANDS: dict[str, Lazy] = {
    "list": Lazy(f"{_HERE}.list:list_templates", "Which recipes there are."),
    "show": Lazy(f"{_HERE}.show:show_template", "What one asks for and leaves behind."),
    "render": Lazy(f"{_HERE}.render:render_template", "The script it comes to. Submits nothing."),
    "submit": Lazy(f"{_HERE}.submit:submit_template", "Start a job, or a workflow, from one."),
    "workflows": Lazy(f"{_HERE}.workflows:workflows", "How workflows stand, step by step."),
    "schedules": Lazy(f"{_HERE}.schedules:schedules", "What is started again and again."),
    "unschedule": Lazy(f"{_HERE}.schedules:unschedule", "Start it no more."),
    "validate": Lazy(f"{_HERE}.bring:validate_templates", "What is wrong with a file."),
    "import": Lazy(f"{_HERE}.bring:import_templates", "Bring in a directory of them."),
    "remove": Lazy(f"{_HERE}.bring:remove_template", "Take one away that was imported."),
}


@click.group(cls=LazyGroup, lazy=COMMANDS)
@server_options
def templates() -> None:
    """Start from a recipe: fill in what it asks for, and run it."""
