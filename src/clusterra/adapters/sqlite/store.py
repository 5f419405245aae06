"""The embedded store: one file, one writer, a few readers."""

import asyncio
import sqlite3
import threading
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import msgspec

from clusterra.adapters.clock import SystemClock
from clusterra.adapters.sqlite import books, counts, deliveries, find, ledger
from clusterra.adapters.sqlite.connect import connect
from clusterra.adapters.sqlite.moments import moment_of
from clusterra.adapters.sqlite.writer import Told, Writer
from clusterra.core.change import Change, Kind, Record
from clusterra.core.cost.books import PaidRun, RunQuery, Spending, Spent
from clusterra.core.errors import ClusterraError
from clusterra.core.events.chain import Head
from clusterra.core.events.event import Event, EventQuery
from clusterra.core.jobs.job import Job
from clusterra.core.jobs.query import Page, Query, sort_value
from clusterra.core.webhooks.delivery import Attempt, Delivery, DeliveryQuery, DeliveryState
from clusterra.ports import Clock

T = TypeVar("T")

READERS = 4

_LAST = chr(0x10FFFF)
"""Sorts after every character that is in an id."""

_encode = msgspec.json.Encoder().encode
_decode_job = msgspec.json.Decoder(Job).decode

Rows: TypeAlias = list[Any]


class SqliteStore:
    def __init__(self, path: Path, *, clock: Clock | None = None) -> None:
        self._path = path
        self._counts = counts.Counts()
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="sqlite-reader")
        self._reading = threading.local()
        self._opened: Rows = []
        path.touch(mode=0o600)  # before SQLite makes it, readable for everybody
        self._writer = Writer(path, clock or SystemClock(), self._counts)

    async def get(self, kind: Kind[T], id: str, default: T) -> Record[T]:
        row = await self._one(
            "select version, body from record where kind = ? and id = ?", (kind.name, id)
        )
        if row is None:
            return Record(kind=kind, id=id, value=default)
        value: T = msgspec.json.decode(row[1], type=kind.type)
        return Record(kind=kind, id=id, value=value, version=row[0])

    async def list(self, kind: Kind[T], prefix: str = "") -> Sequence[Record[T]]:
        rows = await self._all(
            "select id, version, body from record where kind = ? and id >= ? and id < ? order by id",
            (kind.name, prefix, prefix + _LAST),
        )
        return [
            Record(
                kind=kind, id=id, value=msgspec.json.decode(body, type=kind.type), version=version
            )
            for id, version, body in rows
        ]

    async def commit(self, cluster: str, change: Change) -> int:
        return await self._writer.commit(cluster, change)

    async def events(self, cluster: str, query: EventQuery) -> Sequence[Event]:
        statement, binds = ledger.found(cluster, query)
        return [ledger.as_event(cluster, row) for row in await self._all(statement, binds)]

    async def events_at(self, cluster: str, seqs: Collection[int]) -> Mapping[int, Event]:
        rows = await self._all(ledger.AT, (cluster, _encode([*seqs]).decode()))
        return {row[0]: ledger.as_event(cluster, row) for row in rows}

    async def head(self, cluster: str) -> Head:
        return ledger.as_head(await self._one(ledger.HEAD, (cluster,)))

    async def oldest(self, cluster: str) -> int:
        return (await self.cut(cluster)).size + 1

    async def cut(self, cluster: str) -> Head:
        return ledger.as_head(await self._one(ledger.CUT, (cluster,)))

    async def seal(self, cluster: str, cut: Head, change: Change) -> None:
        await self._writer.commit(cluster, change, cut)

    def hold(self, cluster: str, why: ClusterraError) -> None:
        self._writer.held[cluster] = why

    def watch(self, told: Told) -> None:
        self._writer.watchers.append(told)

    async def job(self, cluster: str, id: int) -> Job | None:
        row = await self._one(
            "select body from job join job_body using (key)"
            " where cluster = ? and id = ? order by born desc limit 1",
            (cluster, id),
        )
        return None if row is None else _decode_job(row[0])

    async def jobs_by_id(self, cluster: str, ids: Collection[int]) -> Mapping[int, Job]:
        rows = await self._all(
            "select id, body from job join job_body using (key)"
            " where cluster = ? and id in (select value from json_each(?)) order by id, born",
            (cluster, _encode([*ids]).decode()),
        )
        return {id: _decode_job(body) for id, body in rows}

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

    async def spent(self, query: Spending) -> Sequence[Spent]:
        return books.as_spent(query, await self._all(*books.summed(query)))

    async def paid_runs(self, query: RunQuery) -> Sequence[PaidRun]:
        rows: Rows = []
        for cluster in query.clusters:
            rows += await self._all(*books.dearest(cluster, query))
        runs = sorted(map(books.as_run, rows), key=lambda paid: paid.rank, reverse=True)
        return runs[: query.limit]

    async def delivery(self, endpoint: str, event_id: str) -> Delivery | None:
        row = await self._one(deliveries.ONE, (endpoint, event_id))
        return None if row is None else deliveries.as_delivery(row)

    async def deliveries(self, query: DeliveryQuery) -> Sequence[Delivery]:
        return [*map(deliveries.as_delivery, await self._all(*deliveries.found(query)))]

    async def attempts(self, endpoint: str, event_id: str) -> Sequence[Attempt]:
        rows = await self._all(deliveries.ATTEMPTS, (endpoint, event_id))
        return [deliveries.as_attempt(body) for (body,) in rows]

    async def lanes(self) -> Mapping[str, datetime]:
        # Of two rows for an endpoint the earlier one stays.
        rows = sorted(await self._all(deliveries.LANES, ()), reverse=True)
        return {endpoint: moment_of(due) for endpoint, due in rows}

    async def delivery_tally(
        self, endpoint: str, since: datetime | None = None
    ) -> Mapping[DeliveryState, int]:
        counted = dict(await self._all(*deliveries.tallied(endpoint, since)))
        return {state: counted.get(state.value, 0) for state in DeliveryState}

    async def forget_deliveries(self, endpoint: str, *, ended_before: datetime | None) -> int:
        batch = partial(deliveries.forget, endpoint=endpoint, ended_before=ended_before)
        total = gone = await self._writer.act(batch)
        while gone == deliveries.BATCH:
            gone = await self._writer.act(batch)
            total += gone
        return total

    def close(self) -> None:
        self._writer.close()
        self._readers.shutdown()
        for db in self._opened:
            db.close()

    # --- reading: a few threads, each with a connection of its own

    async def _one(self, statement: str, binds: Any) -> Any:
        rows = await self._all(statement, binds)
        return rows[0] if rows else None

    async def _all(self, statement: str, binds: Any) -> Rows:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, self._read, statement, binds)

    def _read(self, statement: str, binds: Any) -> Rows:
        db: sqlite3.Connection | None = getattr(self._reading, "db", None)
        if db is None:
            db = self._reading.db = connect(self._path)
            self._opened.append(db)
        return db.execute(statement, binds).fetchall()
