"""`clusterra jobs why` in the terminal."""

import json
from datetime import timedelta
from typing import Any

import pytest

from clusterra.wire.why import (
    CalibrationView,
    EstimateView,
    EvidenceView,
    LinkView,
    SoonerView,
    WhyView,
)
from tests.cli.conftest import Terminal
from tests.cli.world import NOON, FakeApi

pytestmark = pytest.mark.enable_socket


def row(kind: str, id: str, **says: Any) -> EvidenceView:
    return EvidenceView(kind=kind, id=id, at=NOON, says=says)


def a_why(**known: Any) -> WhyView:
    fields: dict[str, Any] = {
        "job_id": 41,
        "label": "41",
        "state": "PENDING",
        "reason": "Resources",
        "waiting": True,
        "kind": "provisioning",
        "summary": "Waiting for 2 memory-large workers; both are starting, usually 3 s here.",
        "chain": [
            LinkView(
                kind="provisioning",
                claim="5 tasks need 4 CPUs and 60 GiB each",
                evidence=[row("plan", "118")],
            ),
            LinkView(
                kind="provisioning",
                claim="3 are wanted; 1 up, 2 starting",
                evidence=[row("plan", "118"), row("event", "e1", type="fleet.resized", seq=2291)],
            ),
        ],
        "sooner": [
            SoonerView(say="ask for 30 GiB instead of 60 GiB: a general-large is idle", command="")
        ],
        "estimate": EstimateView(
            low=NOON + timedelta(seconds=1),
            likely=NOON + timedelta(seconds=2),
            high=NOON + timedelta(seconds=5),
            basis="From 12 memory-large workers that came before",
            calibration=CalibrationView(predictions=25, inside=21, share=0.84),
        ),
        "unseen": [],
        "at": NOON,
    }
    return WhyView(**(fields | known))


def test_the_first_line_is_the_answer_and_every_claim_names_its_row(
    terminal: Terminal, api: FakeApi
) -> None:
    api.routes["GET jobs/41/why"] = lambda _: a_why()

    lines = terminal("jobs", "why", "41").stdout.splitlines()

    assert lines[0] == "Waiting for 2 memory-large workers; both are starting, usually 3 s here."
    assert lines[1].startswith("Start in about 2 s (1–5 s): from 12 memory-large workers")
    assert lines[1].endswith("21 of 25 guesses held")
    assert lines[3].startswith("  1  5 tasks need 4 CPUs and 60 GiB each")
    assert "plan 118" in lines[3]
    assert lines[4].endswith("fleet.resized #2291")
    assert "  Sooner: ask for 30 GiB instead of 60 GiB: a general-large is idle" in lines
    assert all(len(line) <= 100 for line in lines)


def test_the_command_that_helps_is_never_cut(terminal: Terminal, api: FakeApi) -> None:
    command = "sacctmgr modify user ana where account=" + "a" * 90 + " set MaxJobs=2"
    sooner = [SoonerView(say="have an admin raise it", command=command)]
    api.routes["GET jobs/41/why"] = lambda _: a_why(sooner=sooner, estimate=None)

    assert f"    {command}" in terminal("jobs", "why", "41").stdout.splitlines()


def test_what_could_not_be_seen_is_said(terminal: Terminal, api: FakeApi) -> None:
    api.routes["GET jobs/41/why"] = lambda _: a_why(unseen=["The limits could not be seen."])

    assert "  The limits could not be seen." in terminal("jobs", "why", "41").stdout


def test_nothing_in_the_answer_moves_the_cursor(terminal: Terminal, api: FakeApi) -> None:
    api.routes["GET jobs/41/why"] = lambda _: a_why(summary="Slurm says: \x1b[2J")

    assert "\x1b" not in terminal("jobs", "why", "41").stdout


def test_json_is_what_the_api_answers(terminal: Terminal, api: FakeApi) -> None:
    api.routes["GET jobs/41/why"] = lambda _: a_why()

    told = json.loads(terminal("jobs", "why", "41", "--json").stdout)

    assert told["chain"][1]["evidence"][1]["says"] == {"type": "fleet.resized", "seq": 2291}
