"""`clusterra up`, `down`, `status`, `doctor`, `rootfs`: a Slurm of one's own on this machine."""

import os
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from clusterra.agent.spool import hook_script
from clusterra.cli.amounts import duration, utc_now
from clusterra.cli.screen import Screen, say, screen_of
from clusterra.cli.telling import Telling
from clusterra.client.client import Client
from clusterra.client.connection import Connection
from clusterra.client.find import default_state, read_token
from clusterra.core.errors import ClusterraError, Invalid, NotFound
from clusterra.core.people.email import read_email
from clusterra.local.detach import detach as leave_running
from clusterra.local.doctor import Finding, this_machine
from clusterra.local.rootfs import SUITES, cache_directory, export, obtain
from clusterra.local.running import Running, running
from clusterra.local.start import Wishes, prepare, take
from clusterra.local.state import Oidc, State, is_locked, open_state
from clusterra.local.stop import stop
from clusterra.local.supervisor import Supervisor
from clusterra.local.tell import Teller

F = TypeVar("F", bound=Callable[..., Any])
_PATH = click.Path(path_type=Path)

NOT_RUNNING = 5


def _common(function: F) -> F:
    for option in (
        click.option("--no-color", is_flag=True, help="Print without colour. [NO_COLOR]"),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
        click.option(
            "--state",
            type=_PATH,
            metavar="DIR",
            help="Directory of the cluster. [CLUSTERRA_STATE]",
        ),
    ):
        function = option(function)
    return function


def _suite_options(function: F) -> F:
    for option in (
        click.option(
            "--rootfs",
            type=_PATH,
            metavar="FILE|DIR",
            help="A root file system built elsewhere, for machines without a Debian mirror.",
        ),
        click.option(
            "--suite",
            type=click.Choice(SUITES),
            help="Debian release to take Slurm from: forky has 26.05, trixie 24.11.",
        ),
    ):
        function = option(function)
    return function


def _oidc_options(function: F) -> F:
    for option in (
        click.option("--no-oidc", is_flag=True, help="Sign people in by one-time links again."),
        click.option(
            "--oidc-domain",
            multiple=True,
            metavar="DOMAIN",
            help="Everybody with such an e-mail is a member; otherwise people are invited.",
        ),
        click.option(
            "--oidc-client-secret-file",
            type=_PATH,
            metavar="FILE",
            help="File with the secret that goes with it.",
        ),
        click.option("--oidc-client-id", metavar="ID", help="What it calls this server."),
        click.option(
            "--oidc", metavar="ISSUER", help="Sign people in by this OpenID Connect provider."
        ),
    ):
        function = option(function)
    return function


@click.command()
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="Port of the control plane; 0 takes a free one. [default: 8420, then the last one]",
)
@click.option(
    "--workers",
    type=click.IntRange(0, 64),
    help="Run always so many workers, sharing this machine. [default: as many as jobs need]",
)
@click.option(
    "--no-agent",
    is_flag=True,
    help="Start no workers here: an agent elsewhere does, with the `agent_key` of --json.",
)
@click.option("--detach", is_flag=True, help="Return when it is up and leave it running.")
@click.option(
    "--no-hooks", is_flag=True, help="Have Slurm tell us nothing; what happens is only observed."
)
@click.option(
    "--owner",
    default="",
    metavar="EMAIL",
    help="Who owns it: the first admin. [default: you, at localhost; then the last one]",
)
@_oidc_options
@_suite_options
@_common
def up(
    *,
    state: Path | None,
    port: int | None,
    workers: int | None,
    no_agent: bool,
    detach: bool,
    no_hooks: bool,
    owner: str,
    suite: str | None,
    rootfs: Path | None,
    as_json: bool,
    no_color: bool,
    **oidc: Any,
) -> None:
    """Run Slurm and Clusterra on this machine; jobs and history are kept from start to start."""
    directory = state or default_state(os.environ)
    cluster, identity = open_state(directory)
    teller = _telling(state, as_json=as_json, no_color=no_color, detached=detach)
    lock = take(cluster, teller)
    if lock is None:
        _already_up(cluster, as_json=as_json)
        return
    wishes = Wishes(
        port=port,
        workers=workers,
        agent=not no_agent,
        suite=suite,
        rootfs=rootfs,
        hook=None if no_hooks else hook_script(),
        owner=read_email(owner, at="--owner") if owner else "",
        oidc=_oidc(**oidc),
        no_oidc=oidc["no_oidc"],
    )
    with ExitStack() as claims:
        ready = prepare(cluster, identity, wishes, environ=os.environ, teller=teller, claims=claims)

        def supervise(told: Teller) -> None:
            Supervisor(
                state=cluster, plan=ready.plan, running=ready.running, teller=told, lock=lock
            ).run()

        if detach:
            _leave_running(supervise, cluster, teller)
        else:
            supervise(teller)


