"""`clusterra agent`: start and stop workers as a control plane asks for them."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

import click
import msgspec

from clusterra.agent.beat import Happened
from clusterra.agent.collect import read_key
from clusterra.cli.amounts import utc_now
from clusterra.cli.options import pass_session
from clusterra.cli.screen import say, tame
from clusterra.cli.session import Session
from clusterra.core.errors import Invalid
from clusterra.edge.run import Agent, run_agent

_PATH = click.Path(path_type=Path)
EVERY, SHORTEST = 15.0, 1.0
GHOST, SHORTEST_GHOST = 480.0, 60.0
LOGS = Path("/mnt/efs")


@click.command()
@click.option("--url", metavar="URL", help="Address of the server. [CLUSTERRA_CENTRAL_API_URL]")
@click.option("--cluster", metavar="ID", help="Whose workers they are. [CLUSTERRA_CLUSTER_ID]")
@click.option(
    "--key-file",
    type=_PATH,
    metavar="FILE",
    help="The agent's key, keys/<cluster>.agent.key in the server's state directory."
    " [CLUSTERRA_AGENT_API_KEY: the key itself]",
)
@click.option(
    "--local", "place", type=_PATH, required=True, metavar="FILE", help="Where workers run: JSON."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to serve logs on.")
@click.option("--port", type=int, default=6001, show_default=True, help="Port; 0 is a free one.")
@click.option(
    "--every",
    type=click.FloatRange(min=0.1),
    metavar="SECONDS",
    help="Between heartbeats while nothing happens. [default: 15] [CLUSTERRA_POLL_INTERVAL]",
)
@click.option(
    "--ghost-seconds",
    type=click.FloatRange(min=1),
    metavar="SECONDS",
    help="How long a worker may take until it answers. [default: 480]"
    " [CLUSTERRA_GHOST_TIMEOUT_SECONDS]",
)
@click.option(
    "--logs",
    type=_PATH,
    metavar="DIR",
    help="What jobs write is found here. [default: /mnt/efs] [EFS_BASE_PATH]",
)
@click.option("--ready-file", type=_PATH, metavar="FILE", help="Write this file once it is ready.")
@click.option("--json", "as_json", is_flag=True, help="Print what happens as JSON lines.")
@pass_session
def agent(
    session: Session,
    *,
    url: str | None,
    cluster: str | None,
    key_file: Path | None,
    place: Path,
    host: str,
    port: int,
    every: float | None,
    ghost_seconds: float | None,
    logs: Path | None,
    ready_file: Path | None,
    as_json: bool,
) -> None:
    """Start and stop workers on this machine as a server asks for them."""
    environ = session.environ
    told = Agent(
        url=_needed(url or session.url or environ.get("CLUSTERRA_CENTRAL_API_URL"), "--url"),
        cluster=_needed(
            cluster or session.cluster or environ.get("CLUSTERRA_CLUSTER_ID"), "--cluster"
        ),
        key=_key(key_file, environ),
        place=place.absolute(),
        host=host,
        port=port,
        ip=environ.get("POD_IP", ""),
        every=every or _seconds(environ, "CLUSTERRA_POLL_INTERVAL", SHORTEST, EVERY),
        ghost_seconds=ghost_seconds
        or _seconds(environ, "CLUSTERRA_GHOST_TIMEOUT_SECONDS", SHORTEST_GHOST, GHOST),
        logs=(logs or Path(environ.get("EFS_BASE_PATH") or LOGS)).absolute(),
        ready_file=ready_file,
    )
    asyncio.run(run_agent(told, _telling(as_json=as_json)))


def _needed(value: str | None, option: str) -> str:
    if not value:
        raise Invalid(
            f"{option} is missing.",
            hint="clusterra agent --url URL --cluster ID --key-file FILE --local PLACE.json",
            at=option,
        )
    return value


def _key(file: Path | None, environ: Mapping[str, str]) -> Callable[[], str]:
    if file is None:
        given = environ.get("CLUSTERRA_AGENT_API_KEY", "").strip()
        return lambda: given
    there = file.absolute()
    return lambda: read_key(there)


def _seconds(environ: Mapping[str, str], name: str, least: float, default: float) -> float:
    """Return what a variable says; the default for what makes no sense, as the public agent does."""
    try:
        seconds = float(environ.get(name, ""))
    except ValueError:
        return default
    return seconds if least <= seconds < float("inf") else default


def _telling(*, as_json: bool) -> Callable[[Happened], None]:
    def as_line(happened: Happened) -> None:
        click.echo(msgspec.json.encode(happened))

    def as_sentence(happened: Happened) -> None:
        say(f"{utc_now():%Y-%m-%dT%H:%M:%SZ} {tame(_sentence(happened))}", error=True)

    return as_line if as_json else as_sentence


def _sentence(happened: Happened) -> str:
    match happened.what:
        case "waiting":
            return f"{happened.why} Nothing is changed; trying again."
        case "back":
            return "The server answers again."
        case "blind":
            return f"{happened.why} Nothing is changed until the workers can be seen."
        case "failed":
            return f"A worker failed: {happened.why}"
    return f"Resized {happened.why}"
