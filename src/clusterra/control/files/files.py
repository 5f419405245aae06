"""What people do with their files: look, put, get, copy, move, delete.

Bytes do not pass through here. Whoever may put or get a file is given a link for it, and uses that.
Every place is somebody's own or the shared one by the way it is made (`core/files/place.py`), so no
request can name another's.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from clusterra.control.files.uploads import Uploads
from clusterra.control.site import Site
from clusterra.core.access import Caller
from clusterra.core.errors import Invalid, NotFound, Refused
from clusterra.core.files.place import Location, Place, check_may_write, owner_of
from clusterra.core.files.upload import Upload
from clusterra.ports import Cargo, Clock, Listing, Objects, Presigned, Store, Stored, Used


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """What somebody has in a location."""

    owner: str
    """E-mail; empty for what is shared."""

    location: Location
    used: Used


@dataclass(slots=True, kw_only=True)
class Files:
    store: Store
    clock: Clock
    multipart_above: int
    """Bytes from which on a file comes in parts."""

    uid_of: Callable[[str], int | None]
    uploads: Uploads

    async def link_to_put(
        self, site: Site, caller: Caller, place: Place, cargo: Cargo
    ) -> tuple[Presigned | None, str, Upload | None]:
        """Return a link to put a file; or for a large one the upload that was begun, and its id."""
        check_may_write(caller, place)
        objects = storage_of(site)
        await self._enter(site, caller, place)
        if cargo.size > self.multipart_above:
            id, upload = await self.uploads.begin(site, caller, place, cargo)
            return None, id, upload
        if not cargo.sha256:
            raise Invalid(
                "A file that is sent at once needs its checksum.",
                hint="Send its sha256 with the request for the link.",
                code="no-checksum",
                at="sha256",
            )
        return await objects.presign_put(place.key, cargo), "", None

    async def link_to_get(self, site: Site, place: Place, version: str) -> tuple[Presigned, Stored]:
        """Return a link to get a file, and what it is. Raises NotFound."""
        objects = storage_of(site)
        stored = await objects.stat(place.key, version=version)
        if stored is None:
            raise no_such_file(place)
        link = await objects.presign_get(place.key, version=version, name=place.name)
        return link, stored

    async def list(self, site: Site, place: Place, after: str, limit: int) -> Listing:
        return await storage_of(site).list(place.prefix, after=after, limit=limit)

    async def delete(self, site: Site, caller: Caller, place: Place) -> None:
        check_may_write(caller, place)
        if not await storage_of(site).delete(place.key):
            raise no_such_file(place)

    async def copy(
        self, site: Site, caller: Caller, source: Place, target: Place, *, version: str = ""
    ) -> None:
        await self._check_target(site, caller, source, target)
        await storage_of(site).copy(source.key, target.key, version=version)

    async def move(self, site: Site, caller: Caller, source: Place, target: Place) -> None:
        check_may_write(caller, source)
        await self._check_target(site, caller, source, target)
        await storage_of(site).move(source.key, target.key)

    async def versions(self, site: Site, place: Place) -> Sequence[Stored]:
        found = await storage_of(site).versions(place.key)
        if not found:
            raise no_such_file(place)
        return found

    async def usage(self, site: Site, owners: Sequence[str]) -> Sequence[Holding]:
        """Return what these people have, location by location, and what is shared."""
        objects = storage_of(site)
        places = [
            Place(location=location, path="", owner=owner)
            for owner in owners
            for location in Location
            if location is not Location.SHARED
        ]
        places.append(Place(location=Location.SHARED, path=""))
        return [
            Holding(owner=each.owner, location=each.location, used=await objects.used(each.prefix))
            for each in places
        ]

    async def _check_target(self, site: Site, caller: Caller, source: Place, target: Place) -> None:
        check_may_write(caller, target)
        if source == target:
            raise Invalid(
                f"{source} is to go where it is.", hint="Name another target.", at="target"
            )
        await self._enter(site, caller, target)

    async def _enter(self, site: Site, caller: Caller, place: Place) -> None:
        """Make the caller's own place, where it is not there yet."""
        # In a bucket a place need not be made, and nobody needs a Linux user to have one.
        if place.owner and storage_of(site).desk is not None:
            await site.logins.ensure(caller.user, self.uid_of(caller.user))


def storage_of(site: Site) -> Objects:
    if site.files is None:
        raise Refused(
            f"{site.cluster.name} has no place for files.",
            hint='Give it one: a bucket, with [files] source = "s3" in the settings of the server.',
            code="no-storage",
        )
    return site.files


def no_such_file(place: Place) -> NotFound:
    return NotFound(
        f"There is no file {place}.",
        hint="`clusterra files ls` shows what there is.",
        code="file-not-found",
    )


async def owners_in(objects: Objects) -> list[str]:
    """Return everybody who has files here, by e-mail."""
    found: list[str] = []
    after = ""
    while True:
        page = await objects.list("", after=after)
        found += [owner for room in page.folders if (owner := owner_of(room.removesuffix("/")))]
        if not (after := page.next):
            return found