def _leave_running(supervise: Callable[[Teller], None], cluster: State, teller: Teller) -> None:
    plain = Screen(live=False, colour=False)
    here = leave_running(
        supervise,
        log=cluster.up_log,
        log_teller=lambda: Telling(screen=plain, quiet_banner=True, stamp=utc_now),
        teller=teller,
    )
    teller.up(here)


@click.command()
@_common
def down(*, state: Path | None, as_json: bool, no_color: bool) -> None:
    """Stop the cluster in order and wait until nothing of it is left. Everything is kept."""
    del no_color
    cluster = State(path=(state or default_state(os.environ)).absolute())
    seconds = stop(cluster)
    if as_json:
        _print_json({"stopped": seconds is not None, "seconds": seconds, "state": cluster.path})
    elif seconds is None:
        say(f"Nothing runs from {cluster.path}.")
    else:
        say(f"Stopped in {seconds:.1f} s. Everything is kept; `clusterra up` brings it back.")


@click.command()
@_common
def status(*, state: Path | None, as_json: bool, no_color: bool) -> None:
    """What is running, and where. Exits with 5 if nothing is."""
    cluster = State(path=(state or default_state(os.environ)).absolute())
    found = running(cluster)
    if as_json:
        _print_json({"running": found is not None, **(_details(found) if found else {})})
    elif found is not None:
        screen = screen_of(sys.stdout, os.environ, no_colour=no_color)
        for line in _status_lines(found, screen):
            say(line)
    elif is_locked(cluster):
        say(f"The cluster in {cluster.path} is starting or stopping.")
    else:
        say(f"Nothing runs from {cluster.path}.")
        say("Start it with: clusterra up")
    if found is None:
        sys.exit(NOT_RUNNING)


@click.command()
@click.option("--slurm", metavar="URL", help="Look at this slurmrestd instead of this machine.")
@click.option("--jwt-key", type=_PATH, metavar="FILE", help="Its key, jwt_hs256.key.")
@click.option("--user", default="", help="Linux user to ask as. [default: you]")
@_common
def doctor(
    *,
    slurm: str | None,
    jwt_key: Path | None,
    user: str,
    state: Path | None,
    as_json: bool,
    no_color: bool,
) -> None:
    """What is missing, here or at a Slurm you have, each with the line that fixes it."""
    if slurm is not None:
        # Needs the libraries of the server, and `doctor` is what says that they are missing.
        from clusterra.local.doctor_slurm import that_slurm  # noqa: PLC0415

        findings = that_slurm(slurm, jwt_key=jwt_key, user=user)
    else:
        directory = (state or default_state(os.environ)).absolute()
        findings = this_machine(State(path=directory), cache_directory(os.environ))
    well = all(each.ok for each in findings)
    if as_json:
        _print_json({"ok": well, "checks": [msgspec.to_builtins(each) for each in findings]})
    else:
        screen = screen_of(sys.stdout, os.environ, no_colour=no_color)
        for finding in findings:
            _say_finding(finding, screen)
    sys.exit(0 if well else 3)


@click.command()
@click.option(
    "--output",
    type=_PATH,
    metavar="FILE",
    help="Pack it into this file (.tar, .tar.gz, .tar.xz, .tar.zst), for `up --rootfs FILE`.",
)
@_suite_options
@_common
def rootfs(
    *,
    output: Path | None,
    suite: str | None,
    rootfs: Path | None,
    state: Path | None,
    as_json: bool,
    no_color: bool,
) -> None:
    """The Slurm that `up` runs: build it if need be, say where it is, pack it for elsewhere."""
    teller = _telling(state, as_json=as_json, no_color=no_color, detached=False)
    found = obtain(cache_directory(os.environ), suite=suite, given=rootfs, teller=teller)
    if output is not None:
        begun = time.monotonic()
        export(found.path, output)
        teller.done(f"packed into {output}", time.monotonic() - begun)
    if as_json:
        _print_json(
            {
                "path": found.path,
                "slurm": found.slurm,
                "api_version": found.api_version,
                "output": output,
            }
        )
    else:
        say(f"Slurm {found.slurm} · API {found.api_version} · {found.path}")
        if output is not None:
            say(f"On the other machine:  clusterra up --rootfs {output.name}")


