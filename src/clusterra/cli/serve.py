"""`clusterra serve`: the control plane in front of a Slurm that somebody else runs."""

import getpass
import os
import secrets
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import msgspec

from clusterra.cli.options import pass_session
from clusterra.cli.screen import say
from clusterra.cli.session import Session
from clusterra.client.client import Client
from clusterra.client.connection import Connection
from clusterra.client.find import default_state, read_token
from clusterra.core.errors import Invalid, Refused, Unreachable
from clusterra.local.processes import process
from clusterra.local.running import Running, SlurmAddress, running
from clusterra.local.state import State, open_state, write
from clusterra.serve import serve as run_server
from clusterra.settings import ClusterSettings, ServerSettings, Settings, load

SEEN_WITHIN = 15
"""Seconds a detached server is given to see its Slurm before we say that it has not."""

STARTED_WITHIN = 30


@click.command()
@click.option("--slurm", metavar="URL", help="Address of the slurmrestd, as http://head:6820.")
@click.option(
    "--jwt-key",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Slurm's HS256 key, a copy of the controller's jwt_hs256.key.",
)
@click.option("--name", default="", help="What people call the cluster.")
@click.option("--user", default="", help="Linux user to submit as. [default: you]")
@click.option("--service-user", default="root", show_default=True, help="Slurm user to observe as.")
@click.option("--account", default="", help="Slurm account to put people into.")
@click.option(
    "--settings",
    "file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A settings file instead, for several clusters; see docs/reference/settings.md.",
)
@click.option(
    "--state",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where the database and the token are kept. [CLUSTERRA_STATE]",
)
@click.option("--host", default=None, help="Address to listen on. [default: 127.0.0.1]")
@click.option("--port", type=int, default=None, help="Port; 0 takes a free one. [default: 8420]")
@click.option("--detach", is_flag=True, help="Run in the background.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object when it is up.")
@pass_session
def serve(session: Session, /, **said: Any) -> None:
    """Run Clusterra in front of a Slurm you have. Nothing is installed on it."""
    del session
    settings, state = _settings(**said)
    if said["detach"]:
        _detach(state, as_json=said["as_json"])
        return
    # `clusterra up` tells its own story; this one is told by whoever started us by hand.
    embedded = any(each.embedded for each in settings.clusters)
    if not embedded:
        if (other := running(state)) is not None:
            raise Refused(
                f"A Clusterra runs from {state.path} already, as process {other.pid}.",
                hint="Stop it with `clusterra down`, or choose another --state.",
                code="state-in-use",
            )
        _ensure_token(state)

    def ready(port: int) -> None:
        if not embedded:
            address = _publish(settings, state, port)
            if said["as_json"]:
                click.echo(msgspec.json.encode(address.announcement()))
            else:
                say(f"Clusterra answers at {address.url}   (token: {address.token_file})")

    try:
        run_server(settings, ready=ready)
    finally:
        if not embedded:
            state.run.unlink(missing_ok=True)


def _settings(
    *,
    file: Path | None,
    slurm: str | None,
    jwt_key: Path | None,
    state: Path | None,
    host: str | None,
    port: int | None,
    name: str,
    user: str,
    service_user: str,
    account: str,
    **_: object,
) -> tuple[Settings, State]:
    if (file is None) == (slurm is None):
        raise Invalid(
            "Say which Slurm: its address, or a settings file.",
            hint="clusterra serve --slurm http://head:6820 --jwt-key jwt_hs256.key",
        )
    settings = load(file, os.environ)
    where = state or (settings.server.state if file else default_state(os.environ))
    if slurm is not None:
        if jwt_key is None:
            raise Invalid(
                "Slurm's JWT key is missing.",
                hint="Copy jwt_hs256.key from the slurmctld host and name it with --jwt-key.",
            )
        opened, identity = open_state(where)
        cluster = ClusterSettings(
            id=identity.id,
            name=name,
            slurm=slurm,
            jwt_key=jwt_key.absolute(),
            user=user or getpass.getuser(),
            service_user=service_user,
            account=account,
        )
        settings = replace(settings, clusters=(cluster,))
    else:
        opened = State(path=where.absolute())
    server: ServerSettings = replace(settings.server, state=opened.path)
    if host is not None:
        server = replace(server, host=host)
    if port is not None:
        server = replace(server, port=port)
    return replace(settings, server=server), opened


def _ensure_token(state: State) -> None:
    if not state.token.exists():
        write(state.token, secrets.token_urlsafe(32).encode() + b"\n", mode=0o600)


def _publish(settings: Settings, state: State, port: int) -> Running:
    """Leave our address where the terminal looks for it."""
    myself = process(os.getpid())
    assert myself is not None
    first = settings.clusters[0] if settings.clusters else None
    address = Running(
        url=f"http://{settings.server.host}:{port}",
        token_file=str(state.token),
        cluster=first.id if first and len(settings.clusters) == 1 else "",
        state=str(state.path),
        pid=myself.pid,
        started=myself.started,
        slurm=SlurmAddress(version="", api_version="", url=first.slurm if first else ""),
    )
    write(state.run, msgspec.json.encode(address))
    return address


def _detach(state: State, *, as_json: bool) -> None:
    arguments = [each for each in sys.argv[1:] if each not in {"--detach", "--json"}]
    state.path.mkdir(parents=True, exist_ok=True)
    with (state.path / "serve.log").open("ab") as log:
        child = subprocess.Popen(
            [sys.executable, "-m", "clusterra", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    give_up = time.monotonic() + STARTED_WITHIN
    while (up := running(state)) is None or up.pid != child.pid:
        if child.poll() is not None:
            lines = (state.path / "serve.log").read_text(errors="replace").splitlines()[-2:]
            raise Refused("\n".join(lines) or "The server stopped at once.", code="not-started")
        if time.monotonic() > give_up:
            child.terminate()
            raise Unreachable(
                f"The server was not up after {STARTED_WITHIN} s.",
                hint=f"See {state.path / 'serve.log'}.",
            )
        time.sleep(0.02)
    up = _seen(up)
    if as_json:
        click.echo(msgspec.json.encode(up.announcement()))
        return
    say(f"Clusterra answers at {up.url}   (token: {up.token_file})")
    say("Stop it with: clusterra down")


def _seen(up: Running) -> Running:
    """Wait a moment for Slurm to be seen, so that we can say which one it is."""
    if not up.cluster:
        return up
    client = Client(Connection(up.url, token=read_token(Path(up.token_file))))
    give_up = time.monotonic() + SEEN_WITHIN
    while (view := client.cluster(up.cluster)).slurm is None:
        if time.monotonic() > give_up:
            say(f"Slurm has not been seen yet: {view.why}")
            say(f"Ask what is missing: clusterra doctor --slurm {up.slurm.url}")
            return up
        time.sleep(0.05)
    address = replace(up.slurm, version=view.slurm.version, api_version=view.slurm.api_version)
    return replace(up, slurm=address)
