"""`clusterra jobs diagnose` and `resubmit` in the terminal, and a failed job in `show`."""

from typing import Any

import msgspec
import pytest

from clusterra.wire.diagnosis import DetailView, DiagnosisView, ResubmitView
from tests.cli.conftest import Terminal
from tests.cli.world import FakeApi, ended, problem

pytestmark = pytest.mark.enable_socket

BODY = {
    "script": "#!/bin/bash\ntrue\n",
    "job": {"name": "align", "memory_per_node": {"set": True, "number": 12288}},
}
ROUTE = "GET jobs/41/diagnosis"


def a_diagnosis(**known: Any) -> DiagnosisView:
    """Return that of a job which ran out of memory, changed by what a test cares about."""
    fields: dict[str, Any] = {
        "job_id": 41,
        "label": "41",
        "name": "align",
        "user": "ana",
        "state": "OUT_OF_MEMORY",
        "failed": True,
        "cause": "out-of-memory",
        "sure": True,
        "summary": "Ran out of memory after 2m 04s: it asked for 8 GiB and reached 7.9 GiB.",
        "exit_code": None,
        "signal": 9,
        "ended_with": "ended by signal 9 (SIGKILL)",
        "details": [
            DetailView(label="ended", value="by signal 9 (SIGKILL)"),
            DetailView(label="memory", value="7.9 GiB of 8 GiB"),
        ],
        "last_lines": ["merging from 4 files …", "Killed"],
        "memory_asked_mib": 8192,
        "memory_used_mib": 8090,
        "time_limit_minutes": 60,
        "ran_seconds": 124,
        "node_events": [],
        "spot": False,
        "cost_lost_micros": 370_000,
        "advice": "Submit it again with more memory, such as 12 GiB.",
        "resubmit": ResubmitView(body=BODY, changes=["memory: 8 GiB → 12 GiB"]),
        "resubmit_helps": True,
        "why_not": "",
    }
    return DiagnosisView(**(fields | known))


@pytest.fixture
def failed(api: FakeApi) -> FakeApi:
    api.life = [ended(state="OUT_OF_MEMORY", signal=9)]
    api.routes[ROUTE] = lambda _: a_diagnosis()
    return api


def sent(api: FakeApi) -> dict[str, Any]:
    asked = next(each for each in api.asked if each.path.endswith("/submit"))
    body: dict[str, Any] = asked.body
    return body


def test_the_first_line_says_why_and_the_last_what_to_do(
    terminal: Terminal, failed: FakeApi
) -> None:
    assert failed
    assert terminal("jobs", "diagnose", "41").stdout.splitlines() == [
        "Ran out of memory after 2m 04s: it asked for 8 GiB and reached 7.9 GiB.",
        "  align · job 41 · ana · $0.37 lost",
        "",
        "  ended   by signal 9 (SIGKILL)",
        "  memory  7.9 GiB of 8 GiB",
        "",
        "  Last lines:",
        "    merging from 4 files …",
        "    Killed",
        "",
        "  Submit it again with more memory, such as 12 GiB.",
        "  Next:  clusterra jobs resubmit 41     (memory: 8 GiB → 12 GiB)",
    ]


def test_a_job_that_runs_has_nothing_to_mend(terminal: Terminal, api: FakeApi) -> None:
    api.routes[ROUTE] = lambda _: a_diagnosis(
        state="RUNNING",
        failed=False,
        cause="none",
        summary="It is still running.",
        cost_lost_micros=None,
        advice="",
        resubmit=None,
        resubmit_helps=False,
        why_not="It has not ended.",
    )

    assert terminal("jobs", "diagnose", "41").stdout.splitlines() == [
        "It is still running.",
        "  align · job 41 · ana",
        "  Next:  clusterra jobs logs 41 -f",
    ]


def test_where_a_hand_has_to_mend_it_first_the_next_step_is_to_look(
    terminal: Terminal, failed: FakeApi
) -> None:
    again = ResubmitView(body=BODY, changes=[])
    failed.routes[ROUTE] = lambda _: a_diagnosis(
        cause="command-not-found", resubmit=again, resubmit_helps=False
    )

    diagnosed = terminal("jobs", "diagnose", "41").stdout.splitlines()
    shown = terminal("jobs", "show", "41").stdout.splitlines()

    assert diagnosed[-1] == "  Next:  clusterra jobs logs 41"
    assert shown[-1] == "  Next:  clusterra jobs diagnose 41"


def test_what_is_written_in_output_cannot_move_the_cursor(terminal: Terminal, api: FakeApi) -> None:
    api.routes[ROUTE] = lambda _: a_diagnosis(
        last_lines=["\x1b[2Jgone"], details=[DetailView(label="says", value="\x1b]0;x\x07")]
    )

    assert "\x1b" not in terminal("jobs", "diagnose", "41").stdout


