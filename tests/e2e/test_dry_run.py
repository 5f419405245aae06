"""What is said of a job before it is submitted is what Slurm and the meter make of it."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from clusterra.client.client import WhichEvents
from clusterra.wire.jobs import SubmitJob
from tests.cluster import Land, Running, eventually

SCRIPT = "#!/bin/sh\nsleep 2\n"


@pytest.fixture(scope="module")
def elastic(land: Land) -> Iterator[Running]:
    """Start a cluster that has no workers until a job needs one."""
    made = land.up(land.home / "dry", workers=None)
    yield made
    made.down()


def estimated_at_start(running: Running, job: int) -> dict[str, Any]:
    """Return what the ledger says of the cost of a job when it began."""
    found: list[dict[str, Any]] = []

    def told() -> bool:
        which = WhichEvents(types=("job.cost.estimated",), subject=f"job/{job}")
        page = running.client().events(running.cluster, which)
        found[:] = [each.data for each in page.events]
        return bool(found)

    eventually(f"job {job} has an estimate", told, timeout=60)
    return found[0]


@pytest.mark.parametrize(
    "wishes",
    [
        {"cpus": 1, "memory": "1G", "time": "10m"},
        {"cpus": 2, "memory": "9G", "time": "1h"},
        {"tasks": 3, "memory": "2G", "time": "30m"},
        {"cpus": 2, "time": "2h", "exclusive": True, "constraint": "general"},
    ],
)
def test_the_dry_run_and_the_started_job_agree_to_the_millionth(
    elastic: Running, wishes: dict[str, Any]
) -> None:
    before = elastic.client().estimate(elastic.cluster, SubmitJob(script=SCRIPT, **wishes))
    job = elastic.submit(SCRIPT, **wishes)

    after = estimated_at_start(elastic, job)

    assert before.usd_per_hour_micros == after["usd_per_hour_micros"]
    assert before.total_micros == after["estimated_micros"]
    assert before.estimate is after["estimate"] is True
    elastic.wait_ended(job)


def test_a_dry_run_in_the_terminal_submits_nothing(elastic: Running) -> None:
    script = elastic.land.home / "align.sh"  # where whoever runs the cluster may read it
    script.write_text(SCRIPT)
    script.chmod(0o644)
    jobs = elastic.client().jobs(elastic.cluster).total

    done = elastic.cli("jobs", "submit", str(script), "--dry-run", "--cpus", "2", "--time", "1h")

    assert done.stdout.startswith("Would run on ")
    assert done.stdout.endswith("Nothing was submitted.\n")
    assert "Cheaper" in done.stdout
    assert elastic.client().jobs(elastic.cluster).total == jobs


def test_own_rates_count_from_the_moment_they_are_said(elastic: Running) -> None:
    said = elastic.cli("prices", "set", "--cpu", "0.01", "--json")
    try:
        assert json.loads(said.stdout)["rates"]["cpu_usd_per_hour_micros"] == 10_000
        job = elastic.submit(SCRIPT, cpus=2, memory="1G", time="1h")
        assert estimated_at_start(elastic, job)["usd_per_hour_micros"] == 20_000
        elastic.wait_ended(job)
    finally:
        elastic.cli("prices", "clear")
