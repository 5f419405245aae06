"""Webhooks in the terminal: who is told, of what, and what came of it."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clusterra.cli.screen import Screen
from clusterra.wire.webhooks import (
    DeliveryDetail,
    DeliveryPage,
    Replayed,
    SecretRotated,
    WebhookChanged,
    WebhookDeleted,
    WebhookMade,
    WebhookPage,
)
from tests.cli.conftest import Terminal
from tests.cli.hooks import (
    EVENT,
    HOOKS,
    REFUSED,
    a_delivery,
    a_list,
    a_trial,
    a_webhook,
    an_attempt,
)
from tests.cli.world import NOON, Answer, FakeApi, problem

pytestmark = pytest.mark.enable_socket

CI = f"{HOOKS}/whk_1a2b3c"
SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="


@pytest.fixture(autouse=True)
def in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


@pytest.fixture(autouse=True)
def one_webhook(api: FakeApi) -> None:
    api.routes[f"GET {HOOKS}"] = lambda _: a_list(a_webhook())


# --- list and show


def test_the_list_says_first_whether_all_is_well(terminal: Terminal, api: FakeApi) -> None:
    chat = a_webhook(
        "whk_9z8y7x",
        name="alerts",
        url="https://hooks.slack.com/services/…",
        format="slack",
        types=[],
        severity="error",
        failing_since=NOON - timedelta(hours=2),
        waiting=3,
        dead=1,
        why="Answered 503.",
    )
    api.routes[f"GET {HOOKS}"] = lambda _: a_list(a_webhook(), chat)
    terminal.screen = Screen(live=False, colour=False, width=160)

    assert terminal("webhooks", "list").stdout.splitlines() == [
        "2 webhooks; 1 does not answer.",
        "  NAME    STATE      TO                                  OF                            24 H  WAITING  GIVEN UP",
        "  ci      ● active   https://ci.lab.example/hook         job.*                          120        0         0",
        "  alerts  ! failing  https://hooks.slack.com/services/…  every event · error or worse   120        3         1  Answered 503.",
        "  Why:  clusterra webhooks deliveries alerts --only dead,retry",
    ]


def test_a_list_without_trouble_fits_and_names_what_is_next(terminal: Terminal) -> None:
    told = terminal("webhooks", "list").stdout.splitlines()

    assert told[0] == "1 webhook; it is well."
    assert told[-1] == "  More of one:  clusterra webhooks show ci"
    assert all(len(line) <= 100 for line in told)


def test_no_webhooks_is_a_lesson(terminal: Terminal, api: FakeApi) -> None:
    api.routes[f"GET {HOOKS}"] = lambda _: a_list()

    told = terminal("webhooks", "list").stdout.splitlines()

    assert told[0] == "No webhooks yet: nobody is told when something happens."
    assert sum("clusterra webhooks add " in line for line in told) == 3
    assert "events listen --forward" in told[-1]


def test_only_a_workspace_that_is_named_is_asked_for(terminal: Terminal, api: FakeApi) -> None:
    terminal("webhooks", "list")
    assert api.asked[-1].query == {}

    terminal("webhooks", "list", "--workspace", "The Lab")
    assert api.asked[-1].query == {"workspace": "lab"}


def test_one_webhook_is_shown_whole(terminal: Terminal, api: FakeApi) -> None:
    view = a_webhook(
        people=["ana"],
        partitions=["main"],
        states=["FAILED"],
        names=["align-*"],
        severity="warning",
        secrets=2,
        ed25519=True,
        public_key="whpk_" + "A" * 43 + "=",
        ordered=True,
        per_second=2.5,
        allow_private=True,
        zone="Asia/Kolkata",
        waiting=3,
        kept=1,
    )
    api.routes[f"GET {CI}"] = lambda _: view

    assert terminal("webhooks", "show", "ci").stdout.splitlines() == [
        "ci · whk_1a2b3c · ● active · tells https://ci.lab.example/hook",
        "  of       job.* · of ana · in main · ended FAILED · named align-* · warning or worse",
        "  as       JSON, signed with 2 secrets and Ed25519",
        f"  public   whpk_{'A' * 43}=",
        "  order    one at a time, as it happened",
        "  rate     at most 2.5 a second",
        "  reaches  private addresses too",
        "  times    as in Asia/Kolkata",
        "  24 h     120 told · 3 waiting · 1 kept · 0 given up",
        "  made     2026-05-14 by ana@lab.example in lab",
        "  Next:    clusterra webhooks deliveries ci",
    ]


def test_many_types_are_counted_in_a_sentence_and_shown_whole_where_one_looks(
    terminal: Terminal, api: FakeApi
) -> None:
    types = [f"job.of_kind_{number}" for number in range(12)]
    api.routes[f"POST {HOOKS}"] = lambda _: made(types=types)
    api.routes[f"GET {CI}"] = lambda _: a_webhook(types=types)

    added = terminal("webhooks", "add", "https://x.example").stdout.splitlines()[0]
    shown = terminal("webhooks", "show", "ci").stdout

    assert added.endswith("job.of_kind_3 and 8 more.")
    assert all(type in shown for type in types)
    assert all(len(line) <= 100 for line in shown.splitlines())


@pytest.mark.parametrize(
    ("known", "next_step"),
    [
        ({"state": "disabled", "why": "It said that it is gone (410)."}, "resume ci"),
        ({"state": "paused"}, "resume ci"),
        ({"dead": 2}, "replay ci --failed-since 1d --dry-run"),
        ({"failing_since": NOON - timedelta(hours=2)}, "deliveries ci --only retry"),
    ],
)
def test_the_next_step_is_the_one_that_helps(
    terminal: Terminal, api: FakeApi, known: dict[str, Any], next_step: str
) -> None:
    api.routes[f"GET {CI}"] = lambda _: a_webhook(**known)

    told = terminal("webhooks", "show", "ci").stdout.splitlines()

    assert told[-1] == f"  Next:    clusterra webhooks {next_step}"


# --- which is meant


def test_a_webhook_is_named_by_id_name_or_how_its_id_begins(
    terminal: Terminal, api: FakeApi
) -> None:
    api.routes[f"GET {HOOKS}"] = lambda asked: (
        WebhookPage(webhooks=[a_webhook("whk_1a99", name="other")], total=2, next="2")
        if "cursor" not in asked.query
        else a_list(a_webhook())
    )
    api.routes[f"GET {CI}"] = lambda _: a_webhook()

    for wanted in ("whk_1a2b3c", "ci", "whk_1a2"):
        assert terminal("webhooks", "show", wanted).exit_code == 0
        assert api.asked[-1].path == CI


def test_what_is_not_clear_is_asked_back(terminal: Terminal, api: FakeApi) -> None:
    same = a_list(a_webhook(), a_webhook("whk_1a99"))
    api.routes[f"GET {HOOKS}"] = lambda _: same

    by_name = terminal("webhooks", "show", "ci")
    by_id = terminal("webhooks", "show", "whk_1a")
    nobody = terminal("webhooks", "show", "prod")
    api.routes[f"GET {HOOKS}"] = lambda _: a_list()
    none = terminal("webhooks", "show", "prod")

    assert (by_name.exit_code, by_id.exit_code, nobody.exit_code, none.exit_code) == (2, 2, 4, 4)
    assert by_name.stderr.splitlines() == [
        "2 webhooks are meant by 'ci'.",
        "Use more of an id: whk_1a2b3c and whk_1a99.",
    ]
    assert "There are: ci." in nobody.stderr
    assert "clusterra webhooks add URL" in none.stderr


def test_a_name_that_cannot_be_typed_is_given_as_an_id(terminal: Terminal, api: FakeApi) -> None:
    odd = a_webhook(name="our ci; rm -rf \x1b[2J")
    api.routes[f"GET {HOOKS}"] = lambda _: a_list(odd)
    api.routes[f"GET {CI}"] = lambda _: odd

    told = terminal("webhooks", "show", "whk_").stdout

    assert "\x1b" not in told
    assert told.splitlines()[-1] == "  Next:    clusterra webhooks deliveries whk_1a2b3c"


# --- add, edit, pause, resume, remove, rotate


def made(**known: Any) -> WebhookMade:
    return WebhookMade(webhook=a_webhook(**known), id="whk_1a2b3c", secret=SECRET)


def test_a_new_webhook_shows_its_secret_once_and_says_so(terminal: Terminal, api: FakeApi) -> None:
    api.routes[f"POST {HOOKS}"] = lambda _: made()

    told = terminal("webhooks", "add", "https://ci.lab.example/hook", "--types", "job.*")

    assert api.asked[-1].body == {"url": "https://ci.lab.example/hook", "types": ["job.*"]}
    assert told.stdout.splitlines() == [
        "The webhook ci (whk_1a2b3c) tells https://ci.lab.example/hook of job.*.",
        "  As:      JSON, signed with 1 secret",
        f"  Secret:  {SECRET}",
        "           It is shown this once. The receiver verifies with it what it is sent.",
        "  Next:    clusterra webhooks test ci",
    ]


def test_everything_that_was_said_is_asked_for(
    terminal: Terminal, api: FakeApi, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text("ghp_x\n")
    api.routes[f"POST {HOOKS}"] = lambda _: made()

    told = terminal(
        *("webhooks", "add", "https://x.example", "--types", "job.failed, job.timeout"),
        *("--types", "node.*", "--person", "ana", "--partition", "main", "--job-state", "FAILED"),
        *("--job-name", "align-*", "--cluster-id", "clus1a2b", "--severity", "warning"),
        *("--name", "ci", "--format", "github", "--allow-private", "--ordered", "--ed25519"),
        *("--zone", "Asia/Kolkata", "--per-second", "2", "--credential-file", str(token)),
        *("--workspace", "lab", "--json"),
    )

    assert api.asked[-1].body == {
        "url": "https://x.example",
        "types": ["job.failed", "job.timeout", "node.*"],
        "name": "ci",
        "format": "github",
        "workspace": "lab",
        "clusters": ["clus1a2b"],
        "people": ["ana"],
        "partitions": ["main"],
        "states": ["FAILED"],
        "names": ["align-*"],
        "severity": "warning",
        "ordered": True,
        "ed25519": True,
        "allow_private": True,
        "zone": "Asia/Kolkata",
        "per_second": 2,
        "credential": "ghp_x",
    }
    assert json.loads(told.stdout)["secret"] == SECRET


def test_json_is_what_the_api_answers_byte_for_byte(terminal: Terminal, api: FakeApi) -> None:
    body = msgspec.json.encode(made()).replace(b",", b", ")
    api.routes[f"POST {HOOKS}"] = lambda _: Answer(201, body)

    assert terminal("webhooks", "add", "https://x.example", "--json").stdout_bytes == body + b"\n"


def test_a_refusal_is_in_the_apis_words(terminal: Terminal, api: FakeApi) -> None:
    api.routes[f"POST {HOOKS}"] = lambda _: problem(
        422, "blocked-address", "10.0.0.1 is not a public address.", "Add --allow-private."
    )

    told = terminal("webhooks", "add", "http://10.0.0.1/x")

    assert told.exit_code == 3
    assert told.stderr.splitlines() == ["10.0.0.1 is not a public address.", "Add --allow-private."]


def test_a_credential_that_cannot_be_read_is_told_before_anybody_is_asked(
    terminal: Terminal, api: FakeApi, tmp_path: Path
) -> None:
    told = terminal("webhooks", "add", "x", "--credential-file", str(tmp_path / "none"))

    assert told.exit_code == 2
    assert "cannot be read: No such file" in told.stderr
    assert api.asked == []


def test_only_what_is_said_is_changed_and_any_lifts(terminal: Terminal, api: FakeApi) -> None:
    api.routes[f"PATCH {CI}"] = lambda _: WebhookChanged(
        webhook=a_webhook(), warnings=["Nothing matches that any more."]
    )

    told = terminal(
        *("webhooks", "edit", "ci", "--types", "job.*", "--person", "any", "--not-ordered"),
        *("--to", "https://ci.lab.example/hook", "--per-second", "0"),
    )

    assert api.asked[-1].body == {
        "url": "https://ci.lab.example/hook",
        "types": ["job.*"],
        "people": [],
        "ordered": False,
        "per_second": 0,
    }
    assert told.stdout.splitlines() == [
        "ci tells https://ci.lab.example/hook of job.* from now on.",
        "  Next:  clusterra webhooks test ci",
    ]
    assert told.stderr == "! Nothing matches that any more.\n"
    assert terminal("webhooks", "edit", "ci").exit_code == 2


def test_a_pause_keeps_and_a_resume_delivers_what_was_kept(
    terminal: Terminal, api: FakeApi
) -> None:
    api.routes[f"PATCH {CI}"] = lambda asked: WebhookChanged(
        webhook=a_webhook(state=asked.body["state"], kept=0 if asked.body.get("replay") else 12),
        replaying=12 if asked.body.get("replay") else 0,
    )

    paused = terminal("webhooks", "pause", "ci").stdout.splitlines()
    assert api.asked[-1].body == {"state": "paused"}
    resumed = terminal("webhooks", "resume", "ci").stdout.splitlines()
    assert api.asked[-1].body == {"state": "active", "replay": True}
    skipped = terminal("webhooks", "resume", "ci", "--skip-kept").stdout.splitlines()
    assert api.asked[-1].body == {"state": "active", "replay": False}

    assert paused == [
        "ci is paused. What happens meanwhile is kept.",
        "  Next:  clusterra webhooks resume ci",
    ]
    assert resumed == [
        "ci is active again; 12 events kept meanwhile go first.",
        "  Next:  clusterra webhooks deliveries ci",
    ]
    assert skipped[0] == "ci is active again; 12 events kept meanwhile stay where they are."


def test_removing_asks_and_says_what_is_lost(
    terminal: Terminal, api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.routes[f"GET {HOOKS}"] = lambda _: a_list(a_webhook(waiting=2, kept=3))
    api.routes[f"DELETE {CI}"] = lambda _: WebhookDeleted(id="whk_1a2b3c", name="ci", dropped=5)

    piped = terminal("webhooks", "remove", "ci")
    assert piped.exit_code == 3
    assert "not even 5 events that it has not been told." in piped.stderr
    assert "add --yes" in piped.stderr

    terminal.screen = Screen(live=True, colour=False)
    monkeypatch.setattr("clusterra.cli.agree.is_typed", lambda: True)
    assert "Nothing was removed." in terminal("webhooks", "remove", "ci", typed="n\n").stdout
    assert all(asked.method == "GET" for asked in api.asked)

    told = terminal("webhooks", "remove", "ci", "--yes").stdout.splitlines()
    assert told[0] == "ci is removed. 5 events had not been told."


def test_a_rotation_says_how_long_both_work(terminal: Terminal, api: FakeApi) -> None:
    api.routes[f"POST {CI}/rotate"] = lambda asked: SecretRotated(
        id="whk_1a2b3c",
        secret=SECRET,
        old_until=NOON + timedelta(hours=asked.body["overlap_hours"])
        if asked.body["overlap_hours"]
        else None,
    )

    told = terminal("webhooks", "rotate", "ci", "--overlap", "90m").stdout.splitlines()

    assert api.asked[-1].body == {"overlap_hours": 1.5}
    assert told == [
        "The new secret of ci, shown this once:",
        f"  {SECRET}",
        "Requests are signed with the old one too until 13:30:00: put the new one in place by then.",
        "  Next:  clusterra webhooks test ci",
    ]
    assert "no more" in terminal("webhooks", "rotate", "ci", "--overlap", "0").stdout
    terminal("webhooks", "rotate", "ci")
    assert api.asked[-1].body == {"overlap_hours": 24}
    assert terminal("webhooks", "rotate", "ci", "--overlap", "soon").exit_code == 2


# --- test


def test_a_test_that_was_taken(terminal: Terminal, api: FakeApi) -> None:
    api.routes[f"POST {CI}/test"] = lambda _: a_trial()

    told = terminal("webhooks", "test", "ci")

    assert told.exit_code == 0
    assert told.stdout.splitlines() == [
        "✓ ci took a made-up job.completed: answered 200 in 14 ms.",
        "  dns 1.0 ms · connect 0.4 ms · first byte 12 ms · total 14 ms",
        "  │ ok",
        "  Next:  clusterra webhooks deliveries ci",
    ]


def test_a_test_that_was_not_taken_says_why_and_what_to_do(
    terminal: Terminal, api: FakeApi
) -> None:
    api.routes[f"POST {CI}/test"] = lambda _: a_trial(
        ok=False, type="job.failed", attempt=REFUSED, hint="Is the program running?"
    )

    told = terminal("webhooks", "test", "ci", "--type", "job.failed")

    assert api.asked[-1].body == {"type": "job.failed"}
    assert told.exit_code == 1
    assert told.stdout.splitlines() == [
        "✗ ci did not take a made-up job.failed: Nobody listens at this address (connect).",
        "  dns 1.0 ms · total 2.2 ms",
        "  Is the program running?",
        "  Again:  clusterra webhooks test ci",
    ]


def test_an_answer_of_many_lines_is_cut_and_cannot_move_the_cursor(
    terminal: Terminal, api: FakeApi
) -> None:
    page = "\n".join(f"<p>\x1b[2J{number}</p>" for number in range(50)) + "x" * 3000
    api.routes[f"POST {CI}/test"] = lambda _: a_trial(attempt=an_attempt(response=page))

    told = terminal("webhooks", "test", "ci").stdout

    assert "\x1b" not in told
    assert told.count("│") == 6
    assert "│ …" in told


# --- deliveries and replay


def test_deliveries_say_what_came_of_each(terminal: Terminal, api: FakeApi) -> None:
    api.routes[f"GET {HOOKS}"] = lambda _: a_list(a_webhook(waiting=1, dead=1))
    api.routes[f"GET {CI}/deliveries"] = lambda _: DeliveryPage(
        deliveries=[
            a_delivery(),
            a_delivery(
                "0197ffff-1",
                state="retry",
                attempts=2,
                status=503,
                why="Answered 503.",
                next_at=NOON + timedelta(minutes=5),
            ),
            a_delivery("0197eeee-1", state="dead", attempts=11, status=None, why="No answer."),
        ],
        next="more",
    )
    terminal.screen = Screen(live=False, colour=False, width=120)

    assert terminal("webhooks", "deliveries", "ci").stdout.splitlines() == [
        "ci: 120 told in the last 24 h · 1 waiting · 1 given up",
        "  EVENT     TIME      TYPE        SUBJECT  STATE       TRIES   TOOK",
        "  0197a1b2  11:58:00  job.failed  job/41   ✓ told       1/11  14 ms  answered 200",
        "  0197ffff  11:58:00  job.failed  job/41   ◌ retrying   2/11  14 ms  Answered 503. Again at 12:05:00.",
        "  0197eeee  11:58:00  job.failed  job/41   ✗ given up  11/11  14 ms  No answer.",
        "3 deliveries · more: -n 100 · one: clusterra webhooks deliveries ci 0197ffff",
    ]
    assert api.asked[-1].query == {"limit": "25"}


def test_deliveries_are_narrowed_as_was_said(terminal: Terminal, api: FakeApi) -> None:
    api.routes[f"GET {CI}/deliveries"] = lambda _: DeliveryPage(deliveries=[], next=None)

    narrowed = terminal("webhooks", "deliveries", "ci", "--only", "dead", "-n", "5").stdout
    assert api.asked[-1].query == {"state": "dead", "limit": "5"}
    none = terminal("webhooks", "deliveries", "ci").stdout

    assert narrowed.startswith("No delivery to ci is like that.")
    assert none.splitlines() == [
        "Nothing that ci is told of has happened yet.",
        "  Try it:  clusterra webhooks test ci",
    ]


def test_one_delivery_is_told_try_by_try(terminal: Terminal, api: FakeApi) -> None:
    api.routes[f"GET {CI}/deliveries"] = lambda _: DeliveryPage(
        deliveries=[a_delivery()], next=None
    )
    api.routes[f"GET {CI}/deliveries/{EVENT}"] = lambda _: DeliveryDetail(
        delivery=a_delivery(attempts=2),
        sentence="It was told at the second try, 6 s after it happened.",
        attempts=[REFUSED, an_attempt(number=2, at=NOON + timedelta(seconds=5), replay=True)],
        event=None,
    )

    assert terminal("webhooks", "deliveries", "ci", "0197a1b2").stdout.splitlines() == [
        "It was told at the second try, 6 s after it happened.",
        "  job.failed · job/41 · 11:58:00 · #41 of clus1a2b",
        f"  webhook-id {EVENT}",
        "  ✗ try 1  12:00:00  Nobody listens at this address (connect)",
        "      dns 1.0 ms · total 2.2 ms · request req-1",
        "  ✓ try 2  12:00:05  answered 200 · a replay",
        "      dns 1.0 ms · connect 0.4 ms · first byte 12 ms · total 14 ms · request req-1",
        "      │ ok",
        "  The event itself has left the ledger.",
        f"  Again:  clusterra webhooks replay ci {EVENT}",
    ]
    assert terminal("webhooks", "deliveries", "ci", "9999").exit_code == 4


def test_a_replay_is_counted_before_it_is_done(terminal: Terminal, api: FakeApi) -> None:
    api.routes[f"POST {CI}/replay"] = lambda asked: Replayed(
        count=12,
        dry_run=asked.body.get("dry_run", False),
        first_at=NOON - timedelta(hours=1),
        last_at=NOON,
    )

    dry = terminal("webhooks", "replay", "ci", "--failed-since", "2h", "--dry-run").stdout
    assert api.asked[-1].body == {"failed_since": "2h", "dry_run": True}
    done = terminal(
        *("webhooks", "replay", "ci", "--missing-since", "2026-05-14T09:00+02:00"),
        *("--types", "job.*"),
    ).stdout
    assert api.asked[-1].body == {
        "missing_since": "2026-05-14T09:00+02:00",
        "types": ["job.*"],
    }

    assert dry.splitlines() == [
        "12 events would be delivered to ci, from 11:00:00 to 12:00:00. Nothing was sent.",
        "  Do it:  the same without --dry-run",
    ]
    assert done.splitlines() == [
        "12 events are being delivered to ci, from 11:00:00 to 12:00:00.",
        "  Next:  clusterra webhooks deliveries ci",
    ]


def test_one_event_or_nothing_is_replayed(terminal: Terminal, api: FakeApi) -> None:
    api.routes[f"POST {CI}/replay"] = lambda asked: Replayed(
        count=1 if asked.body.get("event_id") else 0, dry_run=False, first_at=NOON, last_at=NOON
    )

    one = terminal("webhooks", "replay", "ci", EVENT).stdout
    assert api.asked[-1].body == {"event_id": EVENT}
    none = terminal("webhooks", "replay", "ci", "--failed-since", "2h").stdout

    assert one.startswith("1 event is being delivered to ci, of 12:00:00.")
    assert none.startswith("There is nothing to deliver to ci again.")


@pytest.mark.parametrize(
    "words",
    [
        (),
        (EVENT, "--failed-since", "2h"),
        ("--failed-since", "2h", "--missing-since", "2h"),
        (EVENT, "--types", "job.*"),
    ],
)
def test_a_replay_that_is_not_clear_asks_nobody(
    terminal: Terminal, api: FakeApi, words: tuple[str, ...]
) -> None:
    assert terminal("webhooks", "replay", "ci", *words).exit_code == 2
    assert api.asked == []
