"""What submissions came to, on its way to the store.

Nobody waits for it, so it is gathered for a moment and written in one go: with
hundreds of submissions a second, a commit for each would cost the processor half as
much again as the submissions. What is lost in that moment can be found again: the job
carries its run id, and a submission with a key has its intent on disk.
"""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import structlog

from clusterra.core.change import Change, Record
from clusterra.core.errors import ClusterraError
from clusterra.ports import Store

log = structlog.get_logger()

GATHERED = 0.05
"""Seconds for which notes are gathered."""


@dataclass(slots=True, kw_only=True)
class Notes:
    cluster: str
    store: Store
    _gathered: list[Record[Any]] = field(default_factory=list)
    _writing: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    """By record: who writes it. It is gone from here once it is in the store."""

    def add(self, record: Record[Any]) -> None:
        """Have a record written soon, and whenever the server stops."""
        if not self._gathered:
            writer = asyncio.create_task(self._write())
        else:
            writer = self._writing[self._gathered[0].id]
        self._gathered.append(record)
        self._writing[record.id] = writer

    async def written(self, id: str) -> None:
        """Wait until a record that was added is in the store."""
        if writer := self._writing.get(id):
            await asyncio.shield(writer)

    async def all_written(self) -> None:
        await asyncio.gather(*set(self._writing.values()))

    async def _write(self) -> None:
        await asyncio.sleep(GATHERED)
        taken, self._gathered = self._gathered, []
        try:
            await self.store.commit(self.cluster, Change(puts=taken))
        except ClusterraError:
            # One that does not fit must not take the others with it.
            await asyncio.gather(*map(self._write_alone, taken))
        finally:
            for record in taken:
                # What was submitted is noted under the id of its submission, and with it.
                self._writing.pop(record.id, None)

    async def _write_alone(self, record: Record[Any]) -> None:
        try:
            await self.store.commit(self.cluster, Change(puts=[record]))
        except ClusterraError as error:
            log.warning("submission.not_noted", record=record.id, why=error.detail)
