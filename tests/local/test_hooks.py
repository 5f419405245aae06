"""What `clusterra up` tells Slurm about hooks, and how a collector counts as ready."""

from pathlib import Path

from clusterra.local.probe import answers
from clusterra.local.slurm_conf import HOOK, Slurm, slurm_conf


def conf(*, hooks: bool) -> list[str]:
    slurm = Slurm(
        cluster="clus0001",
        version="26.05.5",
        ctld_port=1,
        slurmd_port=2,
        dbd_port=3,
        hooks=hooks,
    )
    return slurm_conf(slurm, user="slurm").splitlines()


def test_slurm_calls_the_hook_at_the_start_and_the_end_of_a_job() -> None:
    assert f"PrologSlurmctld={HOOK}" in conf(hooks=True)
    assert f"JobCompLoc={HOOK}" in conf(hooks=True)


def test_without_hooks_slurm_is_told_of_none() -> None:
    assert not [line for line in conf(hooks=False) if HOOK in line or "JobComp" in line]


def test_a_daemon_that_listens_nowhere_is_ready_when_its_file_is_there(tmp_path: Path) -> None:
    ready = tmp_path / "a #file%20 with ? odd name"

    assert not answers(f"file://{ready}")
    ready.touch()
    assert answers(f"file://{ready}")
