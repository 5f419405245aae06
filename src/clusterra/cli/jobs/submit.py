"""`clusterra jobs submit`: hand a script to Slurm, and wait for it if asked to."""

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from clusterra.cli.jobs.asking import asking_options, submission
from clusterra.cli.jobs.follow import wait_for
from clusterra.cli.jobs.following import following, following_options
from clusterra.cli.options import json_option, pass_session, server_options
from clusterra.cli.screen import say, tame
from clusterra.cli.session import Session
from clusterra.client.client import new_key
from clusterra.client.connection import NoServer
from clusterra.core.errors import Invalid, Unreachable
from clusterra.wire.jobs import JobAccepted, SubmitJob

_NAMED = re.compile(r"^#SBATCH\s+(.*\s)?(-J|--job-name)\b", re.MULTILINE)
_AGAIN_AFTER = 1.0  # seconds; a control plane that is restarted is back within about one


@click.command()
@server_options
@click.argument(
    "script", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
)
@asking_options
@following_options
@click.option("--wait", is_flag=True, help="Wait for its end, show its output, exit with its code.")
@click.option("--dry-run", is_flag=True, help="Only say what it would cost, and submit nothing.")
@json_option
@pass_session
def submit(
    session: Session,
    /,
    *,
    script: Path,
    key: str | None,
    retry: int | None,
    scripts: tuple[Path, ...],
    notify: tuple[str, ...],
    wait: bool,
    dry_run: bool,
    as_json: bool,
    **asked: Any,
) -> None:
    """Submit SCRIPT, or what comes on standard input for `-`.

    Its #SBATCH lines are read; options given here win over them.

    \b
      clusterra jobs submit align.sh --retry 2
      clusterra jobs submit align.sh --then report.sh --notify slack
    """
    if dry_run and wait:
        raise click.UsageError("--dry-run submits nothing, so there is nothing to --wait for.")
    text = _read(script)
    if not asked["name"] and str(script) != "-" and not _NAMED.search(text):
        asked["name"] = script.stem
    if str(script) != "-":
        asked["script_name"] = script.name
    asked["then"] = following(session, retry=retry, scripts=scripts, notify=notify, read=_read)
    if dry_run:
        rehearse(session, submission(text, asked), as_json=as_json)
        return
    hand_over(session, submission(text, asked), key=key, wait=wait, as_json=as_json)


def hand_over(
    session: Session,
    job: SubmitJob | Mapping[str, Any],
    *,
    key: str | None,
    wait: bool,
    as_json: bool,
    aside: bool = False,
) -> None:
    """Submit, say so, and wait if asked to; `aside` leaves stdout to the job's own output."""
    cluster = session.cluster_id()
    accepted = send(session, cluster, job, key or new_key())
    if as_json and not wait:
        session.say_answer()
        return
    aside = aside or as_json
    say(f"Job {accepted.job_id} submitted as {tame(accepted.user)}", error=aside)
    for warning in accepted.warnings:
        say(f"  Note: {tame(warning)}", error=aside)
    if accepted.next_at:
        say(
            f"  Again at {accepted.next_at:%Y-%m-%d %H:%M} UTC ({accepted.schedule_id})",
            error=aside,
        )
    if not wait:
        held = job.hold if isinstance(job, SubmitJob) else job.get("job", job).get("hold")
        words, verb = ("Let it start", "release") if held else ("Watch it", "watch")
        say(f"{words}:  clusterra jobs {verb} {accepted.job_id}", error=aside)
        return
    job_id = str(accepted.job_id)
    code = wait_for(session, cluster, job_id, fresh=True, aside=aside, as_json=as_json)
    click.get_current_context().exit(code)


def rehearse(session: Session, job: SubmitJob, *, as_json: bool) -> None:
    """Say what it would come to, and submit nothing."""
    # Imported by who asks: other submissions should not wait for it.
    from clusterra.cli.jobs.outlook import told  # noqa: PLC0415

    found = session.client.estimate(session.cluster_id(), job)
    if as_json:
        session.say_answer()
        return
    for line in told(found, session.screen, session.watch.now()):
        say(line)


def send(
    session: Session, cluster: str, job: SubmitJob | Mapping[str, Any], key: str
) -> JobAccepted:
    """Submit; when the answer is lost, ask once more under the same key."""
    try:
        return session.client.submit(cluster, job, key=key)
    except NoServer:
        raise
    except Unreachable:
        session.watch.wait(_AGAIN_AFTER)
        return session.client.submit(cluster, job, key=key)


def _read(script: Path) -> str:
    stdin = str(script) == "-"
    raw = sys.stdin.buffer.read() if stdin else script.read_bytes()
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        name = "What came on standard input" if stdin else str(script)
        raise Invalid(
            f"{name} is not a script: byte {error.start + 1} is not text.",
            hint="Submit a text file that begins with a line such as #!/bin/bash.",
            at="script",
        ) from None
