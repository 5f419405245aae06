"""Money in the terminal: one sentence, a table that sums up, the page of a month, one job."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from clusterra.cli.screen import Screen
from clusterra.cli.usage.telling import bar
from clusterra.cli.zone import local_zone
from clusterra.wire.usage import (
    ChargeView,
    JobCostView,
    JobPrice,
    JobSpentView,
    MonthSpent,
    NamedSpent,
    PeriodView,
    PersonStatement,
    PriceSources,
    RunCostView,
    SpendingView,
    SpentView,
    StatementView,
    UsageGroup,
    UsageView,
    WasteView,
)
from tests.cli.conftest import Terminal
from tests.cli.world import NOON, Answer, FakeApi, a_job, ended, me, running

pytestmark = pytest.mark.enable_socket

MAY = PeriodView(
    name="2026-05",
    since=datetime(2026, 5, 1, tzinfo=UTC),
    until=datetime(2026, 6, 1, tzinfo=UTC),
    tz="UTC",
)
LISTED = PriceSources(
    sources=["table"], as_of=datetime(2026, 4, 2, tzinfo=UTC), estimate=True, stale=False
)


def spent(micros: int = 0, **known: Any) -> SpentView:
    return SpentView(**_sums(micros, **known))


def _sums(micros: int, **known: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "micros": micros,
        "booked_micros": micros,
        "pending_micros": 0,
        "jobs": 0,
        "running": 0,
        "unknown": 0,
        "cpu_seconds": 0,
        "gpu_seconds": 0,
    }
    return fields | known


def a_group(micros: int, **known: Any) -> UsageGroup:
    return UsageGroup(**_sums(micros, **known))


def a_usage(**known: Any) -> UsageView:
    fields: dict[str, Any] = {
        "period": MAY,
        "by": ["person"],
        "total": spent(412_080_000),
        "work": spent(380_000_000, jobs=41, running=2),
        "groups": [
            a_group(300_000_000, person="ana@lab.example", jobs=40, running=1),
            a_group(80_000_000, person="ben", jobs=1, running=1, unknown=2),
        ],
        "others": None,
        "waste_micros": 32_080_000,
        "waste": [
            WasteView(cause=cause, micros=micros, booked_micros=micros, pending_micros=0)
            for cause, micros in (("idle", 30_000_000), ("warming", 2_080_000))
        ],
        "burn_usd_per_hour_micros": 3_100_000,
        "burn_unknown": 0,
        "everybodys": True,
        "why_unknown": [],
        "estimate": True,
        "prices_as_of": None,
        "prices": LISTED,
        "unseen": [],
    }
    return UsageView(**(fields | known))


def test_usage_is_a_sentence_a_table_with_bars_and_what_was_wasted(
    terminal: Terminal, api: FakeApi
) -> None:
    api.routes["GET /v1/usage"] = lambda _: a_usage(
        work=spent(380_000_000, jobs=41, running=2, unknown=2), why_unknown=["No price for w9."]
    )

    result = terminal("usage", "--tz", "UTC")

    assert result.stdout.splitlines() == [
        "$412.08 this month so far; $3.10/h now",
        "  PERSON              COST                    JOBS",
        "  ana@lab.example  $300.00  ████████████████    41  1 running",
        "  ben               $80.00  ████▎                2  1 running · 2 not known",
        "  Without work: $32.08 (7 %): idle $30.00 · starting $2.08",
        "  Of 2 jobs the cost is not known: No price for w9.",
        "  Estimates by the price list that comes with Clusterra, as of 2026-04-02; nobody is charged.",
        "  Next:  clusterra usage --by job     the month as a page: clusterra usage statement",
    ]
    assert api.asked[-1].query == {"by": "person", "tz": "UTC"}


def test_what_is_asked_for_is_what_was_said(terminal: Terminal, api: FakeApi) -> None:
    api.routes["GET usage"] = api.routes["GET /v1/usage"] = lambda _: a_usage()
    terminal.environ["TZ"] = "Europe/Berlin"

    terminal("usage", "--month", "2026-04", "--by", "account,day", "--person", "me")
    assert api.asked[-1].query == {
        "period": "2026-04",
        "by": "account,day",
        "person": "me",
        "tz": "Europe/Berlin",
    }
    terminal("usage", "--since", "7d", "--cluster", "dev", "--by", "job", "--limit", "5")
    assert api.asked[-1].path == "/v1/clusters/clus1a2b/usage"
    assert api.asked[-1].query == {
        "since": "7d",
        "by": "job",
        "limit": "5",
        "tz": "Europe/Berlin",
    }
    terminal("usage", "--workspace", "The Lab")
    assert api.asked[-1].query["workspace"] == "lab"
    assert terminal("usage", "--month", "2026-04", "--day", "2026-04-01").exit_code != 0


def test_nothing_spent_says_what_to_do(terminal: Terminal, api: FakeApi) -> None:
    api.routes["GET /v1/usage"] = lambda _: a_usage(
        total=spent(),
        work=spent(),
        groups=[],
        waste=[],
        waste_micros=0,
        burn_usd_per_hour_micros=0,
    )

    first, *rest = terminal("usage").stdout.splitlines()

    assert first == "$0.00 this month so far; nothing runs now"
    assert "clusterra run -- hostname" in rest[0]


def test_a_month_that_is_over_is_not_so_far(terminal: Terminal, api: FakeApi) -> None:
    terminal.watch.at = NOON + timedelta(days=40)
    api.routes["GET /v1/usage"] = lambda _: a_usage()

    assert terminal("usage").stdout.splitlines()[0] == "$412.08 in 2026-05"


def test_days_to_come_are_left_out_and_days_without_jobs_are_not(
    terminal: Terminal, api: FakeApi
) -> None:
    days = [a_group(1_000_000 * (day % 2), day=f"2026-05-{day:02}") for day in range(1, 32)]
    api.routes["GET /v1/usage"] = lambda _: a_usage(by=["day"], groups=days)

    out = terminal("usage", "--by", "day").stdout

    assert "2026-05-14" in out
    assert "2026-05-13" in out
    assert "2026-05-15" not in out


def test_jobs_are_listed_with_whose_they_are_and_the_rest(terminal: Terminal, api: FakeApi) -> None:
    jobs = [
        a_group(
            7_000_000,
            job="41",
            name="align",
            person="ana",
            running=1,
            usd_per_hour_micros=380_000,
        ),
        a_group(2_000_000, job="43_5", name="sweep", person="ben", jobs=1),
    ]
    api.routes["GET /v1/usage"] = lambda _: a_usage(
        by=["job"], groups=jobs, others=spent(371_000_000, jobs=39)
    )

    lines = terminal("usage", "--by", "job").stdout.splitlines()

    assert lines[2].split() == ["41", "align", "ana", "$7.00", "█" * 16, "$0.38/h"]
    assert lines[4] == "  $371.00 more for all other jobs: --limit shows more"
    assert lines[-1] == "  Next:  clusterra jobs cost 41"


def test_json_is_what_the_api_said_and_csv_too(terminal: Terminal, api: FakeApi) -> None:
    api.routes["GET /v1/usage"] = lambda asked: (
        Answer(200, b"person,total_micros\r\nana,1\r\n", "text/csv")
        if asked.headers.get("accept") == "text/csv"
        else a_usage()
    )

    assert json.loads(terminal("usage", "--json").stdout)["currency"] == "USD"
    assert terminal("usage", "--csv").stdout.splitlines() == ["person,total_micros", "ana,1"]


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_line_is_wider_than_the_screen(terminal: Terminal, api: FakeApi, width: int) -> None:
    api.routes["GET /v1/usage"] = lambda _: a_usage()
    terminal.screen = Screen(live=False, colour=False, width=width)

    lines = terminal("usage").stdout.splitlines()

    assert all(len(line) <= width for line in lines[1:-1])


@pytest.mark.parametrize(
    ("micros", "drawn"), [(0, ""), (1, "▏"), (500, "████████"), (1000, "█" * 16)]
)
def test_a_bar_is_as_long_as_its_share_and_the_smallest_is_seen(micros: int, drawn: str) -> None:
    assert bar(micros, 1000) == drawn


@pytest.mark.parametrize(
    ("said", "zone"),
    [
        ("Europe/Berlin", "Europe/Berlin"),
        (":Asia/Kolkata", "Asia/Kolkata"),
        ("/usr/share/zoneinfo/Asia/Tokyo", "Asia/Tokyo"),
        ("nonsense", "UTC"),
        ("../../etc/passwd", "UTC"),
    ],
)
def test_the_zone_is_that_of_the_environment(said: str, zone: str) -> None:
    assert local_zone({"TZ": said}) == zone


def test_without_one_the_zone_is_that_of_the_machine(tmp_path: Path) -> None:
    zones = tmp_path / "zoneinfo" / "Europe"
    zones.mkdir(parents=True)
    (zones / "Paris").touch()
    link = tmp_path / "localtime"
    link.symlink_to(zones / "Paris")

    assert local_zone({}, link) == "Europe/Paris"
    assert local_zone({}, tmp_path / "no-such-file") == "UTC"


# --- one job


def a_cost(**known: Any) -> JobCostView:
    begun = NOON - timedelta(minutes=30)
    fields: dict[str, Any] = {
        "job_id": 41,
        "label": "41",
        "name": "align",
        "state": "RUNNING",
        "person": "ana@lab.example",
        "account": "lab",
        "micros": 190_000,
        "usd_per_hour_micros": 380_000,
        "estimated_micros": 760_000,
        "final": False,
        "estimate": False,
        "why_unknown": "",
        "sentence": "$0.19 so far, $0.38/h, at most $0.76",
        "runs": [
            RunCostView(
                restarts=0,
                since=begun,
                until=NOON,
                micros=190_000,
                final=False,
                estimate=False,
                why_unknown="",
                charges=[
                    ChargeView(since=begun, until=NOON, usd_per_hour_micros=380_000, micros=190_000)
                ],
            )
        ],
        "prices": [
            JobPrice(
                basis="c7g.xlarge spot in us-east-1a",
                usd_per_hour_micros=760_000,
                source="edge",
                at=NOON,
                estimate=False,
                stale=True,
            )
        ],
        "basis": [],
        "sealed_micros": 0,
    }
    return JobCostView(**(fields | known))


def test_a_job_says_what_it_costs_and_how_that_is_known(terminal: Terminal, api: FakeApi) -> None:
    api.routes["GET jobs/41/cost"] = lambda _: a_cost()

    head, payer, run, charge, price = terminal("jobs", "cost", "41").stdout.splitlines()

    assert head == "align · job 41 · $0.19 so far, $0.38/h, at most $0.76"
    assert payer == "  put down to ana@lab.example · account lab"
    assert run == "  run: $0.19 so far"
    assert charge.endswith("30m 00s at $0.38/h: $0.19")
    assert price.startswith("  c7g.xlarge spot in us-east-1a: $0.76/h by what the agent")
    assert json.loads(terminal("jobs", "cost", "41", "--json").stdout)["micros"] == 190_000


def test_a_job_that_waits_has_cost_nothing_yet(terminal: Terminal, api: FakeApi) -> None:
    api.routes["GET jobs/41/cost"] = lambda _: a_cost(
        state="PENDING", micros=0, runs=[], prices=[], sentence="nothing yet"
    )

    assert "has cost nothing yet" in terminal("jobs", "cost", "41").stdout


def test_the_list_has_a_column_of_costs_and_says_what_is_burning(
    terminal: Terminal, api: FakeApi
) -> None:
    api.pages = [
        [
            running(job_id=44, cost_micros=160_000, usd_per_hour_micros=860_000),
            a_job(job_id=43, cost_micros=0),
            ended(job_id=42, cost_micros=100_000, cost_final=True),
            ended(job_id=41, cost_unknown="No price is known.", cost_final=True),
        ]
    ]

    lines = terminal("jobs", "list").stdout.splitlines()

    assert lines[0].split()[-1] == "COST"
    costs = [line.split("  ")[-1].strip() for line in lines[2:5]]
    assert "$0.16" in lines[1]
    assert costs == ["–", "$0.10", "?"]
    assert lines[-1].startswith("4 of 4 jobs · burning $0.86/h · ")


def test_a_job_is_shown_with_what_it_costs(terminal: Terminal, api: FakeApi) -> None:
    api.life = [running(cost_micros=190_000, usd_per_hour_micros=380_000, estimated_micros=760_000)]
    assert (
        "  cost       $0.19 so far, $0.38/h, at most $0.76" in terminal("jobs", "show", "41").stdout
    )

    api.life = [ended(cost_micros=1_600, cost_final=True)]
    assert terminal("jobs", "show", "41").stdout.splitlines()[0].endswith(" · $0.0016")
    assert " · $0.0016 · output" in terminal("jobs", "watch", "41").stdout

    api.life = [ended(cost_unknown="No price is known for w9.", cost_final=True)]
    assert (
        "  cost       not known: No price is known for w9." in terminal("jobs", "show", "41").stdout
    )


# --- oneself, and a month


def test_who_one_is_says_what_one_spends(terminal: Terminal, api: FakeApi) -> None:
    month = MonthSpent(name="2026-05", booked_micros=0, pending_micros=0, micros=41_200_000)
    api.routes["GET /v1/users/me"] = lambda _: me(
        spending=SpendingView(
            burn_usd_per_hour_micros=860_000,
            burn_unknown=0,
            pending_micros=160_000,
            running=3,
            month=month,
            today=MonthSpent(
                name="2026-05-14", booked_micros=0, pending_micros=0, micros=2_100_000
            ),
            workspaces=[],
        )
    )

    assert (
        "  spending    $41.20 this month, $2.10 today · 3 jobs running, $0.86/h"
        in terminal("whoami").stdout
    )


def a_statement(**known: Any) -> StatementView:
    job = JobSpentView(
        cluster="dev",
        job_id=41,
        job="41",
        name="align",
        account="lab",
        micros=7_000_000,
        running=False,
        usd_per_hour_micros=None,
        why_unknown="",
    )
    day = NamedSpent(
        name="2026-05-13", micros=9_000_000, booked_micros=9_000_000, pending_micros=0, jobs=2
    )
    fields: dict[str, Any] = {
        "workspace": "lab",
        "workspace_name": "The Lab",
        "period": MAY,
        "made_at": NOON,
        "final": False,
        "why_provisional": ["2026-05 is not over."],
        "work": spent(9_000_000, jobs=2),
        "people": [
            PersonStatement(
                person="ana@lab.example",
                spent=spent(9_000_000, jobs=2),
                days=[day],
                clusters=[day],
                accounts=[day],
                dearest=[job],
                unknown=[],
                running=[],
            )
        ],
        "waste_micros": 1_000_000,
        "waste": [
            WasteView(cause="idle", micros=1_000_000, booked_micros=1_000_000, pending_micros=0)
        ],
        "prices": LISTED,
    }
    return StatementView(**(fields | known))


def test_a_statement_is_a_page_that_says_whether_it_is_final(
    terminal: Terminal, api: FakeApi
) -> None:
    path = "/v1/workspaces/lab/statements/2026-05"
    api.routes[f"GET {path}"] = lambda _: a_statement()

    lines = terminal("usage", "statement", "--tz", "UTC").stdout.splitlines()

    assert lines[:2] == [
        "Statement of 2026-05 · The Lab · provisional",
        "  2026-05 is not over.",
    ]
    assert "ana@lab.example: $9.00 · 2 jobs" in lines
    assert "  The most expensive jobs:" in lines
    assert "  Without work: $1.00 (10 %): idle $1.00" in lines
    assert api.asked[-1].query == {"person": "me", "tz": "UTC"}
    terminal("usage", "statement", "--all", "--month", "2026-05", "--tz", "UTC")
    assert "person" not in api.asked[-1].query
    api.routes[f"GET {path}"] = lambda _: a_statement(final=True, why_provisional=[], people=[])
    done = terminal("usage", "statement").stdout
    assert done.startswith("Statement of 2026-05 · The Lab · final\n  Nobody spent anything")


def test_a_statement_can_be_filed(terminal: Terminal, api: FakeApi, tmp_path: Path) -> None:
    api.routes["GET /v1/workspaces/lab/statements/2026-05"] = lambda _: Answer(
        200, b"day,total_micros\r\n2026-05-13,1\r\n", "text/csv"
    )
    file = tmp_path / "may.csv"

    result = terminal("usage", "statement", "--csv", str(file))

    assert file.read_bytes() == b"day,total_micros\r\n2026-05-13,1\r\n"
    assert "1 line" in result.stderr
    wrong = terminal("usage", "statement", "--csv", str(tmp_path / "no" / "may.csv"))
    assert wrong.exit_code != 0
    assert "cannot be written" in wrong.stderr
