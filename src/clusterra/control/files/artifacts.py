"""Find what a job left behind when it ends, and keep it among its owner's files.

Finding is quick and happens before the end is told, so that the event has names and sizes. Keeping
may take long and happens after; what is to be kept is on record with the event, so that whoever
comes up after a crash goes on with it.
"""

import asyncio
import hashlib
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import structlog

from clusterra.control.site import Site
from clusterra.core.change import Change, Record
from clusterra.core.errors import ClusterraError, NotFound, Unreachable
from clusterra.core.events.catalogue.jobs import ArtifactTold
from clusterra.core.files.kept import KEPT, TO_KEEP, Kept, KeptFile, Sighted, placed
from clusterra.core.files.place import Location, Place
from clusterra.core.jobs.artifacts import DECLARED, Artifact, Declared
from clusterra.core.jobs.job import Job
from clusterra.ports import Cargo, Clock, JobFiles, Objects, Store

log = structlog.get_logger()

PATIENCE = 2.0
"""Seconds for which the end of a job waits for its files to be found. What takes longer is found
afterwards, and not told."""


@dataclass(slots=True, kw_only=True)
class Artifacts:
    """Of one cluster."""

    site: Site
    store: Store
    clock: Clock

    async def ended(self, job: Job) -> tuple[tuple[ArtifactTold, ...], tuple[Record[Any], ...]]:
        """Return what to tell of a job that has ended, and what to write down with it."""
        if not job.run_id or self.site.files is None or self.site.job_files is None:
            return (), ()
        declared = await self.store.get(DECLARED, job.run_id, default=_NOTHING)
        if not declared.version or not declared.value.artifacts:
            return (), ()
        kept = Kept(
            job_id=job.id,
            run_id=job.run_id,
            task=job.array_task,
            restarts=job.restarts,
            user=declared.value.user,
            email=declared.value.email,
            at=self.clock.now(),
            looked=False,
        )
        record = await self.store.get(KEPT, self._id(job), default=kept)
        if record.version and record.value.restarts == job.restarts:
            return _told(record.value), ()
        try:
            async with asyncio.timeout(PATIENCE):
                kept = await self._looked(kept, declared.value)
        except (TimeoutError, ClusterraError) as error:
            log.warning("artifacts.not_found_yet", job=job.id, why=str(error))
        to_do = await self.store.get(TO_KEEP, record.id, default=job.id)
        return _told(kept), (replace(record, value=kept), replace(to_do, value=job.id))

    async def left_by(self, job: Job) -> Kept | None:
        """Return what a job left behind; None of one that declared nothing, or has not ended."""
        found = await self.store.list(KEPT, prefix=self._id(job))
        return next((each.value for each in found if each.id == self._id(job)), None)

    async def keep(self) -> bool:
        """Keep what has been found and is not kept yet."""
        waiting = False
        for to_do in await self.store.list(TO_KEEP, prefix=f"{self.site.cluster.id}/"):
            waiting |= not await self._keep(to_do)
        return waiting

    async def _keep(self, to_do: Record[int]) -> bool:
        """Keep one job's files; False if that has to be tried again."""
        files, objects = self.site.job_files, self.site.files
        if files is None or objects is None:
            return True
        record = await self.store.get(KEPT, to_do.id, default=_NONE_KEPT)
        kept = record.value
        try:
            if not kept.looked:
                declared = await self.store.get(DECLARED, kept.run_id, default=_NOTHING)
                kept = await self._looked(kept, declared.value)
            done = [await self._kept(kept, each, files, objects) for each in kept.files]
        except Unreachable as error:
            log.warning("artifacts.not_kept_yet", job=kept.job_id, why=error.detail)
            return False
        kept = replace(kept, files=tuple(done))
        change = Change(puts=[replace(record, value=kept)], drops=[to_do])
        await self.store.commit(self.site.cluster.id, change)
        return True

    async def _kept(
        self, kept: Kept, file: KeptFile, files: JobFiles, objects: Objects
    ) -> KeptFile:
        if file.kept or file.why_not:
            return file
        place = Place(location=Location.OUTPUTS, path=file.path, owner=kept.email)
        try:
            # Read twice: a store takes nothing whose checksum it was not told before.
            sha256, size = await _summed(files, kept.user, file.source)
            if not file.in_place:
                cargo = Cargo(size=size, sha256=sha256)
                await objects.put(place.key, files.read(kept.user, file.source), cargo)
        except Unreachable:
            raise
        except NotFound:
            return replace(file, why_not="It is not there any more.")
        except ClusterraError as error:
            return replace(file, why_not=error.detail)
        return replace(file, kept=True, sha256=sha256, size=size)

    async def _looked(self, kept: Kept, declared: Declared) -> Kept:
        sighted: list[Sighted] = []
        for artifact in declared.artifacts:
            sighted += await self._sighted(artifact, kept)
        files = placed(sighted, run_id=kept.run_id, task=kept.task)
        return replace(kept, looked=True, files=files)

    async def _sighted(self, artifact: Artifact, kept: Kept) -> list[Sighted]:
        files, objects = self.site.job_files, self.site.files
        assert files is not None
        assert objects is not None
        outputs = Place(location=Location.OUTPUTS, path="", owner=kept.email).prefix
        found = []
        for each in await files.find(kept.user, artifact.path):
            key = objects.key_at(each.path) or ""
            found.append(
                Sighted(
                    key=artifact.key,
                    role=artifact.role,
                    source=each.path,
                    name=each.name,
                    size=each.size,
                    lies_in=key.removeprefix(outputs) if key.startswith(outputs) else None,
                )
            )
        return found

    def _id(self, job: Job) -> str:
        return f"{self.site.cluster.id}/{job.run_id}/{job.id}"


async def _summed(files: JobFiles, user: str, path: str) -> tuple[str, int]:
    digest, size = hashlib.sha256(), 0
    async for piece in files.read(user, path):
        await asyncio.to_thread(digest.update, piece)
        size += len(piece)
    return digest.hexdigest(), size


def _told(kept: Kept) -> tuple[ArtifactTold, ...]:
    return tuple(
        ArtifactTold(key=each.key, name=each.name, size=each.size, role=each.role)
        for each in kept.files
    )


_NONE_KEPT = Kept(
    job_id=0,
    run_id="",
    task=None,
    restarts=0,
    user="",
    email="",
    at=datetime(1970, 1, 1, tzinfo=UTC),
    looked=True,
)
_NOTHING = Declared(user="", email="", artifacts=())
