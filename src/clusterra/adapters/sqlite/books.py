"""The books in SQLite: written inside the ledger's transaction, read in one statement.

What goes into which quarter of an hour is decided in `core.cost.books`. Here it is summed up
before it is written, and read back from as few rows as will do: whole days from the rows of
days, and only the ends of a period from those of quarters.
"""

import json
import operator
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any, TypeAlias

import msgspec

from clusterra.adapters.sqlite.find import Binds
from clusterra.adapters.sqlite.moments import EPOCH, moment_of, number_of
from clusterra.core.cost import books
from clusterra.core.cost.books import (
    Entry,
    PaidRun,
    Payer,
    Run,
    RunQuery,
    Spending,
    Spent,
    Sums,
    paid_run,
    portions,
)
from clusterra.core.cost.charges import Charge

SECOND = timedelta(seconds=1)
QUARTER = books.QUARTER // SECOND
DAY = timedelta(days=1) // SECOND

Line: TypeAlias = tuple[str, str, str, str, str, str]
"""Cluster, what, and who pays."""

Amounts: TypeAlias = tuple[int, ...]
"""`Sums`, in the order of the columns."""

_encode = msgspec.json.Encoder().encode
_decode_charges = msgspec.json.Decoder(tuple[Charge, ...]).decode

_PAYER = "cluster, what, person, account, partition, template"
_GET_PAYER = f"select key from payer where ({_PAYER}) = (?, ?, ?, ?, ?, ?)"  # noqa: S608
_PUT_PAYER = f"insert into payer ({_PAYER}) values (?, ?, ?, ?, ?, ?) returning key"  # noqa: S608

_SUMS = ("micros", "jobs", "unknown", "seconds", "cpu_seconds", "gpu_seconds")
_amounts = operator.attrgetter(*_SUMS)
_ADD = (
    "insert into spent values (?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608
    " on conflict do update set "
    + ", ".join(f"{name} = {name} + excluded.{name}" for name in _SUMS)
)
_SUM = (
    "select {key}, "  # noqa: S608
    + ", ".join(f"sum({name})" for name in _SUMS)
    # In this order: from the payers that are meant to their rows, of which no other is read.
    + " from payer cross join spent on payer.key = spent.payer"
    " and span = :span{n} and at >= :since{n} and at < :until{n}"
    " where {meant} group by {key}"
)

_RUN = (
    "cluster, job, born, restarts, label, name, person, account, partition, template,"
    " since, until, micros, why_unknown, charges"
)
_GET_RUN = (
    f"select {_RUN} from paid_run"  # noqa: S608
    " where cluster = ? and job = ? and born = ? and restarts = ?"
)
_PUT_RUN = "replace into paid_run values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"


class Posting:
    """What one transaction adds to the books. `finish` writes it; nothing outlives it.

    The ten thousand tasks of an array that end together are one row for each quarter of an
    hour in which some of them ran.
    """

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._lines: defaultdict[Line, dict[int, Amounts]] = defaultdict(dict)
        self._runs: dict[tuple[str, int, int, int], PaidRun] = {}

    def add(self, cluster: str, entries: Iterable[Entry]) -> None:
        # All is worked out before anything is noted: what is wrong with one of them must leave
        # nothing behind here, where no savepoint reaches.
        added = [(entry, portions(entry), paid_run(cluster, entry)) for entry in entries]
        for entry, parts, run in added:
            quarters = self._lines[cluster, entry.what.value, *_paying(entry.payer)]
            for at, sums in parts:
                _count(quarters, at, _amounts(sums))
            if run is not None:
                earlier = self._runs.get(key := _key(run))
                self._runs[key] = earlier.and_then(run) if earlier else run

    def finish(self) -> None:
        for line, quarters in self._lines.items():
            days: dict[int, Amounts] = {}
            for at, amounts in quarters.items():
                _count(days, at - at % DAY, amounts)
            payer = self._payer(line)
            for span, rows in ((QUARTER, quarters), (DAY, days)):
                self._db.executemany(
                    _ADD, [(payer, span, at, *amounts) for at, amounts in rows.items()]
                )
        self._db.executemany(_PUT_RUN, [_row(self._whole(run)) for run in self._runs.values()])

    def _payer(self, line: Line) -> int:
        row = self._db.execute(_GET_PAYER, line).fetchone()
        [key] = row or self._db.execute(_PUT_PAYER, line).fetchone()
        return int(key)

    def _whole(self, run: PaidRun) -> PaidRun:
        row = self._db.execute(_GET_RUN, _key(run)).fetchone()
        return as_run(row).and_then(run) if row else run


