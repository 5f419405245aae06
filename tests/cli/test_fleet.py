"""The fleet in the terminal: what there is, its story, its policy, and what another would cost."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from clusterra.wire.fleet import (
    AgentSeen,
    DecisionPage,
    DecisionView,
    FleetView,
    PolicyView,
    ResizeTold,
    ShapeFleet,
    ShortageTold,
    ShortageView,
    WaitingView,
)
from tests.cli.conftest import Terminal
from tests.cli.world import NOON, FakeApi, ended, problem

pytestmark = pytest.mark.enable_socket


def a_policy(**known: Any) -> PolicyView:
    fields: dict[str, Any] = {
        "rule": "family",
        "max_workers": 64,
        "max_usd_per_hour_micros": None,
        "idle_seconds": 120,
        "purchase": "on-demand",
        "architectures": ["amd64", "arm64"],
        "minimum": {},
        "set_by_admin": False,
    }
    return PolicyView(**(fields | known))


def a_row(**known: Any) -> ShapeFleet:
    fields: dict[str, Any] = {
        "shape": "general-small",
        "family": "general",
        "arch": "amd64",
        "cpus": 7,
        "memory_mib": 31_440,
        "gpus": 0,
        "gpu_model": "",
        "type": "m7i.2xlarge",
        "usd_per_hour_micros": 403_200,
        "desired": 3,
        "ready": 2,
        "busy": 1,
        "idle": 1,
        "warming": 1,
        "leaving": 0,
        "closed": 0,
    }
    return ShapeFleet(**(fields | known))


def a_fleet(**known: Any) -> FleetView:
    fields: dict[str, Any] = {
        "cluster": "clus1a2b",
        "scaled": True,
        "note": "",
        "version": 7,
        "decided_at": NOON,
        "desired": 0,
        "workers": 0,
        "usd_per_hour_micros": 0,
        "shapes": [],
        "shortages": [],
        "agent": AgentSeen(
            id="agent-1", version="1.2", heard_at=NOON, age_seconds=3.0, applied_version=7
        ),
        "waiting": [],
        "set_aside": 0,
        "policy": a_policy(),
        "observed_at": NOON,
        "age_seconds": 1.0,
        "stale": False,
    }
    return FleetView(**(fields | known))


def show(terminal: Terminal, api: FakeApi, view: FleetView) -> list[str]:
    api.routes["GET fleet"] = lambda _: view
    return terminal("fleet", "show").stdout.splitlines()


def test_the_workers_are_shown_with_what_they_do_and_cost(terminal: Terminal, api: FakeApi) -> None:
    waiting = WaitingView(
        cause="warming",
        shape="general-small",
        workers=1,
        sentence="4 jobs need 7 CPUs each; 1 general-small is starting",
        jobs=4,
    )
    view = a_fleet(
        desired=3,
        workers=3,
        usd_per_hour_micros=3 * 403_200,
        shapes=[a_row()],
        waiting=[waiting],
        set_aside=1,
    )

    assert show(terminal, api, view) == [
        "3 workers · about $1.21/h · 4 jobs waiting",
        "  SHAPE          WANTED  BUSY  IDLE  STARTING  LEAVING  CLOSED  EACH OFFERS     EACH  LIKE",
        "  general-small       3     1     1         1        –       –  7c 30.7G     $0.40/h  m7i.2xlarge",
        "  4 jobs need 7 CPUs each; 1 general-small is starting",
        "  1 job would not be started by more workers",
        "  policy  family · at most 64 workers · idle ones go after 2m 00s · on-demand",
        "  agent   agent-1 · version 1.2 · heard 3 s ago",
        "  Why:   clusterra fleet decisions",
    ]


def test_an_empty_fleet_says_why_and_what_to_do_next(terminal: Terminal, api: FakeApi) -> None:
    told = show(terminal, api, a_fleet(agent=None))

    assert told[0] == "No workers: nothing waits. They start when a job needs them."
    assert told[2] == "  agent   none has been heard: nothing is started or stopped"
    assert told[-1].startswith("  Next:  clusterra run -- hostname")


def test_no_workers_and_waiting_jobs_is_something_else(terminal: Terminal, api: FakeApi) -> None:
    never = WaitingView(
        cause="never", shape="general-xlarge", workers=0, sentence="no shape holds it", jobs=1
    )

    told = show(terminal, api, a_fleet(waiting=[never]))

    assert told[:2] == ["No workers, and 1 job waiting.", "  no shape holds it"]


def test_shortages_and_old_news_are_said(terminal: Terminal, api: FakeApi) -> None:
    short = ShortageView(
        shape="gpu-h100-x8", why="no capacity", failures=2, until=NOON + timedelta(minutes=5)
    )
    view = a_fleet(
        shortages=[short], stale=True, age_seconds=200.0, note="The fleet was not planned lately."
    )

    told = show(terminal, api, view)

    assert told[1] == "  The fleet was not planned lately. This is 3m 20s old."
    assert "gpu-h100-x8 did not come and is left alone until" in told[2]
    assert told[2].endswith(": no capacity")


def test_a_fleet_that_is_not_seen_is_not_an_empty_one(terminal: Terminal, api: FakeApi) -> None:
    unknown = dict.fromkeys(("ready", "busy", "idle", "warming", "leaving", "closed"))
    view = a_fleet(desired=2, workers=None, shapes=[a_row(**unknown)], usd_per_hour_micros=None)

    told = show(terminal, api, view)

    assert told[0] == "2 workers wanted; how many there are is not known."
    assert told[2].split()[:4] == ["general-small", "3", "?", "?"]


def test_a_cluster_that_is_not_scaled_by_us_says_so(terminal: Terminal, api: FakeApi) -> None:
    told = show(terminal, api, a_fleet(scaled=False, note="Not scaled by Clusterra: its nodes …"))

    assert told == ["Not scaled by Clusterra: its nodes …", "  Next:  clusterra nodes list"]


def test_json_is_what_the_api_said(terminal: Terminal, api: FakeApi) -> None:
    api.routes["GET fleet"] = lambda _: a_fleet()
    api.routes["GET fleet/policy"] = lambda _: a_policy()
    api.routes["GET fleet/decisions"] = lambda _: DecisionPage(decisions=[], next=None)

    assert json.loads(terminal("fleet", "show", "--json").stdout)["version"] == 7
    for words in (("policy", "--json"), ("policy", "get", "--json")):
        assert json.loads(terminal("fleet", *words).stdout)["max_workers"] == 64
    assert json.loads(terminal("fleet", "decisions", "--json").stdout)["decisions"] == []


# --- the story


def decided(**known: Any) -> DecisionView:
    fields: dict[str, Any] = {
        "version": 7,
        "at": NOON,
        "rule": "family",
        "waiting_jobs": 4,
        "workers": 1,
        "warming": 0,
        "usd_per_hour_micros": 1_209_600,
        "changes": [
            ResizeTold(
                seq=2291,
                shape="general-small",
                before=1,
                after=3,
                reason="4 jobs need 7 CPUs each",
                refused=["general-xs: a job needs 7 CPUs, it offers 3"],
            )
        ],
        "shortages": [],
    }
    return DecisionView(**(fields | known))


def test_decisions_read_as_a_story(terminal: Terminal, api: FakeApi) -> None:
    short = ShortageTold(seq=2288, shape="gpu-t4-x1", why="no capacity", failures=2, until=None)
    quiet = decided(version=0, changes=[], shortages=[short], at=NOON - timedelta(minutes=1))
    api.routes["GET fleet/decisions"] = lambda _: DecisionPage(
        decisions=[decided(), quiet], next=2288
    )

    told = terminal("fleet", "decisions").stdout.splitlines()

    assert told[0].endswith("4 jobs waiting · 1 worker · rule family · then $1.21/h · plan 7")
    assert told[1:3] == ["  ▲ general-small  1 → 3  #2291", "      4 jobs need 7 CPUs each"]
    assert told[3].endswith("workers did not come")
    assert told[4] == "  ! gpu-t4-x1 did not come (time 2 in a row): no capacity  #2288"
    assert told[5] == "2 decisions · older: clusterra fleet decisions --before 2288"
    assert "general-xs" not in "".join(told)


def test_what_else_was_considered_is_told_when_asked_for(terminal: Terminal, api: FakeApi) -> None:
    api.routes["GET fleet/decisions"] = lambda _: DecisionPage(decisions=[decided()], next=None)

    told = terminal("fleet", "decisions", "--all", "--limit", "5", "--before", "9").stdout

    assert "      not general-xs: a job needs 7 CPUs, it offers 3" in told.splitlines()
    assert api.asked[-1].query == {"limit": "5", "before": "9"}


def test_no_decision_yet_is_followed_by_the_next_step(terminal: Terminal, api: FakeApi) -> None:
    api.routes["GET fleet/decisions"] = lambda _: DecisionPage(decisions=[], next=None)

    assert terminal("fleet", "decisions").stdout.splitlines() == [
        "Nothing has been decided yet: no job has needed a worker.",
        "  Next:  clusterra run -- hostname",
    ]


# --- the policy


def test_the_policy_is_shown_with_or_without_saying_get(terminal: Terminal, api: FakeApi) -> None:
    api.routes["GET fleet/policy"] = lambda _: a_policy(max_usd_per_hour_micros=12_500_000)

    told = terminal("fleet", "policy").stdout

    assert told == terminal("fleet", "policy", "get").stdout
    assert "  max per hour      $12.50\n" in told
    assert "no admin has set anything yet" in told


def test_setting_a_policy_sends_only_what_was_said(terminal: Terminal, api: FakeApi) -> None:
    api.routes["PATCH fleet/policy"] = lambda _: a_policy(
        max_workers=4, max_usd_per_hour_micros=12_500_000, minimum={"general-small": 2}
    )

    told = terminal(
        "fleet", "policy", "set", "--max-workers", "4", "--max-usd-per-hour", "12.50",
        "--minimum", "general-small=2",
    )  # fmt: skip

    sent = {name: value for name, value in api.asked[-1].body.items() if value is not None}
    assert sent == {
        "max_workers": 4,
        "max_usd_per_hour_micros": 12_500_000,
        "minimum": {"general-small": 2},
    }
    assert told.stdout.splitlines()[0] == (
        "From now on: family · at most 4 workers and $12.50/h · idle ones go after 2m 00s"
        " · on-demand · always 2 general-small."
    )


def test_a_limit_is_lifted_by_saying_none(terminal: Terminal, api: FakeApi) -> None:
    api.routes["PATCH fleet/policy"] = lambda _: a_policy()

    terminal("fleet", "policy", "set", "--max-usd-per-hour", "none")

    assert api.asked[-1].body["max_usd_per_hour_micros"] == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "Say what to change"),
        (("--max-usd-per-hour", "lots"), "is no amount of dollars"),
        (("--max-usd-per-hour", "0.00000001"), "is no amount of dollars"),
        (("--max-usd-per-hour", "NaN"), "is no amount of dollars"),
        (("--max-usd-per-hour", "0"), "to start no workers say --max-workers 0"),
        (("--minimum", "general-small"), "is not like general-small=2"),
        (("--minimum", "general-small=-1"), "is not like general-small=2"),
    ],
)
def test_what_cannot_be_meant_is_said_before_anything_is_sent(
    terminal: Terminal, api: FakeApi, words: tuple[str, ...], says: str
) -> None:
    refused = terminal("fleet", "policy", "set", *words)

    assert refused.exit_code == 2
    assert says in refused.stderr
    assert api.asked == []


def test_what_the_server_refuses_is_told_in_its_words(terminal: Terminal, api: FakeApi) -> None:
    api.routes["PATCH fleet/policy"] = lambda _: problem(
        422, "max-below-minimum", "At most 1 worker …", "Raise max_workers.", kind="invalid"
    )

    refused = terminal("fleet", "policy", "set", "--max-workers", "1")

    assert (refused.exit_code, refused.stderr) == (2, "At most 1 worker …\nRaise max_workers.\n")


# --- simulations


def test_two_policies_are_compared_without_a_server(tmp_path: Path) -> None:
    queue = tmp_path / "jobs.json"
    queue.write_text(json.dumps([{"cpus": 3, "memory_mib": 4096, "seconds": 600, "count": 8}]))

    told = Terminal({})("fleet", "simulate", "--queue", str(queue)).stdout.splitlines()

    assert told[0] == "8 jobs over 0 s · prices of us-east-1 · workers come after 60 s"
    assert told[1].split() == ["family", "cheapest"]
    assert [line.split("  ")[1] for line in told[2:4]] == ["cost", "mean wait"]
    assert told[3].split()[-2:] == ["00s", "00s"] or told[3].count("1m") == 2
    assert told[-1].startswith("cheapest costs ")


def test_a_made_up_queue_is_the_same_for_the_same_seed() -> None:
    words = ("fleet", "simulate", "--synthetic", "60", "--json", "--against", "idle_seconds=600")

    first, again, other = (Terminal({})(*words, "--seed", seed).stdout for seed in "778")

    assert first == again != other
    outcomes = json.loads(first)["outcomes"]
    assert [each["policy"] for each in outcomes] == ["family", "idle_seconds=600"]
    assert outcomes[0]["idle_seconds"] < outcomes[1]["idle_seconds"]
    assert isinstance(outcomes[0]["cost_micros"], int)


def test_what_a_cluster_ran_is_replayed_under_its_own_policy(
    terminal: Terminal, api: FakeApi
) -> None:
    api.routes["GET fleet/policy"] = lambda _: a_policy(rule="cheapest", max_workers=3)
    api.pages = [[ended(job_id=1), ended(job_id=2)], [ended(job_id=3)]]

    told = terminal("fleet", "simulate", "--days", "7", "--json")

    answer = json.loads(told.stdout)
    assert answer["jobs"] == 3
    assert [each["policy"] for each in answer["outcomes"]] == ["cheapest", "family"]
    assert {each["never_ran"] for each in answer["outcomes"]} == {0}
    asked = [each.query["q"] for each in api.asked if each.path.endswith("/jobs")]
    assert asked == ["submitted<7d"] * 2


def test_a_cluster_that_ran_nothing_has_nothing_to_replay(terminal: Terminal, api: FakeApi) -> None:
    api.routes["GET fleet/policy"] = lambda _: a_policy()

    refused = terminal("fleet", "simulate", "--days", "2")

    assert refused.exit_code == 4
    assert "--synthetic" in refused.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "Say which jobs"),
        (("--synthetic", "5", "--days", "2"), "Say which jobs"),
        (("--synthetic", "5", "--against", "dearest"), 'There is no rule "dearest".'),
        (("--synthetic", "5", "--against", "colour=red"), "'colour=red' is nothing"),
        (("--synthetic", "5", "--max-workers", "-3"), "max_workers cannot be -3."),
        (("--synthetic", "5", "--region", "mars-1"), "no prices for the region 'mars-1'"),
        (("--queue", "/nonexistent.json"), "cannot be read"),
    ],
)
def test_an_impossible_simulation_is_refused(words: tuple[str, ...], says: str) -> None:
    refused = Terminal({})("fleet", "simulate", *words)

    assert refused.exit_code == 2
    assert says in refused.stderr


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "is not a list of jobs"),
        ('{"seconds": 4}', "is not a list of jobs"),
        ('[{"cpus": 4}]', "missing required field `seconds`"),
        ('[{"seconds": 4, "gpu": 1}]', "unknown field `gpu`"),
        ('[{"seconds": 4}, {"seconds": 0}]', "job 2: seconds is 0."),
        ('[{"seconds": 4, "cpus": -1}]', "job 1: cpus is -1."),
        ('[{"seconds": 4, "count": 2000000}]', "more than 1,000,000 jobs"),
    ],
)
def test_a_queue_that_cannot_be_read_says_where(tmp_path: Path, text: str, says: str) -> None:
    queue = tmp_path / "jobs.json"
    queue.write_text(text)

    refused = Terminal({})("fleet", "simulate", "--queue", str(queue))

    assert refused.exit_code == 2
    assert says in refused.stderr
