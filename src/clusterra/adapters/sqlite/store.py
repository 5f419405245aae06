"""The embedded store: one file, one writer.

SQLite allows one writer at a time, so one thread owns the writing connection
and commits whatever has queued up in one transaction: nothing is lost when idle,
and a burst of a hundred changes costs one sync to disk. Each change stands in a
savepoint of its own, so a conflict in one does not touch its neighbours.
"""

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from clusterra.adapters.sqlite import counts, find
from clusterra.adapters.sqlite.rows import put_job
from clusterra.core.change import Change, Kind, Record
from clusterra.core.errors import Conflict, Refused
from clusterra.core.events.event import Draft, Event
from clusterra.core.jobs.job import Job
from clusterra.core.jobs.query import Page, Query, sort_value

T = TypeVar("T")

BATCH = 256
"""Most changes in one transaction: enough to share a sync, few enough to answer soon."""

READERS = 4

_encode = msgspec.json.Encoder().encode
_decode_job = msgspec.json.Decoder(Job).decode
_decode_draft = msgspec.json.Decoder(Draft).decode

_PUT_RECORD = (
    "insert into record values (:kind, :id, 1, :body)"
    " on conflict do update set version = version + 1, body = :body where version = :version"
    " returning version"
)
Work = tuple[str, Change, "asyncio.Future[int]"]


class SqliteStore:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._counts = counts.Counts()
        self._queue: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="sqlite-reader")
        self._reading = threading.local()
        self._opened: list[sqlite3.Connection] = []
        path.touch(mode=0o600)  # before SQLite makes it, readable for everybody
        writing = _connect(path)
        _bring_up_to_date(writing)
        self._writer = threading.Thread(
            target=self._write, args=(writing,), name="sqlite-writer", daemon=True
        )
        self._writer.start()

    async def get(self, kind: Kind[T], id: str, default: T) -> Record[T]:
        row = await self._one(
            "select version, body from record where kind = ? and id = ?", (kind.name, id)
        )
        if row is None:
            return Record(kind=kind, id=id, value=default)
        value: T = msgspec.json.decode(row[1], type=kind.type)
        return Record(kind=kind, id=id, value=value, version=row[0])

    async def commit(self, cluster: str, change: Change) -> int:
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._queue.put((cluster, change, future))
        return await future

    async def events(self, cluster: str, *, after: int = 0, limit: int = 100) -> Sequence[Event]:
        rows = await self._all(
            "select seq, body from event where cluster = ? and seq > ? order by seq limit ?",
            (cluster, after, limit),
        )
        return [Event(cluster=cluster, seq=seq, draft=_decode_draft(body)) for seq, body in rows]

    async def job(self, cluster: str, id: int) -> Job | None:
        row = await self._one(
            "select body from job join job_body using (key)"
            " where cluster = ? and id = ? order by born desc limit 1",
            (cluster, id),
        )
        return None if row is None else _decode_job(row[0])

    async def run(self, cluster: str, run_id: str) -> Job | None:
        row = await self._one(
            "select body from job join job_body using (key)"
            " where cluster = ? and run = ? and run <> '' order by id limit 1",
            (cluster, run_id),
        )
        return None if row is None else _decode_job(row[0])

    async def jobs(self, cluster: str, query: Query) -> Page:
        statement, binds = find.page(cluster, query)
        rows = await self._all(statement, binds)
        found = [_decode_job(body) for (body,) in rows[: query.limit]]
        if len(rows) <= query.limit:
            return Page(jobs=found)
        last = found[-1]
        return Page(jobs=found, next=(sort_value(last, query.sort), *last.key))

    async def count(self, cluster: str, query: Query) -> int:
        condition, binds = find.where(cluster, query)
        known, asked = self._counts.now(cluster), counts.key(condition, binds)
        total = known.get(asked)
        if total is None:
            [total] = await self._one(f"select count(*) from job where {condition}", binds)  # noqa: S608
            known[asked] = int(total)
        return int(total)

    async def live_ids(self, cluster: str) -> Sequence[int]:
        rows = await self._all("select id from job where cluster = ? and live", (cluster,))
        return [id for (id,) in rows]

    async def tally(self, cluster: str) -> Mapping[str, int]:
        rows = await self._all(
            "select state, count(*) from job where cluster = ? group by state", (cluster,)
        )
        return {state.upper(): number for state, number in rows}

    def close(self) -> None:
        self._queue.put(None)
        self._writer.join()
        self._readers.shutdown()
        for db in self._opened:
            db.close()

    # --- reading: a few threads, each with a connection of its own

    async def _one(self, statement: str, binds: Any) -> Any:
        rows = await self._all(statement, binds)
        return rows[0] if rows else None

    async def _all(self, statement: str, binds: Any) -> list[Any]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, self._read, statement, binds)

    def _read(self, statement: str, binds: Any) -> list[Any]:
        db: sqlite3.Connection | None = getattr(self._reading, "db", None)
        if db is None:
            db = self._reading.db = _connect(self._path)
            self._opened.append(db)
        return db.execute(statement, binds).fetchall()

    # --- writing: one thread

    def _write(self, db: sqlite3.Connection) -> None:
        while (first := self._queue.get()) is not None:
            batch, more = self._batch(first)
            written: set[str] = set()
            try:
                db.execute("begin immediate")
                done = [_attempt(db, cluster, change, written) for cluster, change, _ in batch]
                db.execute("commit")
            except sqlite3.Error as error:
                if db.in_transaction:
                    db.execute("rollback")
                done = [_unwritable(self._path, error)] * len(batch)
            for cluster in written:
                self._counts.forget(cluster)
            for (_, _, future), result in zip(batch, done, strict=True):
                _settle(future, result)
            if not more:
                break
        db.close()

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


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
    db.execute("pragma journal_mode = wal")
    db.execute("pragma synchronous = full")
    # In KiB: the index that a search reads from end to end, for a hundred thousand jobs.
    db.execute("pragma cache_size = -16384")
    return db