def summed(query: Spending) -> tuple[str, Binds]:
    """Return the statement for what a question comes to: a few rows for every key."""
    query.check()
    binds: Binds = {
        "clusters": json.dumps(query.clusters),
        "what": json.dumps(sorted(query.what)),
    }
    meant = (
        "cluster in (select value from json_each(:clusters))"
        " and what in (select value from json_each(:what))"
    )
    if query.person is not None:
        meant += " and person = :person"
        binds["person"] = query.person
    key = ", ".join(each.value for each in query.by) or "null"
    arms = []
    since, until = (query.since - EPOCH) // SECOND, (query.until - EPOCH) // SECOND
    for number, place in enumerate(_spans(since, until)):
        arms.append(_SUM.format(key=key, meant=meant, n=number))
        binds |= zip((f"span{number}", f"since{number}", f"until{number}"), place, strict=True)
    return " union all ".join(arms), binds


def as_spent(query: Spending, rows: Iterable[Any]) -> Sequence[Spent]:
    width = len(query.by)
    found: dict[tuple[str, ...], Sums] = {}
    for row in rows:
        key, sums = tuple(row[:width]), Sums(**dict(zip(_SUMS, row[-len(_SUMS) :], strict=True)))
        found[key] = found[key] + sums if key in found else sums
    return [Spent(key=key, sums=sums) for key, sums in sorted(found.items()) if sums]


def dearest(cluster: str, query: RunQuery) -> tuple[str, Binds]:
    """Return the statement for the runs of one cluster that a query means."""
    binds: Binds = {
        "cluster": cluster,
        "since": number_of(query.since),
        "until": number_of(query.until),
        "limit": query.limit,
    }
    meant = (
        "cluster = :cluster and since < :until"
        " and (until > :since or (until = since and since = :since))"
    )
    index = "paid_run_dearest"
    if query.person is not None:
        meant += " and person = :person"
        binds["person"] = query.person
        index = "paid_run_person"
    if query.unknown:
        meant += " and why_unknown <> ''"
        index = "paid_run_unknown"
    # The index alone says which are meant, and only these are read.
    found = (
        f"select cluster, job, born, restarts from paid_run indexed by {index} where {meant}"  # noqa: S608
        " order by micros desc, until desc, job desc, born desc, restarts desc limit :limit"
    )
    return f"select {_RUN} from ({found}) join paid_run using (cluster, job, born, restarts)", binds  # noqa: S608


def as_run(row: Any) -> PaidRun:
    cluster, job, born, restarts, label, name, *payer, since, until, micros, why, charges = row
    person, account, partition, template = payer
    return PaidRun(
        cluster=cluster,
        run=Run(
            job_id=job,
            born_at=moment_of(born),
            restarts=restarts,
            label=label,
            name=name,
        ),
        payer=Payer(person=person, account=account, partition=partition, template=template),
        since=moment_of(since),
        until=moment_of(until),
        micros=micros,
        why_unknown=why,
        charges=_decode_charges(charges),
    )


def _spans(since: int, until: int) -> Sequence[tuple[int, int, int]]:
    """Cover a period: the days that are whole by rows of days, the ends by quarters of an hour."""
    first, last = -(-since // DAY) * DAY, until // DAY * DAY
    if first >= last:
        return [(QUARTER, since, until)]
    return [(QUARTER, since, first), (DAY, first, last), (QUARTER, last, until)]


def _count(rows: dict[int, Amounts], at: int, amounts: Amounts) -> None:
    """Add to a row; in bare numbers, because a long array brings a million of these."""
    known = rows.get(at)
    rows[at] = tuple(map(operator.add, known, amounts)) if known else amounts


def _paying(payer: Payer) -> tuple[str, str, str, str]:
    return payer.person, payer.account, payer.partition, payer.template


def _key(paid: PaidRun) -> tuple[str, int, int, int]:
    return paid.cluster, paid.run.job_id, number_of(paid.run.born_at), paid.run.restarts


def _row(paid: PaidRun) -> tuple[Any, ...]:
    return (
        *_key(paid),
        paid.run.label,
        paid.run.name,
        *_paying(paid.payer),
        number_of(paid.since),
        number_of(paid.until),
        paid.micros,
        paid.why_unknown,
        _encode(paid.charges),
    )
