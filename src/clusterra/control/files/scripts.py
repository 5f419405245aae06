"""Keep the scripts that people submit by name, version by version, among their files.

It happens after the job was accepted, and nobody waits for it; a script that cannot be kept is no
reason to refuse a job.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import structlog

from clusterra.control.site import Site
from clusterra.core.access import Caller
from clusterra.core.errors import ClusterraError
from clusterra.core.files.place import place_of
from clusterra.ports import Cargo

log = structlog.get_logger()

KIND = "text/x-shellscript"


@dataclass(slots=True, kw_only=True)
class Scripts:
    _under_way: set[asyncio.Task[None]] = field(default_factory=set)

    def keep(self, site: Site, caller: Caller, name: str | None, script: str) -> None:
        """Have a script kept as `scripts/<name>` soon."""
        if name and site.files is not None:
            task = asyncio.create_task(self._keep(site, caller, name, script.encode()))
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)

    async def settle(self) -> None:
        """Wait until all are kept, before the server ends."""
        await asyncio.gather(*self._under_way)

    async def _keep(self, site: Site, caller: Caller, name: str, script: bytes) -> None:
        assert site.files is not None
        sha256 = hashlib.sha256(script).hexdigest()
        try:
            place = place_of(caller, "scripts", name)
            there = await site.files.stat(place.key)
            if there is None or there.sha256 != sha256:
                cargo = Cargo(size=len(script), sha256=sha256, content_type=KIND, versioned=True)
                await site.files.put(place.key, _whole(script), cargo)
        except ClusterraError as error:
            log.warning("script.not_kept", cluster=site.cluster.id, why=error.detail)


async def _whole(data: bytes) -> AsyncIterator[bytes]:
    yield data
