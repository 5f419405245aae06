"""How long files stay on a cluster: what an admin has set, and doing it.

What goes is told in the ledger, person by person, so that nobody wonders where it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from clusterra.control.files.files import owners_in, storage_of
from clusterra.control.people.doing import SYSTEM, Doer, told
from clusterra.control.site import Site
from clusterra.core.change import Change, Record
from clusterra.core.events.catalogue.admin import AdminRetentionChanged
from clusterra.core.events.catalogue.files import FilesExpired
from clusterra.core.files.place import OWN, Location, Place
from clusterra.core.files.retention import RETENTION, Retention, differences, edited, is_over
from clusterra.ports import Clock, Objects, Store

PAGE = 1000


@dataclass(slots=True, kw_only=True)
class Keeping:
    store: Store
    clock: Clock
    default: Retention
    """What counts until an admin says otherwise."""

    async def of(self, site: Site) -> Record[Retention]:
        """Return what counts now; at version 0 nobody has set it."""
        return await self.store.get(RETENTION, site.cluster.id, default=self.default)

    async def change(self, site: Site, wanted: Mapping[str, int | None], *, by: Doer) -> None:
        record = await self.of(site)
        after = edited(record.value, wanted)
        changed = differences(record.value, after)
        if not changed:
            return
        id = site.cluster.id
        fact = AdminRetentionChanged(id=id, name=site.cluster.name, cluster=id, changed=changed)
        draft = told(fact, actor=by.actor, subject="retention", at=self.clock.now())
        await self.store.commit(id, Change(puts=[replace(record, value=after)], events=[draft]))

    async def apply(self, site: Site) -> bool:
        """Delete what has been left alone for too long."""
        if site.files is None:
            return False
        retention = (await self.of(site)).value
        if not retention.days:
            return False
        owners = await owners_in(site.files)
        for location in Location:
            if (keep := retention.of(location)) is None:
                continue
            for owner in owners if location in OWN else [""]:
                place = Place(location=location, path="", owner=owner)
                await self._sweep(site, place, keep)
        return False

    async def _sweep(self, site: Site, place: Place, keep: timedelta) -> None:
        count, size = await self._delete_old(storage_of(site), place.prefix, keep)
        if not count:
            return
        fact = FilesExpired(
            owner=place.owner,
            location=place.location.value,
            files=count,
            bytes=size,
            kept_days=keep.days,
        )
        subject = f"user/{place.owner}" if place.owner else "shared"
        draft = told(fact, actor=SYSTEM, subject=subject, at=self.clock.now())
        await self.store.commit(site.cluster.id, Change(events=[draft]))

    async def _delete_old(self, objects: Objects, prefix: str, keep: timedelta) -> tuple[int, int]:
        """Delete what is over below a prefix, and say how many files and bytes that was."""
        now = self.clock.now()
        count, size, after = 0, 0, ""
        while True:
            page = await objects.list(prefix, after=after, limit=PAGE)
            for folder in page.folders:
                inner = await self._delete_old(objects, folder, keep)
                count, size = count + inner[0], size + inner[1]
            for each in page.files:
                if is_over(each.modified_at, keep, now) and await objects.delete(each.key):
                    count, size = count + 1, size + each.size
            if not (after := page.next):
                return count, size
