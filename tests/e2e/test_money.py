"""What jobs of a real Slurm cost: the same wherever one looks, whoever was away; and quotas that hold."""

import csv
import json
import os
import signal
from collections import Counter
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from clusterra.client.connection import Connection
from clusterra.core.errors import ClusterraError, Refused
from tests.cluster import Land, Running, eventually
from tests.watcher import Watcher, ledger

pytestmark = pytest.mark.usefixtures("needs_root")

SHAPES = {
    "ana": {"cpus": 2, "memory": "4G", "constraint": "compute"},
    "ben": {"cpus": 1, "memory": "4G", "constraint": "general"},
    "eve": {"cpus": 1, "memory": "8G", "constraint": "memory"},
}
"""What each asks for: a family of machines of its own."""

AN_HOUR = 3600


@pytest.fixture(scope="module")
def paid(land: Land) -> Iterator[Running]:
    """Start a cluster whose workers come with the jobs, and cost what EC2's would."""
    made = land.up(land.home / "paid", workers=None)
    yield made
    made.down()


@pytest.fixture
def watcher(paid: Running, tmp_path: Path) -> Iterator[Watcher]:
    made = Watcher(paid, tmp_path / "watcher", more="[clusters.scaling]")
    made.begin()
    yield made
    made.kill()


def get(running: Running, path: str, person: str = "") -> dict[str, Any]:
    made: Connection = running.connection(person)
    answer: dict[str, Any] = json.loads(made.send("GET", path).body)
    return answer


def told(events: list[dict[str, Any]], type: str, ids: set[int]) -> dict[int, dict[str, Any]]:
    """Return what the events of a kind say, by job."""
    return {
        each["data"]["job_id"]: each["data"] | {"actor": f"{each['authtype']}:{each['authid']}"}
        for each in events
        if each["type"] == type and each["data"]["job_id"] in ids
    }


def all_events(running: Running) -> list[dict[str, Any]]:
    return ledger(running.connection(), running.cluster)


def email(person: str) -> str:
    return f"{person}@lab.example"


def test_three_people_are_billed_the_same_wherever_one_looks_and_whoever_was_away(
    paid: Running, watcher: Watcher
) -> None:
    short = {
        who: paid.submit("sleep 2", person=who, time="5", **wishes)
        for who, wishes in SHAPES.items()
    }
    long = {
        who: paid.submit("sleep 10", person=who, time="5", **wishes)
        for who, wishes in SHAPES.items()
    }
    ids = {*short.values(), *long.values()}
    for id in long.values():
        paid.wait(id, until=lambda view: view.state == "RUNNING")
    eventually(
        "the other control plane has seen them start",
        lambda: len(told(watcher.ledger(), "job.cost.estimated", ids)) == len(ids),
    )
    for who in SHAPES:
        spending = get(paid, "/v1/users/me", who)["spending"]
        assert spending["burn_usd_per_hour_micros"] > 0
    shapes = {get(paid, f"/v1/clusters/{paid.cluster}/jobs/{id}")["nodes"] for id in long.values()}
    assert {name.partition("-")[0] for name in shapes} == {"compute", "general", "memory"}

    # In the middle: one is killed and comes back, the other is away for an hour.
    watcher.kill()
    os.kill(paid.daemon("control-plane").pid, signal.SIGKILL)

    def costs() -> dict[int, dict[str, Any]]:
        try:
            return told(all_events(paid), "job.cost.finalized", ids)
        except (ClusterraError, OSError):
            return {}  # it is being started again

    eventually("all have ended, and been billed", lambda: len(costs()) == len(ids), timeout=60)
    final = costs()
    assert all(each["cost_micros"] > 0 for each in final.values())
    by_person: Counter[str] = Counter()
    for each in final.values():
        by_person[each["person"]] += each["cost_micros"]
    assert by_person.keys() == {email(who) for who in SHAPES}
    assert_the_same_everywhere(paid, by_person, final)

    watcher.start(later=AN_HOUR)
    eventually(
        "the other one has billed them too",
        lambda: len(told(watcher.ledger(), "job.cost.finalized", ids)) == len(ids),
        timeout=60,
    )
    elsewhere = told(watcher.ledger(), "job.cost.finalized", ids)
    assert {id: (each["cost_micros"], each["seconds"]) for id, each in elsewhere.items()} == {
        id: (each["cost_micros"], each["seconds"]) for id, each in final.items()
    }