def test_json_is_what_the_server_said(terminal: Terminal, failed: FakeApi) -> None:
    assert failed
    printed = terminal("jobs", "diagnose", "41", "--json").stdout

    assert msgspec.json.decode(printed, type=DiagnosisView) == a_diagnosis()


def test_resubmitting_sends_what_is_proposed_and_says_what_changed(
    terminal: Terminal, failed: FakeApi
) -> None:
    result = terminal("jobs", "resubmit", "41")

    assert result.stdout.splitlines() == [
        "Changed: memory: 8 GiB → 12 GiB",
        "Job 41 submitted as ana",
        "Watch it:  clusterra jobs watch 41",
    ]
    assert sent(failed) == BODY


def test_what_is_asked_for_wins_over_what_is_proposed(terminal: Terminal, failed: FakeApi) -> None:
    result = terminal("jobs", "resubmit", "41", "--memory", "16G", "--time", "2h")

    assert result.stdout.splitlines()[0] == "Changed: memory: 16 GiB; time limit: 2 h"
    job = sent(failed)["job"]
    assert job["memory_per_node"] == {"set": True, "number": 16384}
    assert job["time_limit"] == {"set": True, "number": 120}


def test_memory_on_a_node_takes_the_place_of_memory_per_cpu(
    terminal: Terminal, api: FakeApi
) -> None:
    body = {"script": "#!/bin/sh\n", "job": {"memory_per_cpu": {"set": True, "number": 3}}}
    changes = ["memory per CPU: 2 MiB → 3 MiB", "array: 0-9 → 5"]
    again = ResubmitView(body=body, changes=changes)
    api.routes[ROUTE] = lambda _: a_diagnosis(resubmit=again)

    result = terminal("jobs", "resubmit", "41", "--memory", "1G")

    assert result.stdout.splitlines()[0] == "Changed: array: 0-9 → 5; memory: 1 GiB"
    assert sent(api)["job"] == {"memory_per_node": {"set": True, "number": 1024}}


def test_as_is_asks_for_the_job_as_it_was(terminal: Terminal, api: FakeApi) -> None:
    api.routes[ROUTE] = lambda _: a_diagnosis(resubmit=ResubmitView(body=BODY, changes=[]))

    result = terminal("jobs", "resubmit", "41", "--as-is")

    assert result.stdout.splitlines()[0] == "Nothing is changed."
    assert next(each for each in api.asked if "diagnosis" in each.path).query == {"as_is": "true"}


def test_what_cannot_be_submitted_again_is_refused_with_another_way(
    terminal: Terminal, api: FakeApi
) -> None:
    api.routes[ROUTE] = lambda _: a_diagnosis(
        resubmit=None, why_not="It was submitted past Clusterra."
    )

    result = terminal("jobs", "resubmit", "41")

    assert result.exit_code == 3
    assert "It was submitted past Clusterra." in result.stderr
    assert "clusterra jobs requeue 41" in result.stderr
    assert not any(each.path.endswith("/submit") for each in api.asked)


def test_a_wrong_amount_is_a_mistake_in_the_command(terminal: Terminal, failed: FakeApi) -> None:
    assert terminal("jobs", "resubmit", "41", "--memory", "lots").exit_code == 2
    assert not any(each.path.endswith("/submit") for each in failed.asked)


def test_waiting_for_it_ends_with_its_code(terminal: Terminal, failed: FakeApi) -> None:
    failed.life = [ended(state="COMPLETED", exit_code=0)]

    assert terminal("jobs", "resubmit", "41", "--wait").exit_code == 0


def test_show_of_a_failed_job_says_why_and_what_to_do(terminal: Terminal, failed: FakeApi) -> None:
    told = terminal("jobs", "show", "41").stdout.splitlines()

    assert told[1] == f"  {a_diagnosis().summary}"
    assert "    Killed" in told
    assert told[-1] == "  Next:  clusterra jobs resubmit 41     (memory: 8 GiB → 12 GiB)"
    assert not any(each.path.endswith("/output") for each in failed.asked)


def test_show_of_a_job_that_did_not_fail_asks_nothing_more(
    terminal: Terminal, failed: FakeApi
) -> None:
    failed.life = [ended(state="COMPLETED", exit_code=0)]

    told = terminal("jobs", "show", "41").stdout.splitlines()

    assert told[-1] == "  Next:  clusterra jobs logs 41"
    assert not any(each.path.endswith("/diagnosis") for each in failed.asked)


def test_show_does_without_a_diagnosis_that_is_not_for_whoever_asks(
    terminal: Terminal, failed: FakeApi
) -> None:
    failed.routes[ROUTE] = lambda _: problem(403, "foreign-job", "What job 41 writes is for ana.")
    failed.output = b"a line\n"

    told = terminal("jobs", "show", "41").stdout.splitlines()

    assert "    a line" in told
    assert told[-1] == "  Next:  clusterra jobs logs 41"
