"""`clusterra files rm`, `cp` and `mv`: nothing is sent or fetched for these."""

import click

from clusterra.cli.agree import agreed
from clusterra.cli.files.naming import below, is_folder, remote, spelled
from clusterra.cli.options import json_option, pass_session, server_options
from clusterra.cli.screen import say, tame
from clusterra.cli.session import Session
from clusterra.core.errors import Invalid, NotFound
from clusterra.core.words import count
from clusterra.wire.files import FilePlace


@click.command("rm")
@server_options
@click.argument("names", nargs=-1, required=True)
@click.option("-r", "--recursive", is_flag=True, help="Delete folders with all below them.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@pass_session
def remove_files(
    session: Session, /, *, names: tuple[str, ...], recursive: bool, yes: bool, as_json: bool
) -> None:
    """Delete NAMES, as data/run7/reads.fq. There is no way back."""
    cluster, files = session.cluster_id(), session.client.files
    places = [place for name in names for place in _meant(session, name, recursive=recursive)]
    many = count(len(places), "file")
    if (
        recursive
        and not yes
        and not agreed(
            session,
            f"{many} below {', '.join(tame(name) for name in names)} would be deleted.",
            ask=f"Delete {many}?",
            nothing="Nothing was deleted.",
        )
    ):
        return
    for place in places:
        files.delete(cluster, place)
        if as_json:
            session.say_answer()
        else:
            say(f"{tame(spelled(place))} is deleted.")


def _meant(session: Session, name: str, *, recursive: bool) -> list[FilePlace]:
    place = remote(name)
    if not recursive:
        if is_folder(place):
            raise Invalid(f"{name} is a folder.", hint="Delete all that is in it with -r.")
        return [place]
    found = session.client.files.below(session.cluster_id(), place)
    places = [FilePlace(location=place.location, path=each.path) for each in found]
    if not places:
        raise NotFound(f"There is no file below {name}.", hint="clusterra files ls shows them.")
    return places


@click.command("cp")
@server_options
@click.argument("source")
@click.argument("target")
@click.option("--version", default="", help="Copy an earlier version of a script.")
@json_option
@pass_session
def copy_file(
    session: Session, /, *, source: str, target: str, version: str, as_json: bool
) -> None:
    """Copy SOURCE to TARGET, both there: data/x, shared/ref/hg38.fa."""
    old, new = _two(source, target)
    old = FilePlace(location=old.location, path=old.path, version=version)
    session.client.files.copy(session.cluster_id(), old, new)
    _told(session, f"{tame(source)} is copied to {tame(spelled(new))}.", as_json=as_json)


@click.command("mv")
@server_options
@click.argument("source")
@click.argument("target")
@json_option
@pass_session
def move_file(session: Session, /, *, source: str, target: str, as_json: bool) -> None:
    """Move SOURCE to TARGET, both there; what is at TARGET is replaced."""
    old, new = _two(source, target)
    session.client.files.move(session.cluster_id(), old, new)
    _told(session, f"{tame(source)} is now {tame(spelled(new))}.", as_json=as_json)


def _two(source: str, target: str) -> tuple[FilePlace, FilePlace]:
    old, new = remote(source), remote(target)
    if is_folder(new):
        new = below(new, old.path.rpartition("/")[2])
    return old, new


def _told(session: Session, text: str, *, as_json: bool) -> None:
    if as_json:
        session.say_answer()
    else:
        say(text)
