"""Our own recipes on a real Slurm: each is submitted, ends as it should, and leaves what it should."""

import hashlib
import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from clusterra.core.errors import ClusterraError
from clusterra.wire.jobs import JobAccepted
from tests.catalog.smoke import SMOKE
from tests.cluster import Running, eventually

AT_ONCE = 5


@dataclass(frozen=True)
class Told:
    """What somebody at a terminal saw of a recipe."""

    code: int
    text: str
    jobs: tuple[int, ...]


@pytest.fixture(scope="module")
def told(running: Running, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Told]:
    """Run all of them as a person does, several at a time."""
    place = tmp_path_factory.mktemp("values")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(zip(SMOKE, pool.map(partial(_run, running, place), SMOKE), strict=True))


def _run(running: Running, place: Path, id: str) -> Told:
    values = place / f"{id}.json"
    values.write_text(
        json.dumps({"params": dict(SMOKE[id].params), "inputs": dict(SMOKE[id].inputs)})
    )
    done = running.terminal(
        *("templates", "submit", id, "--values", str(values), "--wait"), check=False, timeout=180
    )
    jobs = re.findall(r"^Job (\d+) submitted|^  \S+ +job (\d+)  ", done.stdout, re.MULTILINE)
    return Told(
        code=done.returncode,
        text=done.stdout + done.stderr,
        jobs=tuple(int(one or other) for one, other in jobs),
    )


def steps_of(accepted: JobAccepted) -> list[int]:
    return [each.job_id for each in accepted.steps or []]


def directory_of(running: Running, *, run_id: str, workflow_id: str = "") -> Path:
    """Return where it wrote: below a person's files, in the state directory."""
    name = workflow_id or f"outputs/{run_id}"
    [found] = running.path.glob(f"mnt/efs/*/{name}")
    return found


def output_of(running: Running, job_id: int) -> str:
    return running.client().output(running.cluster, job_id).data.decode()


@pytest.mark.parametrize("id", SMOKE)
def test_a_recipe_runs_from_the_terminal_and_what_it_leaves_is_fetched_whole(
    id: str, told: dict[str, Told], running: Running, tmp_path: Path
) -> None:
    case, seen = SMOKE[id], told[id]
    last = running.wait_ended(seen.jobs[-1])

    assert seen.code == case.exit_code, seen.text
    assert last.state == case.state, seen.text
    assert case.says in (seen.text if last.array_id is None else output_of(running, last.job_id))
    assert "Note:" not in seen.text
    if case.leaves:
        at = directory_of(running, run_id=last.run_id, workflow_id=last.workflow_id)
        for name, content in case.leaves.items():
            assert (at / name).exists(), name
            assert not content or content in (at / name).read_text()
    for job_id in seen.jobs:
        _compare(running, job_id, tmp_path / str(job_id))


def _compare(running: Running, job_id: int, into: Path) -> None:
    """Fetch what a job left behind, and compare it with what is there and what was said of it."""
    client = running.client()
    listed = client.files.artifacts(running.cluster, str(job_id))
    if not listed.artifacts:
        return

    def is_kept() -> bool:
        return client.files.artifacts(running.cluster, str(job_id)).complete

    eventually(f"what job {job_id} left is kept", is_kept)
    running.terminal("jobs", "artifacts", str(job_id), "--get", str(into))
    for each in client.files.artifacts(running.cluster, str(job_id)).artifacts:
        came = hashlib.sha256((into / each.name).read_bytes()).hexdigest()
        [there] = running.path.glob(f"mnt/efs/*/{each.location}/{each.path}")
        assert each.why_not == ""
        assert came == each.sha256 == hashlib.sha256(there.read_bytes()).hexdigest()


def test_a_name_given_to_ones_own_script_is_that_of_the_job(
    told: dict[str, Told], running: Running
) -> None:
    named = running.client().job(running.cluster, str(told["custom-slurm"].jobs[0]))
    other = running.client().job(running.cluster, str(told["hello"].jobs[0]))

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
    checkpoint = "mnt/efs/*/data/again.json"
    eventually("a checkpoint is kept", lambda: any(running.path.glob(checkpoint)))
    wrote = directory_of(running, run_id=first.run_id)
    client.cancel(running.cluster, first.job_id)
    running.wait_ended(first.job_id)
    second = begin(0)
    running.wait_ended(second.job_id)

    progress = wrote / "progress.log"
    eventually("it says that it was stopped", lambda: "SIGTERM" in progress.read_text())
    stopped = int(progress.read_text().split("stopped after piece ")[1].split()[0])
    assert 5 <= stopped < 40
    assert f"going on after piece {stopped} of 40" in output_of(running, second.job_id)
    result = json.loads((directory_of(running, run_id=second.run_id) / "result.json").read_text())
    assert result == {"sum": sum(range(1, 41))}


def test_a_notebook_that_fails_shows_where_in_its_page(running: Running) -> None:
    cells = "# %%\nprint('first')\n# %%\n1 / 0\n# %%\nprint('never')\n"

    accepted = running.client().submit(
        running.cluster, {"template_id": "notebook-report", "params": {"notebook": cells}}
    )
    view = running.wait_ended(accepted.job_id)

    page = (directory_of(running, run_id=accepted.run_id) / "report.html").read_text()
    assert (view.state, view.exit_code) == ("FAILED", 1)
    assert "ZeroDivisionError" in page
    assert "The cells below were not run." in page


def workflow(running: Running, steps: list[dict[str, Any]]) -> dict[str, Any]:
    """Submit steps, and return the workflow once each has ended and it is known how."""
    accepted = running.client().submit(running.cluster, {"steps": steps})
    for each in steps_of(accepted):
        running.wait_ended(each)
    path = f"/v1/clusters/{running.cluster}/workflows/{accepted.workflow_id}"
    connection, found = running.connection(), {}

    def told() -> bool:
        # States are seen at once, reasons and exit codes a moment later.
        found.update(json.loads(connection.send("GET", path).body))
        cancelled = [each["why"] for each in found["steps"] if each["state"] == "CANCELLED"]
        return all(why and not why.endswith(" failed.") for why in cancelled)

    eventually("it is known how each ended", told)
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
    assert not [*running.path.glob(f"mnt/efs/*/{found['id']}/*/ran")]


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
    before = running.submit("true")
    broken = {"step_id": "scan", "template_id": "parameter-scan", "params": {"cpus": 1000}}

    with pytest.raises(ClusterraError, match=r"Step scan: .*between 1 and 128, not 1000"):
        running.client().submit(
            running.cluster, {"steps": [python_step("first", "print(1)"), broken]}
        )

    # Slurm numbers jobs as they come.
    assert running.submit("true") == before + 1
