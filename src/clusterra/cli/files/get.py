"""`clusterra files get`: fetch files, and be sure that they are what they were."""

import hashlib
from pathlib import Path
from typing import Self

import click

from clusterra.cli.files.bar import Bar
from clusterra.cli.files.naming import below, is_folder, remote, spelled
from clusterra.cli.options import json_option, pass_session, server_options
from clusterra.cli.screen import Screen, say, tame
from clusterra.cli.session import Session
from clusterra.client.transfer import Arriving, Courier, Link
from clusterra.core.errors import ClusterraError, Invalid, NotFound, Unreachable
from clusterra.core.words import count
from clusterra.wire.files import AskForLink, FilePlace, LinkView

TRIES = 4


@click.command("get")
@server_options
@click.argument("source")
@click.argument("target", required=False, type=click.Path(path_type=Path))
@click.option("-r", "--recursive", is_flag=True, help="Fetch a folder with all below it.")
@click.option("--version", default="", help="An earlier version of a script.")
@json_option
@pass_session
def get_files(
    session: Session,
    /,
    *,
    source: str,
    target: Path | None,
    recursive: bool,
    version: str,
    as_json: bool,
) -> None:
    """Fetch SOURCE, as outputs/run7/result.bam, to TARGET: a file, or a directory it goes into.

    \b
      clusterra files get outputs/run7/result.bam
      clusterra files get -r outputs/run7 .
    """
    place = remote(source)
    with Fetching(session, screen=session.screen_for(aside=True), quiet=as_json) as fetching:
        if recursive:
            into = _directory(place, target)
            told = f"{count(fetching.folder(place, into), 'file')} in {tame(str(into))}"
        else:
            told = ""
            fetching.file(place, _file(place, target), version)
    if as_json:
        session.say_answer()
    elif told:
        say(told)


def _file(place: FilePlace, target: Path | None) -> Path:
    if is_folder(place):
        raise Invalid(
            f"{spelled(place)} is a folder.", hint="Fetch all that is in it with -r.", at="source"
        )
    name = place.path.rpartition("/")[2]
    into = target or Path(name)
    return into / name if into.is_dir() else into


def _directory(place: FilePlace, target: Path | None) -> Path:
    name = place.path.rstrip("/").rpartition("/")[2] or place.location
    if target is None:
        return Path(name)
    return target / name if target.is_dir() else target


class Fetching:
    def __init__(self, session: Session, *, screen: Screen, quiet: bool) -> None:
        self._session = session
        self._cluster = session.cluster_id()
        self._screen, self._quiet = screen, quiet
        self._courier = Courier()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._courier.close()

    def folder(self, place: FilePlace, into: Path) -> int:
        """Fetch all files below a folder, and say how many they were."""
        root = place.path.rstrip("/")
        fetched = 0
        for each in self._session.client.files.below(self._cluster, place):
            inner = each.path.removeprefix(root).lstrip("/")
            if ".." in Path(inner).parts:  # no server of ours says so, but one could
                continue
            target = into / inner
            target.parent.mkdir(parents=True, exist_ok=True)
            self.file(below(FilePlace(location=place.location, path=root), inner), target)
            fetched += 1
        if not fetched:
            raise NotFound(
                f"There is no file below {spelled(place)}.",
                hint="`clusterra files ls` shows what there is.",
                code="file-not-found",
            )
        return fetched

    def file(self, place: FilePlace, into: Path, version: str = "") -> None:
        wanted = AskForLink(
            operation="download", location=place.location, path=place.path, version=version
        )
        bar = None
        for again in reversed(range(TRIES)):
            link = self._session.client.files.link(self._cluster, wanted)
            size = link.size or 0
            bar = bar or Bar(name=spelled(place), size=size, screen=self._screen, quiet=self._quiet)
            try:
                self._fetch(link, into, bar)
                break
            except Unreachable:
                if not again:
                    raise
            finally:
                bar.clear()
        assert bar is not None
        bar.end("fetched")

    def _fetch(self, link: LinkView, into: Path, bar: Bar) -> None:
        part = _part_of(into, link)
        with part.open("a+b") as opened:
            arriving = Arriving(opened)
            if link.size is not None and arriving.size > link.size:
                arriving.restart()
            if arriving.size and arriving.size != bar.done:
                bar.resumed(arriving.size)
            if arriving.size != link.size:
                named = Link(method=link.method, url=link.url, headers=link.headers)
                if not self._courier.get(named, arriving, bar.more):
                    bar.restarted()
        _check(part, arriving, link)
        part.replace(into)


def _part_of(into: Path, link: LinkView) -> Path:
    """Return where it is until it is whole: another name for another content."""
    what = f"{link.key}\n{link.size}\n{link.sha256}\n{link.modified_at}".encode()
    return into.with_name(f"{into.name}.{hashlib.sha256(what).hexdigest()[:12]}.part")


def _check(part: Path, came: Arriving, link: LinkView) -> None:
    """Raise unless what came is what is there."""
    name = link.key.rpartition("/")[2]
    if link.size is not None and came.size < link.size:
        raise Unreachable(
            f"{came.size:,} of {link.size:,} bytes of {name} have come.",
            hint="The same command goes on from there.",
            code="transfer-cut",
        )
    if link.sha256 and came.sha256 != link.sha256:
        part.unlink()
        raise ClusterraError(
            f"What came of {name} has another checksum than what is there.",
            hint="It was thrown away; fetch it again.",
            code="wrong-checksum",
        )
