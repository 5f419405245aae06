"""`clusterra collect`: bring what Slurm's hooks wrote down to the server."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import click
import msgspec

from clusterra.agent.collect import Collector, Happened, read_key
from clusterra.agent.notice import Notice
from clusterra.agent.spool import Spool
from clusterra.cli.amounts import utc_now
from clusterra.cli.options import pass_session
from clusterra.cli.screen import say, tame
from clusterra.cli.session import Session
from clusterra.core.errors import Invalid
from clusterra.core.words import count

_PATH = click.Path(path_type=Path)


@click.command()
@click.option(
    "--spool",
    type=_PATH,
    required=True,
    metavar="DIR",
    help="Directory that the hooks write into.",
)
@click.option("--url", metavar="URL", help="Address of the server. [CLUSTERRA_URL]")
@click.option("--cluster", metavar="ID", help="Whose hooks these are. [CLUSTERRA_CLUSTER]")
@click.option(
    "--key-file",
    type=_PATH,
    metavar="FILE",
    help="The cluster's key, keys/<cluster>.key in the server's state directory.",
)
@click.option("--install", is_flag=True, help="Put the hook into DIR, say what to do, and end.")
@click.option("--once", is_flag=True, help="Send what there is, and end.")
@click.option("--ready-file", type=_PATH, metavar="FILE", help="Write this file once it watches.")
@click.option("--json", "as_json", is_flag=True, help="Print what happens as JSON lines.")
@pass_session
def collect(
    session: Session,
    *,
    spool: Path,
    url: str | None,
    cluster: str | None,
    key_file: Path | None,
    install: bool,
    once: bool,
    ready_file: Path | None,
    as_json: bool,
) -> None:
    """Bring what Slurm's hooks wrote down to the server, and keep it until it is there."""
    opened = Spool(spool.absolute())
    opened.open()
    if install:
        _say_installed(opened.install())
        return
    url = url or session.url or session.environ.get("CLUSTERRA_URL")
    cluster = cluster or session.cluster or session.environ.get("CLUSTERRA_CLUSTER")
    collector = Collector(
        spool=opened,
        url=_needed(url, "--url"),
        cluster=_needed(cluster, "--cluster"),
        key_file=Path(_needed(key_file, "--key-file")).absolute(),
        tell=_telling(as_json=as_json, quiet=once),
    )
    if once:
        read_key(collector.key_file)
        collector.round()
        _conclude(collector, as_json=as_json)
    else:
        _collect(collector, ready_file)


def _collect(collector: Collector, ready_file: Path | None) -> None:
    with Notice(collector.spool.new, stop=_asked_to_stop()) as notice:
        if ready_file is not None:
            ready_file.write_text(f"{os.getpid()}\n")
        try:
            collector.run(notice)
        finally:
            collector.close()
            if ready_file is not None:
                ready_file.unlink(missing_ok=True)


def _asked_to_stop() -> int:
    """Return a descriptor that becomes readable when SIGTERM or SIGINT comes."""
    reading, writing = os.pipe()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: os.write(writing, b"."))
    return reading


def _needed(value: str | Path | None, option: str) -> str:
    if not value:
        raise Invalid(
            f"{option} is missing.",
            hint="clusterra collect --spool DIR --url URL --cluster ID --key-file FILE",
            at=option,
        )
    return str(value)


def _telling(*, as_json: bool, quiet: bool) -> Callable[[Happened], None]:
    def as_line(happened: Happened) -> None:
        click.echo(msgspec.json.encode(happened))

    def as_sentence(happened: Happened) -> None:
        if sentence := _sentence(happened):
            say(f"{utc_now():%Y-%m-%dT%H:%M:%SZ} {tame(sentence)}", error=True)

    def nothing(_: Happened) -> None:
        return

    return as_line if as_json and not quiet else nothing if as_json else as_sentence


def _sentence(happened: Happened) -> str:
    match happened.what:
        case "refused":
            return f"put aside for good: {happened.why}"
        case "waiting":
            return f"{happened.why} Trying again in {happened.seconds:.1f} s."
        case "back":
            return "The server takes facts again."
        case "gap":
            return f"{count(happened.facts, 'fact')} could not be kept by hooks; said so."
    return ""  # that all is well need not be said


def _conclude(collector: Collector, *, as_json: bool) -> None:
    collector.close()
    if as_json:
        click.echo(
            msgspec.json.encode({"shipped": collector.shipped, "refused": collector.refused})
        )
    else:
        aside = f", {collector.refused} put aside" if collector.refused else ""
        say(f"{count(collector.shipped, 'fact')} shipped{aside}.")
    if collector.refused:
        sys.exit(1)


def _say_installed(hook: Path) -> None:
    say(f"The hook is {hook}. Let Slurm's user write to {hook.parent}, and add to slurm.conf:")
    say(f"  PrologSlurmctld={hook}")
    say("  JobCompType=jobcomp/script")
    say(f"  JobCompLoc={hook}")
    say("Then `scontrol reconfigure`, and start the collector; docs/guides/hooks.md says more.")
