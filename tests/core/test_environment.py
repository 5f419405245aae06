from datetime import UTC, datetime
from typing import Any

from clusterra.core.jobs.compose import JobWish, compose

NOON = datetime(2031, 5, 1, 12, tzinfo=UTC)
RUN = "0198c2d4-7a55-7c3e-9d41-1f6a2b3c4d5e"


def environment(directives: str = "", **wishes: Any) -> dict[str, str]:
    """What a job starts with whose script has this `#SBATCH` line."""
    request = compose(
        JobWish(script=f"#!/bin/bash\n#SBATCH {directives}\n", **wishes),
        home="/home/ana",
        user="ana",
        run_id=RUN,
        now=NOON,
    )
    return dict(line.split("=", 1) for line in request.properties["environment"])


def test_the_environment_is_a_plain_login_and_says_which_run_this_is() -> None:
    env = environment()

    assert env["PATH"] == "/usr/local/bin:/usr/bin:/bin"
    assert (env["HOME"], env["USER"], env["LOGNAME"]) == ("/home/ana", "ana", "ana")
    assert (env["SHELL"], env["LANG"]) == ("/bin/bash", "C.UTF-8")
    assert env["CLUSTERRA_RUN_ID"] == RUN


def test_variables_that_only_sbatch_sets_are_set() -> None:
    env = environment(
        "--ntasks-per-node=2 -G a100:2 -m plane=4 -d afterok:7 --hint=nomultithread",
        cpus=4,
        tasks=2,
    )

    assert env["SLURM_SUBMIT_DIR"] == "/home/ana"
    assert env["SLURM_CPUS_PER_TASK"] == "4"
    assert env["SLURM_TRES_PER_TASK"] == "cpu=4"
    assert env["SLURM_NTASKS_PER_NODE"] == "2"
    assert env["SLURM_GPUS"] == "a100:2"
    assert env["SLURM_JOB_DEPENDENCY"] == "afterok:7"
    assert (env["SLURM_HINT"], env["SLURM_THREADS_PER_CORE"]) == ("nomultithread", "1")
    assert (env["SLURM_DISTRIBUTION"], env["SLURM_DIST_PLANESIZE"]) == ("plane", "4")


def test_what_was_not_asked_for_is_not_told() -> None:
    assert not {"SLURM_CPUS_PER_TASK", "SLURM_GPUS", "SLURM_DISTRIBUTION"} & set(environment())


def test_exported_assignments_reach_the_job_and_a_wish_wins_over_them() -> None:
    env = environment("--export=\"ALL,A=1,B='x,y',C\"", env={"A": "2", "PATH": "/opt/bin"})

    assert (env["A"], env["B"], env["PATH"]) == ("2", "x,y", "/opt/bin")
    assert "C" not in env
    assert environment("--export=NONE")["HOME"] == "/home/ana"


def test_nobody_can_pose_as_another_run() -> None:
    assert environment(env={"CLUSTERRA_RUN_ID": "mine"})["CLUSTERRA_RUN_ID"] == RUN
