"""A directory as a store of files: the one that jobs of an embedded cluster see as /mnt/efs.

Rooms are in `root`, one for each person and one that is shared. What nobody but us may see (files
that are still arriving, checksums, versions) is in `private`, on the same file system.
"""

import asyncio
import hashlib
import os
import secrets
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from clusterra.adapters.objects_local import ticket, tree
from clusterra.adapters.objects_local.desk import LocalDesk
from clusterra.adapters.objects_local.intake import FileIntake, unwritable
from clusterra.adapters.objects_local.known import Known
from clusterra.adapters.objects_local.listing import list_folder, used_below
from clusterra.adapters.objects_local.rooms import SHARED, make_room, make_rooms
from clusterra.adapters.objects_local.ticket import GET, PART, PUT, Ticket
from clusterra.adapters.objects_local.uploads import Begun, Uploads
from clusterra.adapters.objects_local.versions import Versions
from clusterra.ports import Cargo, Clock, Listing, Part, Presigned, Stored, Used

_PIECE = 1 << 20


class LocalObjects:
    def __init__(
        self,
        root: Path,
        private: Path,
        *,
        path: str,
        secret: bytes,
        clock: Clock,
        lasts: timedelta = timedelta(minutes=15),
        seen_at: str = "",
    ) -> None:
        """`path` is where our door answers, `seen_at` where jobs see the rooms; neither ends in
        a slash. Links last for `lasts`."""
        self._root, self._private = root, private
        self._path, self._secret, self._seen_at = path, secret, seen_at
        self._clock, self._lasts = clock, lasts
        self.known = Known(private / "known")
        self.uploads = Uploads(private / "uploads")
        self._versions = Versions(private / "versions")
        self.desk = LocalDesk(self)
        make_rooms(root)
        private.mkdir(mode=0o700, parents=True, exist_ok=True)
        # What was still arriving when the server ended: nobody will send the rest.
        shutil.rmtree(private / "arriving", ignore_errors=True)
        (private / "arriving").mkdir(mode=0o700, parents=True)

    async def make_room(self, name: str, uid: int | None) -> str:
        try:
            await asyncio.to_thread(make_room, self._root, name, uid)
        except tree.Gone:
            raise tree.no_room(name) from None
        except OSError as error:
            raise unwritable(error) from None
        return self.room(name)

    def room(self, name: str) -> str:
        return f"{self._seen_at}/{name}" if self._seen_at else ""

    def key_at(self, path: str) -> str | None:
        head = f"{self._seen_at}/"
        return path.removeprefix(head) if self._seen_at and path.startswith(head) else None

    # --- links

    async def presign_get(self, key: str, *, version: str = "", name: str = "") -> Presigned:
        if await self.stat(key, version=version) is None:
            raise tree.no_such_file(key)
        name = name or key.rpartition("/")[2]
        return self._presigned(
            "GET", Ticket(what=GET, key=key, until=0, version=version, name=name)
        )

    async def presign_put(self, key: str, cargo: Cargo) -> Presigned:
        return self._presigned(
            "PUT",
            Ticket(
                what=PUT,
                key=key,
                until=0,
                size=cargo.size,
                sha256=cargo.sha256,
                content_type=cargo.content_type,
                versioned=cargo.versioned,
            ),
        )

    async def presign_part(self, key: str, upload: str, part: Part) -> Presigned:
        self.uploads.begun(key, upload)
        return self._presigned(
            "PUT",
            Ticket(
                what=PART,
                key=key,
                until=0,
                size=part.size,
                sha256=part.sha256,
                upload=upload,
                number=part.number,
            ),
        )

    def _presigned(self, method: str, said: Ticket) -> Presigned:
        until = self._clock.now().replace(microsecond=0) + self._lasts
        dated = msgspec.structs.replace(said, until=int(until.timestamp()))
        text = ticket.write(dated, self._secret)
        return Presigned(
            url=f"{self._path}/{text}",
            method=method,
            headers={"Content-Type": said.content_type} if said.content_type else {},
            expires_at=until,
        )

    def ticket(self, text: str, what: frozenset[str]) -> Ticket:
        return ticket.read(text, what, self._secret, self._clock.now())

    # --- whole files

    def intake(self, key: str, cargo: Cargo) -> FileIntake:
        """Begin to take a file in. It is seen when it is whole."""
        arriving = self._private / "arriving" / secrets.token_hex(16)
        try:
            descriptor = os.open(arriving, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise unwritable(error) from None

        def done(sha256: str) -> None:
            self._in_place(arriving, descriptor, key, cargo, sha256)

        return FileIntake(
            descriptor,
            size=cargo.size,
            sha256=cargo.sha256,
            done=done,
            dropped=lambda: arriving.unlink(missing_ok=True),
        )

    def _in_place(self, made: Path, descriptor: int, key: str, cargo: Cargo, sha256: str) -> None:
        tree.put_in_place(str(made), self._root, key, descriptor)
        if sha256:
            self.known.note(key, os.fstat(descriptor), sha256, cargo.content_type)
            if cargo.versioned:
                self._versions.keep(key, descriptor, sha256)

    async def put(self, key: str, data: AsyncIterator[bytes], cargo: Cargo) -> None:
        intake = await asyncio.to_thread(self.intake, key, cargo)
        try:
            async for piece in data:
                await intake.write(piece)
            await intake.finish()
        finally:
            await intake.drop()

    async def read(self, key: str) -> AsyncIterator[bytes]:
        descriptor, _ = await asyncio.to_thread(self.opened, key, "")
        with os.fdopen(descriptor, "rb") as file:
            while piece := await asyncio.to_thread(file.read, _PIECE):
                yield piece

    def opened(self, key: str, version: str) -> tuple[int, Stored]:
        """Open a file and say what it is. Raises NotFound."""
        if version:
            found, stored = self._versions.find(key, version), self._versions.stored(key, version)
            if found is None or stored is None:
                raise tree.no_such_file(key)
            return os.open(found.path, os.O_RDONLY | os.O_CLOEXEC), stored
        try:
            descriptor = tree.open_file(self._root, key)
        except tree.Gone:
            raise tree.no_such_file(key) from None
        return descriptor, self._stored(key, os.fstat(descriptor))

    def _stored(self, key: str, found: os.stat_result) -> Stored:
        note = self.known.of(key, found)
        return Stored(
            key=key,
            size=found.st_size,
            modified_at=datetime.fromtimestamp(found.st_mtime, UTC),
            sha256=note.sha256 if note else "",
            content_type=note.content_type if note else "",
        )

    async def stat(self, key: str, *, version: str = "") -> Stored | None:
        return await asyncio.to_thread(self._stat, key, version)

    def _stat(self, key: str, version: str) -> Stored | None:
        if version:
            return self._versions.stored(key, version)
        try:
            descriptor = tree.open_file(self._root, key)
        except tree.Gone:
            return None
        try:
            return self._stored(key, os.fstat(descriptor))
        finally:
            os.close(descriptor)

    async def versions(self, key: str) -> Sequence[Stored]:
        return await asyncio.to_thread(self._versions.all_of, key)

    # --- files in parts

    async def begin(self, key: str, cargo: Cargo, part_size: int) -> str:
        begun = Begun(key=key, cargo=cargo, part_size=part_size)
        return await asyncio.to_thread(self.uploads.begin, begun)

    async def parts(self, key: str, upload: str) -> Sequence[Part]:
        return await asyncio.to_thread(self.uploads.parts, key, upload)

    async def complete(self, key: str, upload: str, *, size: int) -> None:  # noqa: ARG002
        def done(data: Path, descriptor: int, cargo: Cargo) -> None:
            # Each part was checked as it came; the checksum of all is its sender's word.
            self._in_place(data, descriptor, key, cargo, cargo.sha256)

        await asyncio.to_thread(self.uploads.complete, key, upload, done)

    async def abort(self, key: str, upload: str) -> None:
        await asyncio.to_thread(self.uploads.abort, key, upload)

    # --- what is there

    async def list(self, prefix: str, *, after: str = "", limit: int = 1000) -> Listing:
        return await asyncio.to_thread(
            list_folder, self._root, prefix, after=after, limit=limit, stored=self._stored
        )

    async def used(self, prefix: str) -> Used:
        return await asyncio.to_thread(used_below, self._root, prefix)

    async def delete(self, key: str) -> bool:
        return await asyncio.to_thread(self._delete, key)

    def _delete(self, key: str) -> bool:
        *folders, name = key.split("/")
        self.known.forget(key)
        try:
            with tree.folder(self._root, folders) as (at, _):
                os.unlink(name, dir_fd=at)  # a link itself, and never what it points to
        except (tree.Gone, FileNotFoundError, IsADirectoryError):
            return False
        except OSError as error:
            raise unwritable(error) from None
        tree.forget_empty(self._root, folders)
        return True

    async def copy(self, source: str, target: str, *, version: str = "") -> None:
        await asyncio.to_thread(self._copy, source, target, version)

    def _copy(self, source: str, target: str, version: str) -> None:
        descriptor, stored = self.opened(source, version)
        arriving = self._private / "arriving" / secrets.token_hex(16)
        hashed = hashlib.sha256()
        try:
            with os.fdopen(descriptor, "rb") as original, arriving.open("xb+") as copy:
                while piece := original.read(_PIECE):
                    hashed.update(piece)
                    copy.write(piece)
                copy.flush()
                os.fsync(copy.fileno())
                versioned = target.partition("/")[2].startswith("scripts/")
                cargo = Cargo(size=0, content_type=stored.content_type, versioned=versioned)
                self._in_place(arriving, copy.fileno(), target, cargo, hashed.hexdigest())
        except OSError as error:
            raise unwritable(error) from None
        finally:
            arriving.unlink(missing_ok=True)

    async def move(self, source: str, target: str) -> None:
        if source.partition("/")[0] != target.partition("/")[0] or source.startswith(SHARED):
            await self.copy(source, target)
            await self.delete(source)
        else:
            await asyncio.to_thread(self._move, source, target)

    def _move(self, source: str, target: str) -> None:
        descriptor, stored = self.opened(source, "")
        *folders, name = source.split("/")
        *others, named = target.split("/")
        try:
            with (
                tree.folder(self._root, folders) as (here, _),
                tree.folder(self._root, others, make=True) as (there, _),
            ):
                os.rename(name, named, src_dir_fd=here, dst_dir_fd=there)
            self.known.forget(source)
            if stored.sha256:
                found = os.fstat(descriptor)
                self.known.note(target, found, stored.sha256, stored.content_type)
        except (tree.Gone, FileNotFoundError):
            raise tree.no_such_file(source) from None
        except OSError as error:
            raise unwritable(error) from None
        finally:
            os.close(descriptor)
        with suppress(OSError):
            tree.forget_empty(self._root, folders)

    async def close(self) -> None:
        pass
