"""Send one file: at once, or in parts, several at a time, and only those that are not there yet."""

import hashlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Self

from clusterra.cli.files.bar import Bar
from clusterra.cli.files.naming import spelled
from clusterra.cli.screen import Screen
from clusterra.cli.session import Session
from clusterra.client.transfer import Courier, Link
from clusterra.core.errors import Forbidden, Invalid, Unreachable
from clusterra.core.files.upload import part_size_of
from clusterra.wire.files import AskForLink, FilePlace, PartLink, PartWanted, UploadView

BATCH = 32
"""Parts whose links are asked for at a time: links end after some minutes."""

TRIES = 4
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """The checksums of a file: of all of it, and of each part."""

    whole: str
    parts: tuple[str, ...]
    size: int


@dataclass(slots=True, kw_only=True)
class Sending:
    session: Session
    cluster: str
    parallel: int
    screen: Screen
    quiet: bool = False
    _own: threading.local = field(default_factory=threading.local)
    _couriers: list[Courier] = field(default_factory=list)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._couriers:
            each.close()

    def send(self, file: Path, where: FilePlace) -> None:
        with file.open("rb") as opened:
            sums = sums_of(opened, file)
            bar = Bar(name=spelled(where), size=sums.size, screen=self.screen, quiet=self.quiet)
            try:
                if upload := self._begun(where, sums):
                    self._send_parts(opened, upload, sums, bar)
                else:
                    self._send_new(opened, where, sums, bar)
            except BaseException:
                bar.clear()
                raise
        bar.end("sent")

    def _begun(self, where: FilePlace, sums: Sums) -> UploadView | None:
        """Return an upload of this very file that was cut off, if there is one."""
        if sums.size <= part_size_of(sums.size):
            return None
        files = self.session.client.files
        for each in files.uploads(self.cluster).uploads:
            same = (each.location, each.path, each.size, each.sha256)
            if same == (where.location, where.path, sums.size, sums.whole):
                return files.upload(self.cluster, each.upload_id)
        return None

    def _send_new(self, opened: BinaryIO, where: FilePlace, sums: Sums, bar: Bar) -> None:
        wanted = AskForLink(
            operation="upload",
            location=where.location,
            path=where.path,
            size=sums.size,
            sha256=sums.whole,
        )
        for again in reversed(range(TRIES)):
            link = self.session.client.files.link(self.cluster, wanted)
            if link.upload_id:
                upload = self.session.client.files.upload(self.cluster, link.upload_id)
                return self._send_parts(opened, upload, sums, bar)
            try:
                named = Link(method=link.method, url=link.url, headers=link.headers)
                return self._courier().put(named, opened, 0, sums.size, bar.more)
            except Unreachable:
                if not again:
                    raise
                bar.restarted()
        return None

    def _send_parts(self, opened: BinaryIO, upload: UploadView, sums: Sums, bar: Bar) -> None:
        there = {each.number: each.sha256 for each in upload.there or ()}
        left = [
            PartWanted(number=number, sha256=sha256)
            for number, sha256 in enumerate(sums.parts, start=1)
            if there.get(number) != sha256
        ]
        bar.resumed(
            sum(each.size for each in upload.there or () if _is(each.sha256, sums, each.number))
        )
        files = self.session.client.files
        with ThreadPoolExecutor(self.parallel) as pool:
            for some in _batches(left):
                links = files.part_links(self.cluster, upload.upload_id, some).parts
                sent = pool.map(lambda link: self._send_part(opened, upload, link, bar), links)
                failed = [part for part in sent if part is not None]
                for number in failed:
                    self._once_more(opened, upload, sums.parts[number - 1], number, bar)
        files.complete(self.cluster, upload.upload_id)

    def _once_more(
        self, opened: BinaryIO, upload: UploadView, sha256: str, number: int, bar: Bar
    ) -> None:
        """Send a part that was cut off; with a new link, since the old one may have ended."""
        wanted = [PartWanted(number=number, sha256=sha256)]
        for again in reversed(range(TRIES)):
            (link,) = self.session.client.files.part_links(
                self.cluster, upload.upload_id, wanted
            ).parts
            try:
                return self._put_part(opened, upload, link, bar)
            except (Unreachable, Forbidden):
                if not again:
                    raise
        return None

    def _send_part(
        self, opened: BinaryIO, upload: UploadView, link: PartLink, bar: Bar
    ) -> int | None:
        """Send a part; return its number if that did not work and may the next time."""
        try:
            self._put_part(opened, upload, link, bar)
        except (Unreachable, Forbidden):
            return link.number
        return None

    def _put_part(self, opened: BinaryIO, upload: UploadView, link: PartLink, bar: Bar) -> None:
        start = (link.number - 1) * upload.part_size
        size = min(upload.part_size, upload.size - start)
        sent = 0

        def told(count: int) -> None:
            nonlocal sent
            sent += count
            bar.more(count)

        try:
            named = Link(method=link.method, url=link.url, headers=link.headers)
            self._courier().put(named, opened, start, size, told)
        except BaseException:
            bar.more(-sent)
            raise

    def _courier(self) -> Courier:
        """Return this thread's connection."""
        found: Courier | None = getattr(self._own, "courier", None)
        if found is None:
            found = self._own.courier = Courier()
            self._couriers.append(found)
        return found


def sums_of(opened: BinaryIO, file: Path) -> Sums:
    """Read a file once for all its checksums."""
    size = file.stat().st_size
    part_size = part_size_of(size)
    whole, parts, read = hashlib.sha256(), [], 0
    while read < size:
        part, end = hashlib.sha256(), min(read + part_size, size)
        while read < end:
            piece = opened.read(min(_PIECE, end - read))
            if not piece:
                raise Invalid(
                    f"{file} became shorter while it was read.",
                    hint="Wait until nothing writes to it, then send it.",
                )
            whole.update(piece)
            part.update(piece)
            read += len(piece)
        parts.append(part.hexdigest())
    return Sums(whole=whole.hexdigest(), parts=tuple(parts), size=size)


def _is(sha256: str, sums: Sums, number: int) -> bool:
    return number <= len(sums.parts) and sums.parts[number - 1] == sha256


def _batches(parts: list[PartWanted]) -> Iterator[list[PartWanted]]:
    for start in range(0, len(parts), BATCH):
        yield parts[start : start + BATCH]
