"""`clusterra events export` and `verify`, at a terminal in front of a pretended server."""

import asyncio
import json
import sqlite3
from pathlib import Path

import pytest

from clusterra.adapters.archive_local import LocalArchive
from clusterra.adapters.clock import SystemClock
from clusterra.adapters.ledger_key import open_key
from clusterra.adapters.sqlite.store import SqliteStore
from clusterra.control.checkpoint import Checkpointer
from clusterra.core.change import Change
from tests.cli.conftest import Terminal
from tests.cli.world import TOKEN, Answer, FakeApi
from tests.ledger import LAB, Ledger, a_draft, exported

pytestmark = pytest.mark.enable_socket


@pytest.fixture
def terminal(api: FakeApi, tmp_path: Path) -> Terminal:
    return Terminal(
        {
            "CLUSTERRA_URL": api.url,
            "CLUSTERRA_TOKEN": TOKEN,
            "CLUSTERRA_STATE": str(tmp_path / "state"),
            "XDG_STATE_HOME": str(tmp_path / "memory"),
        }
    )


def show(api: FakeApi, lines: list[bytes]) -> None:
    """Let the server have this ledger."""
    body = b"\n".join(lines) + b"\n"
    api.routes["GET events/export"] = lambda _: Answer(200, body, "text/plain")


def test_an_intact_ledger_of_a_server_exits_with_0(api: FakeApi, terminal: Terminal) -> None:
    show(api, exported(4, 3))

    result = terminal("events", "verify")

    assert result.exit_code == 0
    assert "✓ Intact: events 1 to 7 of cluslab1." in result.output
    assert "Signed up to 7 on 2026-03-02 12:02:00 UTC." in result.output
    assert "not known here before: clusterra/cluslab1+" in result.output
    assert "not known here before" not in terminal("events", "verify").output


def test_a_server_is_held_to_what_was_seen_before(api: FakeApi, terminal: Terminal) -> None:
    show(api, exported(4, 3))
    assert terminal("events", "verify").exit_code == 0

    show(api, exported(4))
    shorter = terminal("events", "verify")
    assert shorter.exit_code == 2
    assert "covers 7 events; the last one here is 4" in shorter.output

    show(api, exported(4, 3, name="rewritten"))
    rewritten = terminal("events", "verify")
    assert rewritten.exit_code == 1
    assert "Two histories of 7 events were signed" in rewritten.output

    show(api, exported(4, 3, seed=bytes(32)))
    other_key = terminal("events", "verify")
    assert other_key.exit_code == 1
    assert "this ledger is known by" in other_key.output
    assert "remove" in other_key.output

    show(api, exported(4, 3, 2))
    assert terminal("events", "verify").exit_code == 0


def test_what_is_wrong_is_not_remembered(api: FakeApi, terminal: Terminal) -> None:
    show(api, exported(4, 3)[:-1])
    assert terminal("events", "verify").exit_code == 2
    show(api, exported(4, 3, name="other"))
    assert terminal("events", "verify").exit_code == 0


def test_an_export_is_a_file_that_is_verified_without_a_server(
    api: FakeApi, terminal: Terminal, tmp_path: Path
) -> None:
    show(api, exported(4, 3))
    file = tmp_path / "lab.ledger"

    saved = terminal("events", "export", "-o", str(file))

    assert saved.exit_code == 0
    assert "7 events in" in saved.output
    asked = len(api.asked)
    assert terminal("events", "verify", str(file)).exit_code == 0
    assert len(api.asked) == asked
    assert [each.name for each in tmp_path.glob("*lab*")] == ["lab.ledger"]


def test_an_export_without_a_file_goes_to_stdout(api: FakeApi, terminal: Terminal) -> None:
    lines = exported(2)
    show(api, lines)

    result = terminal("events", "export", "--after", "0", "--until", "2")

    assert result.stdout_bytes == b"\n".join(lines) + b"\n"
    assert api.asked[-1].query == {"after": "0", "until": "2"}


def test_a_file_that_was_changed_exits_with_1_and_says_where(
    terminal: Terminal, tmp_path: Path
) -> None:
    file = tmp_path / "lab.ledger"
    file.write_bytes(b"\n".join(exported(4, 3)).replace(b'"job_id":3', b'"job_id":9') + b"\n")

    told = terminal("events", "verify", str(file))
    assert told.exit_code == 1
    assert "✗ Tampered with" in told.output
    assert "Event 3 is not what it was" in told.output

    report = json.loads(terminal("events", "verify", str(file), "--json").output)
    assert report["verdict"] == "tampered"
    assert [(each["what"], each["first"]) for each in report["findings"]] == [("altered", 3)]


def test_an_older_export_is_not_blamed_for_what_came_later(
    terminal: Terminal, tmp_path: Path
) -> None:
    for name, steps in (("new", (4, 3)), ("old", (4,))):
        file = tmp_path / name
        file.write_bytes(b"\n".join(exported(*steps)) + b"\n")
        assert terminal("events", "verify", str(file)).exit_code == 0


def test_a_key_can_be_named(terminal: Terminal, tmp_path: Path) -> None:
    file = tmp_path / "lab.ledger"
    file.write_bytes(b"\n".join(exported(4)) + b"\n")
    right = str(Ledger().checkpointer.key)
    wrong = str(Ledger(seed=bytes(32)).checkpointer.key)

    assert terminal("events", "verify", str(file), "--key", wrong).exit_code == 1
    assert terminal("events", "verify", str(file), "--key", right).exit_code == 0
    unreadable = terminal("events", "verify", str(file), "--key", "x")
    assert unreadable.exit_code == 2
    assert "not a public key" in unreadable.output


def test_what_is_no_ledger_is_called_that(terminal: Terminal, tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_text("hello\n")

    result = terminal("events", "verify", str(file))
    assert result.exit_code == 2
    assert "not a ledger that can be verified" in result.output
    assert terminal("events", "verify", str(tmp_path / "none")).exit_code == 2


def test_a_database_is_verified_while_no_server_runs(terminal: Terminal, tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()

    async def story() -> None:
        store = SqliteStore(state / "clusterra.db")
        await store.commit(LAB, Change(events=[a_draft(n) for n in range(1, 1200)]))
        await Checkpointer(
            cluster=LAB,
            store=store,
            archive=LocalArchive(state / "ledger"),
            signer=open_key(state / "ledger.key"),
            clock=SystemClock(),
        ).sign()
        store.close()

    asyncio.run(story())
    told = terminal("events", "verify", "--offline")
    assert told.exit_code == 0, told.output
    assert "events 1 to 1,199" in told.output

    with sqlite3.connect(state / "clusterra.db") as db:
        db.execute("drop trigger event_is_never_changed")
        changed = "cast(replace(body, 'ana', 'eve') as blob)"
        db.execute(f"update event set body = {changed} where seq = 700")
    db.close()
    told = terminal("events", "verify", "--offline", "--cluster", LAB)
    assert told.exit_code == 1
    assert "Event 700 is not what it was" in told.output

    nowhere = terminal("events", "verify", "--offline", "--state", str(tmp_path / "none"))
    assert nowhere.exit_code == 4