def assert_the_same_everywhere(
    paid: Running, by_person: Counter[str], final: dict[int, dict[str, Any]]
) -> None:
    usage = get(paid, f"/v1/clusters/{paid.cluster}/usage?by=person")
    spent = {each["person"]: each for each in usage["groups"]}
    assert {who: each["booked_micros"] for who, each in spent.items()} == by_person
    assert {who: each["pending_micros"] for who, each in spent.items()} == dict.fromkeys(
        by_person, 0
    )
    assert usage["work"]["micros"] == sum(by_person.values())
    month = usage["period"]["name"]
    [workspace] = get(paid, "/v1/workspaces")["workspaces"]
    statement = get(paid, f"/v1/workspaces/{workspace['id']}/statements/{month}")
    on_it = {each["person"]: each["spent"]["micros"] for each in statement["people"]}
    assert on_it == by_person
    for who in SHAPES:
        assert (
            get(paid, "/v1/users/me", who)["spending"]["month"]["micros"] == by_person[email(who)]
        )
    for id, each in final.items():
        cost = get(paid, f"/v1/clusters/{paid.cluster}/jobs/{id}/cost")
        assert (cost["micros"], cost["final"]) == (each["cost_micros"], True)
        assert (
            get(paid, f"/v1/clusters/{paid.cluster}/jobs/{id}")["cost_micros"]
            == each["cost_micros"]
        )
    rows = csv.DictReader(StringIO(paid.cli("usage", "--by", "person", "--csv").stdout))
    listed = {row["person"]: int(row["total_micros"]) for row in rows if row["person"]}
    assert listed == by_person


def test_what_a_job_costs_stands_in_slurms_own_record_of_it(paid: Running) -> None:
    job = paid.submit("sleep 600", time="5", cpus=1, memory="4G")
    paid.wait(job, until=lambda view: view.state == "RUNNING")

    def shown() -> str:
        return paid.slurm_says("scontrol", "show", "job", str(job))

    eventually("it is stamped", lambda: "AdminComment=clusterra: $" in shown())
    paid.client().cancel(paid.cluster, job)
    if paid.slurm["api_version"] >= "v0.0.44":
        words = ("--allocations", "--noheader", "--parsable2", "--format=admincomment")
        eventually(
            "and its final cost",
            lambda: "cost $" in paid.slurm_says("sacct", f"--jobs={job}", *words),
        )


def test_whoever_is_over_their_quota_is_warned_and_then_stopped_and_nobody_else(
    paid: Running,
) -> None:
    anas = {paid.submit("sleep 600", person="ana", time="30", **SHAPES["ana"]) for _ in range(2)}
    bens = paid.submit("sleep 600", person="ben", time="30", **SHAPES["ben"])
    for id in (*anas, bens):
        paid.wait(id, until=lambda view: view.state == "RUNNING")

    set_ = ("quota", "set", email("ana"), "--month", "0.0001", "--mode", "block_and_kill")
    said = paid.cli(*set_, "--grace", "2s").stdout
    assert email("ana") in said

    try:
        for id in anas:
            assert paid.wait_ended(id).state == "CANCELLED"
        eventually(
            "it is told",
            lambda: len(told(all_events(paid), "job.cost.finalized", anas)) == len(anas),
        )
        events = all_events(paid)
        warned = told(events, "job.cost.over_quota", anas)
        cancelled = told(events, "job.cancelled", anas)
        assert warned.keys() == cancelled.keys() == anas
        assert {each["actor"] for each in cancelled.values()} == {"system:quota"}
        assert paid.client().job(paid.cluster, bens).state == "RUNNING"
        assert not told(events, "job.cost.over_quota", {bens})
        with pytest.raises(Refused, match=r"quota|limit") as refusal:
            paid.submit("true", person="ana", time="5", **SHAPES["ana"])
        assert refusal.value.code == "quota-exceeded"
    finally:
        paid.cli("quota", "set", email("ana"), "--month", "none", "--mode", "warn")
        paid.client().cancel(paid.cluster, bens)
    assert (
        paid.wait_ended(paid.submit("true", person="ana", time="5", **SHAPES["ana"])).state
        == "COMPLETED"
    )


def test_a_dry_run_names_shape_price_total_quota_and_an_alternative(
    paid: Running, tmp_path: Path
) -> None:
    script = tmp_path / "train.sh"
    script.write_text("#!/bin/bash\n#SBATCH --cpus-per-task=4 --mem=32G --time=2:00:00\ntrue\n")
    before = paid.client().jobs(paid.cluster).total
    paid.cli("quota", "set", "everybody", "--month", "300")
    try:
        said = paid.cli("jobs", "submit", str(script), "--dry-run").stdout
        answer = json.loads(paid.cli("jobs", "submit", str(script), "--dry-run", "--json").stdout)
    finally:
        paid.cli("quota", "set", "everybody", "--month", "none")

    assert "memory-" in said
    assert "/h" in said
    assert "$300" in said or "$29" in said
    assert "Nothing was submitted" in said
    assert answer["alternatives"]
    assert paid.client().jobs(paid.cluster).total == before
