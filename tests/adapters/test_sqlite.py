"""What only the SQLite store promises: it survives, and it says when it cannot."""

import asyncio
import re
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from clusterra.adapters.sqlite import deliveries
from clusterra.adapters.sqlite.store import SqliteStore
from clusterra.core.change import Change, Kind, Record
from clusterra.core.errors import Refused
from clusterra.core.events.event import EventQuery
from clusterra.core.webhooks.delivery import DeliveryOrder, DeliveryQuery, DeliveryState
from tests.builders import NOON, a_job
from tests.deliveries import a_delivery
from tests.ledger import a_draft

WRITER = """
import asyncio, sys
from pathlib import Path
from clusterra.adapters.sqlite.store import SqliteStore
from clusterra.core.change import Change
from tests.builders import a_job
from tests.ledger import a_draft

async def write(store, lane):
    for number in range(10**9):
        job = a_job(number * 10 + lane + 1)
        head = await store.commit("lab", Change(events=[a_draft(job.id)], jobs=[job]))
        print(head, job.id, flush=True)

async def main():
    store = SqliteStore(Path(sys.argv[1]))
    await asyncio.gather(*(write(store, lane) for lane in range(8)))

asyncio.run(main())
"""


@pytest.mark.parametrize("after", [1, 40, 200])
def test_what_was_acknowledged_survives_kill_9(tmp_path: Path, after: int) -> None:
    path = tmp_path / "clusterra.db"
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)],
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    assert writer.stdout is not None
    lines = [writer.stdout.readline() for _ in range(after)]
    writer.send_signal(signal.SIGKILL)
    lines += writer.stdout.readlines()
    writer.stdout.close()
    writer.wait()
    acknowledged = [tuple(map(int, line.split())) for line in lines if line.count(" ") == 1]

    async def story() -> None:
        store = SqliteStore(path)
        events = await store.events("lab", EventQuery(limit=10**6))
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert len(events) >= max(head for head, _ in acknowledged)
        for _, job_id in acknowledged[-20:]:
            assert await store.job("lab", job_id) is not None
        store.close()

    asyncio.run(story())


def test_what_was_written_is_there_after_reopening(tmp_path: Path) -> None:
    counter: Kind[int] = Kind("counter", int)

    async def story() -> None:
        first = SqliteStore(tmp_path / "clusterra.db")
        await first.commit(
            "lab",
            Change(
                puts=[Record(kind=counter, id="a", value=5)], jobs=[a_job()], events=[a_draft()]
            ),
        )
        written = await first.events("lab", EventQuery())
        head = await first.head("lab")
        first.close()

        second = SqliteStore(tmp_path / "clusterra.db")
        assert (await second.get(counter, "a", default=0)).value == 5
        assert await second.job("lab", 1) == a_job()
        assert [event.id for event in written] == [a_draft().id]
        assert await second.events("lab", EventQuery()) == written
        assert await second.head("lab") == head
        second.close()

    asyncio.run(story())


def test_a_job_written_again_as_it_was_is_not_written_to_disk(tmp_path: Path) -> None:
    path = tmp_path / "clusterra.db"

    def written() -> int:
        return path.stat().st_size + path.with_name("clusterra.db-wal").stat().st_size

    async def story() -> None:
        store = SqliteStore(path)
        await store.commit("lab", Change(jobs=[a_job(1)]))
        before = written()

        await store.commit("lab", Change(jobs=[a_job(1)]))
        assert written() == before

        await store.commit("lab", Change(jobs=[a_job(1, name="another")]))
        assert written() > before
        store.close()

    asyncio.run(story())


def test_a_database_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "clusterra.db"
    SqliteStore(path).close()
    with sqlite3.connect(path) as db:
        db.execute("pragma user_version = 99")
    db.close()

    with pytest.raises(Refused, match="has schema 99; this version of Clusterra knows 5"):
        SqliteStore(path)


def test_a_database_that_cannot_be_written_says_so_and_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "clusterra.db"

    async def story() -> None:
        store = SqliteStore(path)
        with sqlite3.connect(path) as db:
            db.execute(
                "create trigger full before insert on event begin select raise(abort, 'disk full'); end"
            )
        db.close()
        with pytest.raises(Refused, match="disk full"):
            await store.commit("lab", Change(events=[a_draft()], jobs=[a_job()]))

        assert await store.job("lab", 1) is None
        store.close()

    asyncio.run(story())


@pytest.mark.parametrize(
    "act",
    [
        "update event set body = 'x' where seq = 2",
        "delete from event where seq = 2",
        "delete from event",
        "update event_id set id = 'x'",
        "delete from event_id",
        "update ledger set size = 1",
        "update ledger set sealed = 99",
        "delete from ledger",
    ],
)
def test_an_accident_cannot_change_the_ledger(tmp_path: Path, act: str) -> None:
    path = tmp_path / "clusterra.db"

    async def story() -> None:
        store = SqliteStore(path)
        await store.commit("lab", Change(events=[a_draft(n) for n in range(3)]))
        with sqlite3.connect(path) as db, pytest.raises(sqlite3.IntegrityError):
            db.execute(act)
        db.close()
        assert len(await store.events("lab", EventQuery())) == 3
        store.close()

    asyncio.run(story())


