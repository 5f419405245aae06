"""Large files, part by part: begun here, sent straight to the store, completed here.

What was begun is on record with who began it, so that they can go on after a cut or a restart, and
nobody else can.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from clusterra.control.site import Site
from clusterra.core.access import Caller
from clusterra.core.change import Change, Record
from clusterra.core.errors import ClusterraError, NotFound, Refused
from clusterra.core.files.place import Place, check_may_write
from clusterra.core.files.upload import UPLOAD, Upload, check_sha256, part_size_of
from clusterra.core.ids import uuid7
from clusterra.ports import Cargo, Clock, Objects, Part, Presigned, Store

MOST_OPEN = 1_000
"""Uploads that one person may have begun on a cluster and not completed."""


@dataclass(slots=True, kw_only=True)
class Uploads:
    store: Store
    clock: Clock

    async def begin(
        self, site: Site, caller: Caller, place: Place, cargo: Cargo
    ) -> tuple[str, Upload]:
        if len(await self.open_of(site, caller)) >= MOST_OPEN:
            raise Refused(
                f"You have {MOST_OPEN:,} uploads that were not completed.",
                hint="Complete or abort some: GET …/storage/uploads lists them.",
                code="too-many-uploads",
            )
        part_size = part_size_of(cargo.size)
        native = await _objects(site).begin(place.key, cargo, part_size)
        upload = Upload(
            cluster=site.cluster.id,
            by=caller.email,
            location=place.location,
            path=place.path,
            owner=place.owner,
            size=cargo.size,
            part_size=part_size,
            sha256=cargo.sha256,
            content_type=cargo.content_type,
            native=native,
            at=self.clock.now(),
        )
        id = uuid7(self.clock.now(), os.urandom(10))
        record = Record(kind=UPLOAD, id=_id(site, id), value=upload)
        await self.store.commit(site.cluster.id, Change(puts=[record]))
        return id, upload

    async def open_of(self, site: Site, caller: Caller) -> list[tuple[str, Upload]]:
        """Return what the caller has begun and not completed, oldest first."""
        records = await self.store.list(UPLOAD, prefix=_id(site, ""))
        return [
            (record.id.rpartition("/")[2], record.value)
            for record in records
            if record.value.by == caller.email
        ]

    async def find(self, site: Site, caller: Caller, id: str) -> Upload:
        return (await self._record(site, caller, id)).value

    async def parts(self, site: Site, upload: Upload) -> Sequence[Part]:
        return await _objects(site).parts(upload.place.key, upload.native)

    async def links(
        self, site: Site, caller: Caller, id: str, wanted: Sequence[tuple[int, str]]
    ) -> list[tuple[int, Presigned]]:
        """Return a link for each of these parts: number and checksum."""
        upload = await self.find(site, caller, id)
        check_may_write(caller, upload.place)
        made = []
        for place, (number, sha256) in enumerate(wanted):
            digest = check_sha256(sha256, at=f"parts[{place}].sha256")
            part = Part(number=number, size=upload.size_of(number), sha256=digest)
            link = await _objects(site).presign_part(upload.place.key, upload.native, part)
            made.append((number, link))
        return made

    async def complete(self, site: Site, caller: Caller, id: str) -> Upload:
        record = await self._record(site, caller, id)
        upload = record.value
        check_may_write(caller, upload.place)
        await _objects(site).complete(upload.place.key, upload.native, size=upload.size)
        await self._forget(record)
        return upload

    async def abort(self, site: Site, caller: Caller, id: str) -> None:
        await self._drop(site, await self._record(site, caller, id))

    async def tidy(self, site: Site) -> bool:
        """Give up what nobody has completed for days."""
        now = self.clock.now()
        for record in await self.store.list(UPLOAD, prefix=_id(site, "")):
            if record.value.expires_at <= now:
                await self._drop(site, record)
        return False

    async def _record(self, site: Site, caller: Caller, id: str) -> Record[Upload]:
        found = await self.store.list(UPLOAD, prefix=_id(site, id))
        for record in found:
            if record.id == _id(site, id) and record.value.by == caller.email:
                return record
        raise NotFound(
            "There is no such upload: it was completed, aborted, or never begun.",
            hint="GET …/storage/uploads lists yours.",
            code="upload-not-found",
        )

    async def _drop(self, site: Site, record: Record[Upload]) -> None:
        await _objects(site).abort(record.value.place.key, record.value.native)
        await self._forget(record)

    async def _forget(self, record: Record[Upload]) -> None:
        await self.store.commit(record.value.cluster, Change(drops=[record]))


def _objects(site: Site) -> Objects:
    if site.files is None:
        raise ClusterraError("An upload was begun where files cannot be kept.")
    return site.files


def _id(site: Site, id: str) -> str:
    return f"{site.cluster.id}/{id}"
