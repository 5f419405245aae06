"""Our own recipes on a real Slurm: each is submitted, ends as it should, and leaves what it should."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clusterra.core.errors import ClusterraError
from clusterra.wire.jobs import JobAccepted
from tests.catalog.smoke import SMOKE
from tests.cluster import Running, eventually


@pytest.fixture(scope="module")
def started(running: Running) -> dict[str, JobAccepted]:
    """Submit all of them, and only then wait for any: together they take as long as the longest."""
    client = running.client()
    return {
        id: client.submit(
            running.cluster,
            {"template_id": id, "params": dict(case.params), "inputs": dict(case.inputs)},
        )
        for id, case in SMOKE.items()
    }


def steps_of(accepted: JobAccepted) -> list[int]:
    return [each.job_id for each in accepted.steps or []]


def directory_of(running: Running, accepted: JobAccepted) -> Path:
    """Return where it wrote: below a person's files, wherever those lie in the state directory."""
    name = accepted.workflow_id or f"outputs/{accepted.run_id}"
    [found] = running.path.glob(f"*/{accepted.user}/{name}")
    return found


def output_of(running: Running, job_id: int) -> str:
    return running.client().output(running.cluster, job_id).data.decode()


@pytest.mark.parametrize("id", SMOKE)
def test_a_recipe_runs_and_leaves_what_it_promises(
    id: str, started: dict[str, JobAccepted], running: Running
) -> None:
    case, accepted = SMOKE[id], started[id]
    views = [running.wait_ended(each) for each in steps_of(accepted)]

    said = output_of(running, views[-1].job_id)
    assert views[-1].state == case.state, said
    assert views[-1].exit_code == case.exit_code
    assert case.says in said
    assert not accepted.warnings
    if case.leaves:
        at = directory_of(running, accepted)
        # Of an array, one task may still be writing when another has ended.
        for name, content in case.leaves.items():
            eventually(f"{name} holds {content}", holds(at / name, content), timeout=20)


def holds(path: Path, content: str) -> Callable[[], bool]:
    def is_so() -> bool:
        return path.exists() and (not content or content in path.read_text())

    return is_so


def test_a_name_given_to_ones_own_script_is_that_of_the_job(
    started: dict[str, JobAccepted], running: Running
) -> None:
    named = running.client().job(running.cluster, str(started["custom-slurm"].job_id))
    other = running.client().job(running.cluster, str(started["hello"].job_id))

    assert (named.name, other.name) == ("mine", "hello")


def test_work_with_checkpoints_that_is_cancelled_goes_on_when_it_is_started_again(
    running: Running,
) -> None:
    client = running.client()
    slow = "import time\n\ndef piece(number, state):\n    time.sleep({})\n    return [*(state or []), number]\n"
    wanted = {"checkpoint": "data/again.json", "pieces": 40, "every": 5}
    program = slow + "\ndef result(state):\n    return {{'sum': sum(state)}}\n"

    def begin(pause: float) -> JobAccepted:
        params = {**wanted, "program": program.format(pause)}
        return client.submit(
            running.cluster, {"template_id": "checkpoint-restart", "params": params}
        )

    first = begin(0.2)
    running.wait(first.job_id, until=lambda view: view.state == "RUNNING")
    [files] = running.path.glob(f"*/{first.user}/outputs")
    eventually("a checkpoint is kept", (files.parent / "data/again.json").exists)
    client.cancel(running.cluster, first.job_id)
    running.wait_ended(first.job_id)
    second = begin(0)
    running.wait_ended(second.job_id)

    progress = directory_of(running, first) / "progress.log"
    eventually("it says that it was stopped", lambda: "SIGTERM" in progress.read_text())
    stopped = int(progress.read_text().split("stopped after piece ")[1].split()[0])
    assert 5 <= stopped < 40
    assert f"going on after piece {stopped} of 40" in output_of(running, second.job_id)
    result = json.loads((directory_of(running, second) / "result.json").read_text())
    assert result == {"sum": sum(range(1, 41))}


def test_a_notebook_that_fails_shows_where_in_its_page(running: Running) -> None:
    cells = "# %%\nprint('first')\n# %%\n1 / 0\n# %%\nprint('never')\n"

    accepted = running.client().submit(
        running.cluster, {"template_id": "notebook-report", "params": {"notebook": cells}}
    )
    view = running.wait_ended(accepted.job_id)

    page = (directory_of(running, accepted) / "report.html").read_text()
    assert (view.state, view.exit_code) == ("FAILED", 1)
    assert "ZeroDivisionError" in page
    assert "The cells below were not run." in page


def workflow(running: Running, steps: list[dict[str, Any]]) -> dict[str, Any]:
    """Submit steps, and return the workflow once each of its jobs has ended."""
    accepted = running.client().submit(running.cluster, {"steps": steps})
    for each in steps_of(accepted):
        running.wait_ended(each)
    path = f"/v1/clusters/{running.cluster}/workflows/{accepted.workflow_id}"
    found: dict[str, Any] = json.loads(running.connection().send("GET", path).body)
    return found


def python_step(id: str, program: str, *after: str) -> dict[str, Any]:
    return {
        "step_id": id,
        "template_id": "python-step",
        "params": {"script_body": program},
        "depends_on": list(after),
    }


def test_what_waits_for_a_step_that_failed_never_starts_and_is_told_why(running: Running) -> None:
    found = workflow(
        running,
        [
            python_step("first", "print('fine')"),
            python_step("middle", "raise SystemExit(3)", "first"),
            python_step("last", "open('ran', 'w')", "middle"),
            python_step("beyond", "open('ran', 'w')", "last"),
        ],
    )

    because = "It was not started: the step middle failed with exit code 3."
    assert found["state"] == "FAILED"
    assert [(each["step_id"], each["state"], each["why"]) for each in found["steps"]] == [
        ("first", "COMPLETED", ""),
        ("middle", "FAILED", ""),
        ("last", "CANCELLED", because),
        ("beyond", "CANCELLED", because),
    ]
    for each in found["steps"][2:]:
        view = running.client().job(running.cluster, str(each["job_id"]))
        assert (view.started_at, view.reason) == (None, "DependencyNeverSatisfied")
    assert not [*running.path.glob(f"*/*/{found['id']}/*/ran")]


def test_a_step_that_is_an_array_has_failed_if_one_of_its_tasks_has(running: Running) -> None:
    sweep = {"values": "1\n0\n0\n0", "command": 'exit "$VALUE"'}
    found = workflow(
        running,
        [
            {"step_id": "each", "template_id": "array-sweep", "params": sweep},
            python_step("after", "print('never')", "each"),
        ],
    )

    assert found["state"] == "FAILED"
    assert [(each["state"], each["why"]) for each in found["steps"]] == [
        ("FAILED", ""),
        ("CANCELLED", "It was not started: the step each failed with exit code 1."),
    ]


def test_a_step_that_cannot_be_rendered_is_named_and_nothing_is_submitted(
    running: Running,
) -> None:
    before = running.client().jobs(running.cluster).total
    broken = {"step_id": "scan", "template_id": "parameter-scan", "params": {"cpus": 1000}}

    with pytest.raises(ClusterraError, match=r"Step scan: .*between 1 and 128, not 1000"):
        running.client().submit(
            running.cluster, {"steps": [python_step("first", "print(1)"), broken]}
        )

    time.sleep(1)
    assert running.client().jobs(running.cluster).total == before
