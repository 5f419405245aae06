"""`clusterra files put`: send files to where jobs see them."""

from pathlib import Path

import click

from clusterra.cli.files.naming import below, is_folder, remote, spelled
from clusterra.cli.files.sending import Sending
from clusterra.cli.options import json_option, pass_session, server_options
from clusterra.cli.screen import say, tame
from clusterra.cli.session import Session
from clusterra.core.errors import Invalid
from clusterra.wire.files import FilePlace


@click.command("put")
@server_options
@click.argument("sources", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.argument("target")
@click.option("-r", "--recursive", is_flag=True, help="Send directories with all below them.")
@click.option("--parallel", default=4, type=click.IntRange(1, 16), help="Parts sent at once.")
@json_option
@pass_session
def put_files(
    session: Session,
    /,
    *,
    sources: tuple[Path, ...],
    target: str,
    recursive: bool,
    parallel: int,
    as_json: bool,
) -> None:
    """Send SOURCES to TARGET, as data/run7/; what is there under that name is replaced.

    \b
      clusterra files put reads.fq data/run7/
      clusterra files put -r run7 data/
    """
    place = remote(target)
    pairs = [
        pair
        for source in sources
        for pair in _pairs(source, place, recursive=recursive, several=len(sources) > 1)
    ]
    with Sending(
        session=session,
        cluster=session.cluster_id(),
        parallel=parallel,
        screen=session.screen_for(aside=True),
        quiet=as_json,
    ) as sending:
        for file, where in pairs:
            sending.send(file, where)
    if as_json:
        session.say_answer()
    elif len(pairs) > 1:
        say(f"{len(pairs)} files sent · see them: clusterra files ls {tame(target)}")
    else:
        say(f"Jobs find it at $CLUSTERRA_FILES/{tame(spelled(pairs[0][1]))}")


def _pairs(
    source: Path, target: FilePlace, *, recursive: bool, several: bool
) -> list[tuple[Path, FilePlace]]:
    """Return which file goes where."""
    if not source.is_dir():
        into = several or is_folder(target)
        return [(source, below(target, source.name) if into else target)]
    if not recursive:
        raise Invalid(
            f"{source} is a directory.", hint="Send all that is in it with -r.", at="sources"
        )
    into_it = below(target, source.resolve().name) if is_folder(target) or several else target
    found = [
        (each, below(into_it, each.relative_to(source).as_posix()))
        for each in sorted(source.rglob("*"))
        if each.is_file() and not each.is_symlink()
    ]
    if not found:
        raise Invalid(f"There is no file in {source}.", hint="Name another directory.")
    return found