def _oidc(
    *,
    oidc: str | None,
    oidc_client_id: str | None,
    oidc_client_secret_file: Path | None,
    oidc_domain: tuple[str, ...],
    no_oidc: bool,
) -> Oidc | None:
    if oidc is None:
        if oidc_client_id or oidc_client_secret_file or oidc_domain:
            raise Invalid(
                "Which identity provider is meant is missing.",
                hint="Name it with --oidc ISSUER, as https://accounts.google.com.",
            )
        return None
    if no_oidc or not oidc_client_id:
        raise Invalid(
            "--oidc and --no-oidc contradict each other."
            if no_oidc
            else f"What {oidc} calls this server is missing.",
            hint="Say --oidc-client-id ID, and --oidc-client-secret-file FILE if it has a secret; "
            "docs/guides/sign-in.md shows where to get them.",
        )
    secret = oidc_client_secret_file
    return Oidc(
        issuer=oidc,
        client_id=oidc_client_id,
        client_secret_file=str(secret.absolute()) if secret else "",
        domains=tuple(domain.lower().removeprefix("@") for domain in oidc_domain),
    )


def _sign_in_url(here: Running) -> str:
    """Return where the owner signs in: a link that is good once, unless a provider asks them."""
    connection = Connection(here.url, token=read_token(Path(here.token_file)))
    with Client(connection) as client:
        try:
            return client.people.link().url
        except NotFound:
            return here.url
        except ClusterraError:
            return ""  # it is up all the same; `clusterra people link` says what is wrong


def _agent_key(here: Running) -> dict[str, str]:
    """Return the key for an agent that is started elsewhere, where one is to be."""
    return {"agent_key": read_token(Path(here.agent_key_file))} if here.agent_key_file else {}


def _for_programs(here: Running) -> dict[str, str]:
    return {"sign_in_url": _sign_in_url(here), **_agent_key(here)}


def _telling(state: Path | None, *, as_json: bool, no_color: bool, detached: bool) -> Telling:
    stream = sys.stderr if as_json else sys.stdout
    return Telling(
        screen=screen_of(stream, os.environ, no_colour=no_color),
        as_json=as_json,
        detached=detached,
        state_option=f" --state {state}" if state else "",
        sign_in_url=_sign_in_url,
        for_programs=_for_programs,
    )


def _already_up(cluster: State, *, as_json: bool) -> None:
    found = running(cluster)
    assert found is not None
    if as_json:
        _print_json({**found.announcement(), **_agent_key(found)})
        return
    say(f"Clusterra is up already    {found.url}    (pid {found.pid})")
    say("See what runs with `clusterra status`; stop it with `clusterra down`.")
    say("Sign in with a link from `clusterra people link`.")


def _details(found: Running) -> dict[str, object]:
    return {**found.announcement(), "daemons": msgspec.to_builtins(found.daemons)}


def _status_lines(found: Running, screen: Screen) -> list[str]:
    now = utc_now()
    title = screen.paint("Clusterra is up", bold=True)
    slurm = f"Slurm {found.slurm.version} at {found.slurm.url}"
    lines = [
        f"{title}    {found.url}    (pid {found.pid})",
        f"cluster {found.cluster} · {slurm} · kept in {found.state}",
    ]
    for each in found.daemons:
        mark = screen.paint("✓", "green") if each.ready else screen.paint("◌", "yellow")
        age = duration(now - datetime.fromtimestamp(each.since, UTC))
        again = f" · restarted {each.restarts}×" if each.restarts else ""
        lines.append(f" {mark} {each.name:14} pid {each.pid:<8} up {age:8}{again}  {each.log}")
    return lines


def _say_finding(finding: Finding, screen: Screen) -> None:
    mark = screen.paint("✓", "green") if finding.ok else screen.paint("✗", "red")
    say(f" {mark} {finding.what}: {finding.found}")
    if not finding.ok:
        for line in finding.fix.splitlines():
            say(f"     {line}")


def _print_json(value: object) -> None:
    click.echo(msgspec.json.encode(value, enc_hook=str))