def _bring_up_to_date(db: sqlite3.Connection) -> None:
    """Apply the schema files that this database has not seen yet."""
    [version] = db.execute("pragma user_version").fetchone()
    folder = resources.files(__package__) / "schema"
    files = sorted(file.name for file in folder.iterdir() if file.name.endswith(".sql"))
    if version > len(files):
        raise Refused(
            f"The database has schema {version}; this version of Clusterra knows {len(files)}.",
            hint="It was written by a newer version: start that one, or choose another --state.",
        )
    for number, name in enumerate(files[version:], start=version + 1):
        script = (folder / name).read_text()
        db.executescript(f"begin; {script}; pragma user_version = {number}; commit;")


def _attempt(
    db: sqlite3.Connection, cluster: str, change: Change, written: set[str]
) -> int | Exception:
    """Apply one change, and note in `written` the cluster if jobs of it are not what they were."""
    db.execute("savepoint one")
    try:
        result: int | Exception = _apply(db, cluster, change)
        for job in change.jobs:
            if put_job(db, cluster, job):
                written.add(cluster)
    except Conflict as conflict:
        db.execute("rollback to one")
        result = conflict
    db.execute("release one")
    return result


def _apply(db: sqlite3.Connection, cluster: str, change: Change) -> int:
    for put in change.puts:
        binds = {
            "kind": put.kind.name,
            "id": put.id,
            "version": put.version,
            "body": _encode(put.value),
        }
        if db.execute(_PUT_RECORD, binds).fetchone() != (put.version + 1,):
            raise Conflict(f"{put.kind.name} {put.id} was changed by somebody else.")
    [head] = db.execute(
        "select coalesce(max(seq), 0) from event where cluster = ?", (cluster,)
    ).fetchone()
    rows = [
        (cluster, seq, _encode(draft)) for seq, draft in enumerate(change.events, start=head + 1)
    ]
    db.executemany("insert into event values (?, ?, ?)", rows)
    return int(head) + len(rows)


def _unwritable(path: Path, error: sqlite3.Error) -> Exception:
    return Refused(
        f"The database {path} cannot be written: {error}.",
        hint="Check the free space and the permissions there; nothing was changed.",
        code="store-unwritable",
    )


def _settle(future: "asyncio.Future[int]", result: int | Exception) -> None:
    def settle() -> None:
        if future.cancelled():
            return
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)

    try:
        future.get_loop().call_soon_threadsafe(settle)
    except RuntimeError:
        return  # the loop is gone: whoever waited has stopped waiting, and the change is on disk
