"""Workspaces and the audit, from the terminal."""

import json
from datetime import timedelta

import pytest

from clusterra.wire.events import EventView
from tests.cli.conftest import Terminal
from tests.cli.world import NOON, FakeApi, a_workspace

pytestmark = pytest.mark.enable_socket


@pytest.fixture(autouse=True)
def in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


def an_event(seq: int, type: str, subject: str, **data: object) -> EventView:
    at = NOON + timedelta(seconds=seq)
    return EventView(
        specversion="1.0",
        id=f"evt_{seq}",
        source="/workspaces/lab",
        type=type,
        subject=subject,
        time=at,
        timestamp=at,
        recordedtime=at,
        sequence=f"{seq:020}",
        authtype="user",
        authid="ana@lab.example",
        correlationid="",
        dataschema=f"urn:clusterra:event:{type}:1",
        datacontenttype="application/json",
        data=dict(data),
    )


GRANTED = an_event(
    9,
    "user.access.granted",
    "user/ben@lab.example",
    email="ben@lab.example",
    role="member",
    address="192.0.2.7",
)
LOGIN = an_event(
    8, "user.login", "user/ana@lab.example", email="ana@lab.example", address="192.0.2.7"
)
CANCELLED = an_event(7, "job.cancelled", "job/41", job_id=41, ran_seconds=31)


def test_the_audit_tells_who_did_what_from_where_newest_first(
    terminal: Terminal, api: FakeApi
) -> None:
    found = {"events": [GRANTED, LOGIN, CANCELLED], "next": None}
    api.routes["GET /v1/audit"] = lambda _: found

    assert terminal("audit").stdout.splitlines() == [
        "  TIME      WHO              FROM       WHAT",
        "  12:00:09  ana@lab.example  192.0.2.7  ben@lab.example was given the role member",
        "  12:00:08  ana@lab.example  192.0.2.7  signed in",
        "  12:00:07  ana@lab.example  –          job/41: cancelled it after 31 s",
        "3 events · as JSON: clusterra audit --json",
    ]
    assert api.asked[-1].query == {"limit": "50"}


def test_what_is_asked_for_travels(terminal: Terminal, api: FakeApi) -> None:
    api.workspaces = [a_workspace(), a_workspace("field", name="Field work")]
    api.routes["GET /v1/audit"] = lambda _: {"events": [], "next": None}

    told = terminal(
        *("audit", "--actor", "ana@lab.example", "--type", "user.*", "--since", "2d"),
        *("--until", "1h", "--limit", "5", "--workspace", "Field work"),
    ).stdout

    assert told == "Nothing matches. All of it: clusterra audit\n"
    assert api.asked[-1].query == {
        "workspace": "field",
        "actor": "ana@lab.example",
        "type": "user.*",
        "since": "2d",
        "until": "1h",
        "limit": "5",
    }


def test_more_than_was_asked_for_says_how_to_go_on(terminal: Terminal, api: FakeApi) -> None:
    api.routes["GET /v1/audit"] = lambda _: {"events": [LOGIN], "next": "c"}

    assert terminal("audit", "--limit", "1").stdout.splitlines()[-1] == (
        "the newest 1 event · earlier ones: add --until 2026-05-14T12:00:08Z"
    )
    assert json.loads(terminal("audit", "--json").stdout)["next"] == "c"


def test_workspaces_say_what_one_is_and_what_members_see(terminal: Terminal, api: FakeApi) -> None:
    api.workspaces = [a_workspace(), a_workspace("field", name="Field", others_jobs="hidden")]

    assert terminal("workspaces", "list").stdout.splitlines() == [
        "  ID     NAME     YOU ARE  CLUSTERS",
        "  lab    The Lab  owner    clus1a2b  members see each other's jobs in full",
        "  field  Field    owner    clus1a2b  members see their own jobs only",
        "2 workspaces · who is in one: clusterra people list",
    ]


def test_what_is_set_is_told_and_the_rest_stays(terminal: Terminal, api: FakeApi) -> None:
    changed = a_workspace(others_jobs="queue")
    api.routes["PATCH /v1/workspaces/lab"] = lambda _: changed

    told = terminal("workspaces", "set", "--others-jobs", "queue").stdout

    assert told == ("The Lab (lab): members see that others' jobs wait or run, and no more.\n")
    assert api.asked[-1].body == {"name": None, "others_jobs": "queue"}
    assert terminal("workspaces", "set").exit_code == 2