@pytest.mark.parametrize(
    ("act", "says"),
    [
        ("update ledger set size = 2", "ends with event 2, and its last event is 3"),
        ("update ledger set chain = zeroblob(32)", "its last event is 3 with another hash"),
        ("delete from event where seq = 3", "ends with event 3, and its last event is 2"),
        ("delete from event", "ends with event 3, and its last event is 0"),
    ],
)
def test_nothing_is_added_to_a_ledger_whose_end_was_changed(
    tmp_path: Path, act: str, says: str
) -> None:
    path = tmp_path / "clusterra.db"

    async def story() -> None:
        store = SqliteStore(path)
        await store.commit("lab", Change(events=[a_draft(n) for n in range(3)]))
        with sqlite3.connect(path) as db:
            for (trigger,) in db.execute("select name from sqlite_master where type = 'trigger'"):
                db.execute(f"drop trigger {trigger}")
            db.execute(act)
        db.close()
        with pytest.raises(Refused, match=says) as refused:
            await store.commit("lab", Change(events=[a_draft(9)]))
        assert refused.value.code == "ledger-broken"
        await store.commit("lab", Change(jobs=[a_job()]))
        assert await store.commit("other", Change(events=[a_draft(9)])) == 1
        store.close()

    asyncio.run(story())


def test_a_database_from_before_webhooks_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "clusterra.db"

    async def story() -> None:
        older = SqliteStore(path)
        await older.commit("lab", Change(events=[a_draft()], jobs=[a_job()]))
        head = await older.head("lab")
        older.close()
        with sqlite3.connect(path) as db:
            db.executescript("drop table delivery; drop table attempt; pragma user_version = 4")
        db.close()

        store = SqliteStore(path)
        assert await store.lanes() == {}
        await store.commit("lab", Change(deliveries=[a_delivery(due=NOON)]))
        assert await store.lanes() == {"whk_ours": NOON}
        assert await store.head("lab") == head
        assert await store.job("lab", 1) == a_job()
        store.close()

    asyncio.run(story())


def _plan(db: sqlite3.Connection, statement: str, binds: Any) -> list[str]:
    """Return how SQLite goes about it, as far as it touches a table of deliveries."""
    rows = db.execute(f"explain query plan {statement}", binds).fetchall()
    steps = [row[3] for row in rows if re.search(r"\b(delivery|attempt)\b", row[3])]
    assert steps
    return steps


@pytest.mark.parametrize("order", DeliveryOrder)
@pytest.mark.parametrize(
    "narrowed",
    [
        {},
        {"due_by": NOON},
        {"tried": False, "due_by": NOON},
        {"tried": True},
        {"states": (DeliveryState.PENDING, DeliveryState.RETRY), "after": (1, "lab", 1)},
        {"states": (DeliveryState.DEAD,), "types": ("job.*",), "since": NOON, "until": NOON},
    ],
)
def test_deliveries_are_found_by_index_however_many_have_ended(
    tmp_path: Path, order: DeliveryOrder, narrowed: dict[str, Any]
) -> None:
    SqliteStore(tmp_path / "clusterra.db").close()
    query = DeliveryQuery(endpoint="whk_ours", order=order, **narrowed)
    with closing(sqlite3.connect(tmp_path / "clusterra.db")) as db:
        steps = _plan(db, *deliveries.found(query))

    index = "delivery_due" if order is DeliveryOrder.DUE else "delivery_place"
    part = "<expr>=?" if order is DeliveryOrder.DUE else "state=?"
    for step in steps:
        assert step.startswith(f"SEARCH delivery USING INDEX {index} (endpoint=? AND {part}"), step


def test_lanes_tallies_and_tries_are_read_from_indexes_alone(tmp_path: Path) -> None:
    SqliteStore(tmp_path / "clusterra.db").close()
    with closing(sqlite3.connect(tmp_path / "clusterra.db")) as db:
        lanes = _plan(db, deliveries.LANES, ())
        tally = _plan(db, *deliveries.tallied("whk_ours", NOON))
        tries = _plan(db, deliveries.ATTEMPTS, ("whk_ours", "event-1"))

    assert all("SEARCH" in step and "delivery_due" in step for step in lanes)
    assert tally == ["SEARCH delivery USING COVERING INDEX delivery_place (endpoint=?)"]
    assert all("SEARCH" in step for step in tries)


def test_what_is_to_be_forgotten_is_found_by_index(tmp_path: Path) -> None:
    SqliteStore(tmp_path / "clusterra.db").close()
    asked: list[str] = []
    with closing(sqlite3.connect(tmp_path / "clusterra.db")) as db:
        db.set_trace_callback(asked.append)
        deliveries.forget(db, "", NOON)
        deliveries.forget(db, "whk_ours", None)
        db.set_trace_callback(None)
        selects = [statement for statement in asked if statement.startswith("select")]
        steps = [step for statement in selects for step in _plan(db, statement, ())]

    assert len(selects) == len(steps) == 2
    assert "delivery_over (over<?)" in steps[0]
    assert all(step.startswith("SEARCH delivery") for step in steps)


def test_others_are_served_while_much_is_forgotten(tmp_path: Path) -> None:
    async def story() -> None:
        store = SqliteStore(tmp_path / "clusterra.db")
        rows = [a_delivery(n) for n in range(3 * deliveries.BATCH)]
        await store.commit("lab", Change(deliveries=rows))

        forgetting = asyncio.create_task(store.forget_deliveries("whk_ours", ended_before=None))
        # Their first batch is queued before this, and their last one cannot be.
        await asyncio.sleep(0)
        await store.commit("lab", Change(jobs=[a_job()]))
        assert not forgetting.done()
        assert await forgetting == len(rows)
        store.close()

    asyncio.run(story())
