"""The options with which an automation is made."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from clusterra.cli.interest import NARROWING, entries, several
from clusterra.cli.webhooks.secrets import read_text
from clusterra.core.errors import Invalid

F = TypeVar("F", bound=Callable[..., Any])

_FILE = click.Path(path_type=Path, allow_dash=True, dir_okay=False)


_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    several("--when", "types", "TYPE", "Which events: job.out_of_memory, 'job.*'."),
    *NARROWING,
    click.option("--retry", is_flag=True, help="Submit the job again, with more if it needs it."),
    click.option("--memory-factor", type=float, metavar="N", help="After out of memory. [1.5]"),
    click.option("--time-factor", type=float, metavar="N", help="After a timeout. [2]"),
    click.option("--most-memory", metavar="SIZE", help="Never more than this on a node: 64G."),
    click.option("--most-time", metavar="TIME", help="Never longer than this: 24h."),
    click.option("--plain", is_flag=True, help="Retry jobs that simply failed, too."),
    click.option("--requeue", is_flag=True, help="Put the job back into the queue as it is."),
    click.option("--submit", "script", type=_FILE, metavar="SCRIPT", help="Submit this script."),
    several("--option", "options", "NAME=VALUE", "Of that submission: cpus=4, name=report."),
    several("--notify", "notify", "WEBHOOK", "Tell this webhook."),
    click.option("--most", type=int, metavar="N", help="How often for one job. [1]"),
    click.option("--most-per-hour", type=int, metavar="N", help="How often at all. [100]"),
    click.option("--backoff", metavar="TIME", help="Wait before it acts: 5m; then 10m, 20m, …"),
    click.option("--name", help="What to call it."),
    click.option(
        "--file", type=_FILE, metavar="FILE", help="The automation as JSON, instead; - is stdin."
    ),
)


def wanting_options(function: F) -> F:
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def wanted(said: dict[str, Any]) -> dict[str, Any]:
    """Return the request that the options mean."""
    if (file := said.pop("file")) is not None:
        if any(value for value in said.values()):
            raise click.UsageError("--file says all of it; say nothing else beside it.")
        return read_json(file)
    lists = ("types", "people", "names", "states", "partitions", "clusters")
    when: dict[str, Any] = {name: found for name in lists if (found := entries(said[name]))}
    if said["severity"]:
        when["severity"] = said["severity"]
    body: dict[str, Any] = {"when": when, "do": _actions(said)}
    body |= {
        name: said[name]
        for name in ("name", "most", "most_per_hour", "backoff")
        if said[name] is not None
    }
    if not when:
        raise click.UsageError("Say when: --when job.out_of_memory")
    if not body["do"]:
        raise click.UsageError("Say what to do: --retry, --requeue, --submit or --notify.")
    return body


def read_json(file: Path) -> dict[str, Any]:
    try:
        value = json.loads(read_text(file, at="--file"))
    except ValueError as error:
        raise Invalid(
            f"{file} is not JSON: {error}.", hint="See `automations show NAME --json`.", at="--file"
        ) from None
    if not isinstance(value, dict):
        raise Invalid(f"{file} holds no automation.", hint="It is a JSON object.", at="--file")
    return value


def _actions(said: dict[str, Any]) -> list[dict[str, Any]]:
    retry = {
        name: said[name]
        for name in ("memory_factor", "time_factor", "most_memory", "most_time")
        if said[name] is not None
    }
    if said["plain"]:
        retry["plain"] = True
    if retry and not said["retry"]:
        raise click.UsageError("How a job is retried means nothing without --retry.")
    actions: list[dict[str, Any]] = [{"retry": retry}] if said["retry"] else []
    if said["requeue"]:
        actions.append({"requeue": {}})
    if said["script"] is not None:
        submit: dict[str, Any] = {"script": read_text(said["script"], at="--submit")}
        if said["options"]:
            submit["options"] = dict(_option(each) for each in said["options"])
        actions.append({"submit": submit})
    return [*actions, *({"notify": each} for each in entries(said["notify"]))]


def _option(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise click.BadParameter(
            f"{text!r} is not NAME=VALUE, such as cpus=4.", param_hint="--option"
        )
    return name.strip(), int(value) if value.isascii() and value.isdigit() else value
