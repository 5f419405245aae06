"""`clusterra jobs artifacts`: what a job left behind, and fetching it."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import click

from clusterra.cli.amounts import file_size
from clusterra.cli.jobs.naming import complete
from clusterra.cli.options import json_option, pass_session, server_options
from clusterra.cli.screen import say, tame
from clusterra.cli.session import Session
from clusterra.cli.table import Cell, Column, table
from clusterra.core.errors import Conflict
from clusterra.core.words import count
from clusterra.wire.files import ArtifactPage, ArtifactView, FilePlace

COLUMNS = (
    Column("KEY", name=True),
    Column("FILE", name=True),
    Column("SIZE", right=True),
    Column("SHA256"),
    Column("WHERE", name=True),
    Column("", note=True),
)


@click.command("artifacts")
@server_options
@click.argument("job_id", metavar="JOB", shell_complete=complete)
@click.option(
    "--get",
    "into",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Fetch them all into this directory, and check them.",
)
@json_option
@pass_session
def artifacts(session: Session, *, job_id: str, into: Path | None, as_json: bool) -> None:
    """List what JOB declared and left behind.

    \b
      clusterra jobs artifacts 41
      clusterra jobs artifacts 41 --get results
    """
    page = session.client.files.artifacts(session.cluster_id(), job_id)
    if as_json:
        session.say_answer()
    if into is not None:
        _fetch(session, job_id, page, into, quiet=as_json)
        return
    if as_json:
        return
    if not page.artifacts:
        say(f"Job {tame(job_id)} has left nothing behind that it declared.")
        say(f"  What it wrote:  clusterra jobs logs {tame(job_id)}")
        return
    for line in table(COLUMNS, [_row(each) for each in page.artifacts], session.screen):
        say(line)
    say(f"{_sum(page)} · fetch all: clusterra jobs artifacts {tame(job_id)} --get DIR")


def _row(each: ArtifactView) -> list[str | Cell]:
    where = f"{each.location}/{each.path}" if each.kept else Cell("being kept", "yellow")
    return [
        each.key,
        each.name,
        file_size(each.size),
        Cell(each.sha256[:12], faint=True),
        Cell("not kept", "red") if each.why_not else where,
        each.why_not,
    ]


def _sum(page: ArtifactPage) -> str:
    size = file_size(sum(each.size for each in page.artifacts))
    return f"{count(page.total, 'file')}, {size}"


def _fetch(session: Session, job: str, page: ArtifactPage, into: Path, *, quiet: bool) -> None:
    # Brings threads and checksums, which nobody else waits for.
    from clusterra.cli.files.get import Fetching  # noqa: PLC0415

    if not page.complete:
        raise Conflict(
            f"What job {job} left behind is not all kept yet.",
            hint="Ask again in a moment.",
            code="artifacts-incomplete",
        )
    with Fetching(session, screen=session.screen_for(aside=True), quiet=quiet) as fetching:
        for each in page.artifacts:
            if each.kept:
                target = into.joinpath(*_inside(each.name))
                target.parent.mkdir(parents=True, exist_ok=True)
                fetching.file(FilePlace(location=each.location, path=each.path), target)


def _inside(name: str) -> tuple[str, ...]:
    """Return the parts of a name that lead nowhere else, whatever a server says."""
    return tuple(part for part in PurePosixPath(name).parts if part not in ("/", ".."))


def told(session: Session, cluster: str, job: str) -> Iterator[str]:
    """Say in a line what a job left behind; nothing if it left nothing."""
    page = session.client.files.artifacts(cluster, job)
    if page.artifacts:
        names = ", ".join(tame(each.name) for each in page.artifacts[:3])
        more = f" and {page.total - 3} more" if page.total > 3 else ""
        yield f"  left {names}{more} · clusterra jobs artifacts {job} --get DIR"
