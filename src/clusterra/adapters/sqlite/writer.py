"""One thread that writes: whatever has queued up is committed together.

SQLite allows one writer at a time, so one thread owns the writing connection
and commits whatever has queued up in one transaction: nothing is lost when idle,
and a burst of a hundred changes costs one sync to disk. Each change stands in a
savepoint of its own, so a conflict in one does not touch its neighbours.
"""

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import msgspec

from clusterra.adapters.sqlite import deliveries
from clusterra.adapters.sqlite.connect import bring_up_to_date, connect
from clusterra.adapters.sqlite.counts import Counts
from clusterra.adapters.sqlite.ledger import Appending
from clusterra.adapters.sqlite.rows import put_job
from clusterra.core.change import Change, Record
from clusterra.core.errors import ClusterraError, Conflict, Refused
from clusterra.core.events.chain import Head
from clusterra.ports import Clock

BATCH = 256
"""Most changes in one transaction: enough to share a sync, few enough to answer soon."""

_encode = msgspec.json.Encoder().encode

_PUT_RECORD = (
    "insert into record values (:kind, :id, 1, :body)"
    " on conflict do update set version = version + 1, body = :body where version = :version"
    " returning version"
)
_RECORD_VERSION = "select version from record where kind = ? and id = ?"
_DROP_RECORD = "delete from record where kind = ? and id = ? returning version"

Future: TypeAlias = "asyncio.Future[int]"
Outcome: TypeAlias = int | Exception
Told = Callable[[str, int], None]
Act = Callable[[sqlite3.Connection], int]


class Work(NamedTuple):
    cluster: str
    change: Change
    future: Future
    cut: Head | None = None
    """Up to where the ledger is to be let go."""

    act: Act | None = None
    """What is to be done and is no change; what it returns is the answer."""


class Writer:
    def __init__(self, path: Path, clock: Clock, counts: Counts) -> None:
        self._path = path
        self._clock = clock
        self._counts = counts
        self._queue: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self.watchers: list[Told] = []
        self.held: dict[str, ClusterraError] = {}
        """Ledgers that take nothing more, and why."""

        db = connect(path)
        bring_up_to_date(db)
        self._thread = threading.Thread(
            target=self._write, args=(db,), name="sqlite-writer", daemon=True
        )
        self._thread.start()

    async def commit(self, cluster: str, change: Change, cut: Head | None = None) -> int:
        if (change.events or cut) and (why := self.held.get(cluster)):
            raise why
        future: Future = asyncio.get_running_loop().create_future()
        self._queue.put(Work(cluster, change, future, cut))
        return await future

    async def act(self, act: Act) -> int:
        """Have something done in a transaction, between the changes. It must be short."""
        future: Future = asyncio.get_running_loop().create_future()
        self._queue.put(Work("", Change(), future, act=act))
        return await future

    def close(self) -> None:
        """Write what is queued, and stop."""
        self._queue.put(None)
        self._thread.join()

    def _write(self, db: sqlite3.Connection) -> None:
        while (first := self._queue.get()) is not None:
            batch, more = self._batch(first)
            done, grown = self._transact(db, batch)
            self._answer(batch, done, grown)
            if not more:
                break
        db.close()

    def _transact(
        self, db: sqlite3.Connection, batch: list[Work]
    ) -> tuple[list[Outcome], Mapping[str, int]]:
        """Commit a batch together; return each change's outcome and the ledgers that grew."""
        written: set[str] = set()
        try:
            db.execute("begin immediate")
            appending = Appending(db, recorded_at=self._clock.now())
            done = [_attempt(db, work, appending, written) for work in batch]
            grown = appending.finish()
            db.execute("commit")
        except Exception as error:  # noqa: BLE001 - a writer that dies leaves everybody waiting
            with suppress(sqlite3.Error):
                db.execute("rollback")
            return [_unwritable(self._path, error)] * len(batch), {}
        for cluster in written:
            self._counts.forget(cluster)
        return done, grown

    def _answer(self, batch: list[Work], done: list[Outcome], grown: Mapping[str, int]) -> None:
        waiting: dict[asyncio.AbstractEventLoop, list[tuple[Future, Outcome]]] = {}
        for work, result in zip(batch, done, strict=True):
            waiting.setdefault(work.future.get_loop(), []).append((work.future, result))
        for loop, outcomes in waiting.items():
            try:
                loop.call_soon_threadsafe(self._settle, outcomes, grown)
            except RuntimeError:
                continue  # the loop is gone, and so is who waited; the change is on disk

    def _settle(self, outcomes: list[tuple[Future, Outcome]], grown: Mapping[str, int]) -> None:
        for future, result in outcomes:
            if future.cancelled():
                continue
            if isinstance(result, Exception):
                future.set_exception(result)
            else:
                future.set_result(result)
        for cluster, head in grown.items():
            for told in self.watchers:
                told(cluster, head)

    def _batch(self, first: Work) -> tuple[list[Work], bool]:
        batch = [first]
        while len(batch) < BATCH:
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                break
            if item is None:
                return batch, False
            batch.append(item)
        return batch, True


def _attempt(
    db: sqlite3.Connection, work: Work, appending: Appending, written: set[str]
) -> Outcome:
    """Apply one change in a savepoint. What is wrong with it does not touch its neighbours."""
    db.execute("savepoint one")
    try:
        result: Outcome = work.act(db) if work.act else _apply(db, work, appending, written)
    except sqlite3.Error:
        raise
    except Exception as error:  # noqa: BLE001 - whoever asked is told; the writer goes on
        db.execute("rollback to one")
        result = error
    db.execute("release one")
    return result


def _apply(db: sqlite3.Connection, work: Work, appending: Appending, written: set[str]) -> int:
    """Write a change, and return how far the ledger reaches then.

    Notes in `written` the cluster if jobs of it are not what they were.
    """
    change = work.change
    for job in change.jobs:
        if put_job(db, work.cluster, job):
            written.add(work.cluster)
    _put_records(db, change)
    deliveries.put(db, change.deliveries, change.attempts)
    if work.cut is not None:
        appending.seal(work.cluster, work.cut)
    return appending.append(work.cluster, change.events)


def _put_records(db: sqlite3.Connection, change: Change) -> None:
    for record in change.unmoved:
        row = db.execute(_RECORD_VERSION, (record.kind.name, record.id)).fetchone()
        if (row[0] if row else 0) != record.version:
            raise _moved_on(record)
    for put in change.puts:
        binds = {
            "kind": put.kind.name,
            "id": put.id,
            "version": put.version,
            "body": _encode(put.value),
        }
        if db.execute(_PUT_RECORD, binds).fetchone() != (put.version + 1,):
            raise _moved_on(put)
    for drop in change.drops:
        row = db.execute(_DROP_RECORD, (drop.kind.name, drop.id)).fetchone()
        if (row[0] if row else 0) != drop.version:
            raise _moved_on(drop)


def _moved_on(record: Record[Any]) -> Conflict:
    return Conflict(f"{record.kind.name} {record.id} was changed by somebody else.")


def _unwritable(path: Path, error: Exception) -> Exception:
    return Refused(
        f"The database {path} cannot be written: {error}.",
        hint="Check the free space and the permissions there; nothing was changed.",
        code="store-unwritable",
    )
