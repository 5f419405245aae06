"""What was submitted, kept so that it can be submitted again.

Slurm forgets a script minutes after its job, and the ledger must not hold one. So each
request that Slurm took is kept beside the ledger under its run id, locked with the key
that lies outside the database, and let go of after some days.

Run ids begin with the time they were made, so what is old is found without reading what
is not: the ids are gone through by the minute, from where the last round ended.
"""

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from clusterra.core.change import NO_LEDGER, Change, Kind, Record
from clusterra.core.ids import uuid7
from clusterra.core.jobs.request import JobRequest
from clusterra.ports import Clock, Store, Vault

LARGEST = 512 * 1024
"""Bytes of a request that is kept. A larger one is a program, and its owner has it in a file."""

BATCH = 1_000
"""Most requests that are dropped in one commit."""


_PREFIX = 8
_MINUTE = timedelta(milliseconds=1 << 16)
"""What the first eight digits of a run id tell apart: a little over a minute."""

_MINUTES_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptRequest:
    user: str
    at: datetime
    locked: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tidied:
    """How far it has been gone through what is too old."""

    until: datetime


REQUEST: Kind[KeptRequest] = Kind("request", KeptRequest)
TIDIED: Kind[Tidied] = Kind("requests-tidied", Tidied)


@dataclass(slots=True, kw_only=True)
class Requests:
    store: Store
    vault: Vault
    clock: Clock
    keep_days: int

    def kept(self, run_id: str, request: JobRequest, user: str) -> Record[KeptRequest] | None:
        """Return what is to be written; None if it is not to be kept."""
        if not self.keep_days:
            return None
        text = json.dumps([request.script, request.properties], separators=(",", ":"))
        if len(text) > LARGEST:
            return None
        value = KeptRequest(user=user, at=self.clock.now(), locked=self.vault.lock(text))
        return Record(kind=REQUEST, id=run_id, value=value)

    async def of(self, run_id: str) -> JobRequest | None:
        """Return what was submitted under this run id, if it is still kept.

        Raises Refused if it was locked with a key that this server does not have.
        """
        if not run_id:
            return None
        record = await self.store.get(REQUEST, run_id, default=_NONE)
        if not record.version:
            return None
        script, properties = json.loads(self.vault.unlock(record.value.locked))
        return JobRequest(script=script, properties=properties)

    async def tidy(self) -> bool:
        """Let go of what is too old; say whether there may be more of it."""
        until = self.clock.now() - timedelta(days=self.keep_days)
        mark = await self.store.get(TIDIED, "", default=Tidied(until=until))
        if not mark.version:
            mark = replace(mark, value=Tidied(until=await self._oldest(until)))
        at = mark.value.until
        for _ in range(_MINUTES_AT_ONCE):
            if at + _MINUTE > until:
                break
            await self._drop(_prefix(at))
            at = _begin(at + _MINUTE)
        if at > mark.value.until or not mark.version:
            await self.store.commit(NO_LEDGER, Change(puts=[replace(mark, value=Tidied(until=at))]))
        return at + _MINUTE <= until

    async def _oldest(self, until: datetime) -> datetime:
        """Return where to begin. All are read for it, once: when there are few, or none."""
        kept = await self.store.list(REQUEST)
        return min((each.value.at for each in kept), default=until)

    async def _drop(self, prefix: str) -> None:
        found = await self.store.list(REQUEST, prefix)
        for first in range(0, len(found), BATCH):
            await self.store.commit(NO_LEDGER, Change(drops=found[first : first + BATCH]))


_NONE = KeptRequest(user="", at=datetime(1970, 1, 1, tzinfo=UTC), locked="")


def _prefix(at: datetime) -> str:
    return uuid7(at, b"\0" * 10)[:_PREFIX]


def _begin(at: datetime) -> datetime:
    """Return when the run ids begin that begin as those of this moment do."""
    return datetime.fromtimestamp((int(_prefix(at), 16) << 16) / 1000, UTC)
