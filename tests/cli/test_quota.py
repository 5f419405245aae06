"""Quotas in the terminal: what is spent and left, and how an admin sets it."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from clusterra.cli.screen import Screen
from clusterra.wire.quotas import FiguresView, QuotaChanged, QuotaPage, QuotaView, RaiseView
from tests.cli.conftest import Terminal
from tests.cli.world import NOON, FakeApi, problem

pytestmark = pytest.mark.enable_socket

QUOTAS = "/v1/workspaces/lab/quotas"
ANA = "ana@lab.example"
USD = 1_000_000


@pytest.fixture(autouse=True)
def in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


def figures(spent: float, limit: float | None, *, day: bool = False) -> FiguresView:
    """Return figures of which a fifth still runs, and may double."""
    micros, most = round(spent * USD), None if limit is None else round(limit * USD)
    until = datetime(2026, 5, 15, tzinfo=UTC) if day else datetime(2026, 6, 1, tzinfo=UTC)
    return FiguresView(
        period="2026-05-14" if day else "2026-05",
        since=NOON - timedelta(hours=12),
        until=until,
        booked_micros=micros - micros // 5,
        pending_micros=micros // 5,
        spent_micros=micros,
        to_come_micros=micros // 5,
        projected_micros=micros + micros // 5,
        limit_micros=most,
        left_micros=None if most is None else max(most - micros, 0),
        percent=None if most is None else micros * 100 // most,
    )


def a_quota(
    whose: str = ANA, spent: float = 12.5, limit: float | None = 40, **known: Any
) -> QuotaView:
    fields: dict[str, Any] = {
        "own": True,
        "month_micros": None if limit is None else round(limit * USD),
        "day_micros": 5 * USD,
        "job_micros": 20 * USD,
        "burn_micros": None,
        "mode": "warn",
        "buffer_percent": 0,
        "grace_seconds": 60,
        "raised": None,
        "month": figures(spent, limit),
        "day": figures(1, 5, day=True),
        "usd_per_hour_micros": 340_000,
        "unpriced_jobs": 0,
    }
    return QuotaView(whose=whose, **(fields | known))


EVERYBODY = a_quota(
    "everybody", limit=100, month=None, day=None, usd_per_hour_micros=None, mode="block"
)


def a_page(*quotas: QuotaView) -> QuotaPage:
    return QuotaPage(
        workspace="lab",
        zone="Europe/Berlin",
        waste_per_day_micros=None,
        quotas=[*quotas],
        total=len(quotas),
    )


def test_ones_own_quota_is_answered_in_the_first_line(terminal: Terminal, api: FakeApi) -> None:
    page = a_page(a_quota(), a_quota("workspace", 80, None))
    api.routes[f"GET {QUOTAS}"] = lambda _: page

    assert terminal("quota", "get").stdout.splitlines() == [
        "You have spent $12.50 of $40.00 in 2026-05 · 31 % · $27.50 left",
        "  WHOSE            THIS MONTH        OF  USED           LEFT  MODE    RUNS  MAY ADD  TODAY  PER HOUR",
        "  ana@lab.example      $12.50    $40.00  █░░░░  31 %  $27.50  warn   $2.50    $2.50  $1.00   $0.34/h",
        "  workspace            $80.00  no limit  –                 –  warn  $16.00   $16.00  $1.00   $0.34/h",
        "  Days and months begin as in Europe/Berlin.  More:  clusterra quota get EMAIL",
    ]


def test_an_admin_sees_all(terminal: Terminal, api: FakeApi) -> None:
    page = a_page(
        a_quota("workspace", 80, 100),
        EVERYBODY,
        a_quota(ANA, 41.2, 40, mode="block_and_kill"),
        a_quota("ben@lab.example", 0, 100, own=False, mode="block"),
    )
    api.routes[f"GET {QUOTAS}"] = lambda _: page

    assert terminal("quota", "get").stdout.splitlines()[:6] == [
        "The workspace has spent $80.00 of $100.00 in 2026-05 · 80 % · $20.00 left",
        "  WHOSE            THIS MONTH       OF  USED            LEFT  MODE              RUNS  MAY ADD  TODAY",
        "  workspace            $80.00  $100.00  ████░  80 %   $20.00  warn            $16.00   $16.00  $1.00",
        "  everybody                 –  $100.00  –                  –  block                –        –      –",
        "  ana@lab.example      $41.20   $40.00  █████ 103 %    $0.00  block_and_kill   $8.24    $8.24  $1.00",
        "  ben@lab.example       $0.00  $100.00  ░░░░░   0 %  $100.00  block            $0.00    $0.00  $1.00",
    ]


def test_one_quota_is_shown_whole(terminal: Terminal, api: FakeApi) -> None:
    raised = RaiseView(
        micros=100 * USD, until=NOON + timedelta(days=7), by="eva@lab.example", at=NOON, why="due"
    )
    view = a_quota(
        mode="block_and_kill", buffer_percent=10, grace_seconds=300, raised=raised, unpriced_jobs=2
    )
    api.routes[f"GET {QUOTAS}/{ANA}"] = lambda _: view

    assert terminal("quota", "get", ANA).stdout.splitlines() == [
        "ana@lab.example has spent $12.50 of $40.00 in 2026-05 · 31 % · $27.50 left",
        "  month    ██████░░░░░░░░░░░░░░  31 %  $12.50 of $40.00 · $2.50 of it runs on and may add $2.50",
        "  day      ████░░░░░░░░░░░░░░░░  20 %  $1.00 of $5.00 · $0.20 of it runs on and may add $0.20",
        "  job      at most $20.00",
        "  runs     $0.34/h now; no limit per hour",
        "  raised   $100.00 more until 2026-05-21 12:00:00, by eva@lab.example: due",
        "  2 running jobs in no figure: their price is not known",
        "  mode     block_and_kill: no job is taken that would go over, and running ones are ended",
        "  ends     running jobs that would go over by 10 %, 5m 00s after a notice",
        "  anew     the day at 2026-05-15 00:00:00, the month at 2026-06-01 00:00:00",
        "  Change it:  clusterra quota set --help",
    ]


def test_everybodys_quota_is_shown_without_figures(terminal: Terminal, api: FakeApi) -> None:
    api.routes[f"GET {QUOTAS}/everybody"] = lambda _: EVERYBODY

    assert terminal("quota", "get", "everybody").stdout.splitlines() == [
        "What counts for each person without a quota of their own:",
        "  month    at most $100.00",
        "  day      at most $5.00",
        "  job      at most $20.00",
        "  per hour no limit",
        "  mode     block: no job is taken that would go over",
        "  Change it:  clusterra quota set --help",
    ]


def test_a_quota_of_others_says_whose_it_is_and_fits_a_narrow_terminal(
    terminal: Terminal, api: FakeApi
) -> None:
    api.routes[f"GET {QUOTAS}/{ANA}"] = lambda _: a_quota(own=False)
    terminal.screen = Screen(live=True, colour=False, width=60)

    lines = terminal("quota", "get", ANA).stdout.splitlines()

    assert "  This is everybody's quota; none is set for them alone." in lines
    assert all(len(line) <= 60 for line in lines[1:])


def test_only_what_is_said_is_sent_and_none_lifts(terminal: Terminal, api: FakeApi) -> None:
    changed = QuotaChanged(
        quota=a_quota(),
        changed=["month: $40.00 → $300.00"],
        warnings=["ana@lab.example has spent $41.20 of $40.00; 2 running jobs will be cancelled."],
    )
    api.routes[f"PATCH {QUOTAS}/{ANA}"] = lambda _: changed

    told = terminal(
        *("quota", "set", ANA, "--month", "300", "--day", "none", "--mode", "block"),
        *("--buffer", "10", "--grace", "5m", "--because", "a grant"),
    )

    assert api.asked[-1].body == {
        "month_micros": 300 * USD,
        "day_micros": None,
        "mode": "block",
        "buffer_percent": 10,
        "grace_seconds": 300,
        "why": "a grant",
    }
    assert told.stdout.splitlines() == [
        "The quota of ana@lab.example from now on:",
        "  month: $40.00 → $300.00",
        "  Next:  clusterra quota get ana@lab.example",
    ]
    assert told.stderr == (
        "  ana@lab.example has spent $41.20 of $40.00; 2 running jobs will be cancelled.\n"
    )


def test_the_workspaces_quota_has_a_zone_and_a_limit_on_waste(
    terminal: Terminal, api: FakeApi
) -> None:
    api.routes[f"PATCH {QUOTAS}/workspace"] = lambda _: QuotaChanged(
        quota=a_quota("workspace"), changed=[]
    )

    told = terminal("quota", "set", "workspace", "--zone", "Europe/Berlin", "--waste", "2.50")

    assert api.asked[-1].body == {"zone": "Europe/Berlin", "waste_per_day_micros": 2_500_000}
    assert "was so already" in told.stdout


def test_a_persons_own_quota_is_taken_away(terminal: Terminal, api: FakeApi) -> None:
    api.routes[f"PATCH {QUOTAS}/{ANA}"] = lambda _: QuotaChanged(
        quota=a_quota(), changed=["own: yes → no, as everybody"]
    )

    assert terminal("quota", "set", ANA, "--like-everybody").exit_code == 0
    assert api.asked[-1].body == {"own": False}
    assert terminal("quota", "set", ANA, "--like-everybody", "--day", "1").exit_code == 2


@pytest.mark.parametrize(
    "words",
    [
        ("set", ANA),
        ("set", ANA, "--month", "much"),
        ("set", ANA, "--month", "-5"),
        ("set", ANA, "--mode", "lax"),
        ("set", ANA, "--buffer", "ten"),
        ("set",),
        ("raise", ANA, "none"),
        ("raise", ANA),
    ],
)
def test_what_cannot_be_read_is_refused_before_anybody_is_asked(
    terminal: Terminal, api: FakeApi, words: tuple[str, ...]
) -> None:
    assert terminal("quota", *words).exit_code == 2
    assert api.asked == []


def test_a_raise_says_how_much_and_for_how_long(terminal: Terminal, api: FakeApi) -> None:
    api.routes[f"POST {QUOTAS}/{ANA}/raise"] = lambda _: QuotaChanged(
        quota=a_quota(limit=140), changed=[]
    )

    told = terminal("quota", "raise", ANA, "100", "--days", "7", "--because", "revision")

    asked = {key: value for key, value in api.asked[-1].body.items() if value is not None}
    assert asked == {"micros": 100 * USD, "days": 7, "why": "revision"}
    assert told.stdout == ("ana@lab.example may spend $100.00 more for 7 days: $140.00 in all.\n")
    ended = terminal("quota", "raise", ANA, "0")
    assert ended.stdout == "ana@lab.example has the limit of the month again, and no more.\n"


def test_json_is_what_the_api_answers(terminal: Terminal, api: FakeApi) -> None:
    api.routes[f"GET {QUOTAS}/{ANA}"] = lambda _: a_quota()

    assert json.loads(terminal("quota", "get", ANA, "--json").stdout)["whose"] == ANA


def test_a_refusal_is_in_the_apis_words(terminal: Terminal, api: FakeApi) -> None:
    api.routes[f"PATCH {QUOTAS}/{ANA}"] = lambda _: problem(
        422, "invalid", "The buffer cannot be 1,000 %.", "Say 0 to 100.", kind="invalid"
    )

    told = terminal("quota", "set", ANA, "--buffer", "1000")

    assert told.stderr.splitlines() == ["The buffer cannot be 1,000 %.", "Say 0 to 100."]
    assert told.exit_code != 0
