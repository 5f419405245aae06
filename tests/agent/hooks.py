"""Calling the hook as Slurm calls it: by its path, with a few variables and nothing else."""

import subprocess
from pathlib import Path

from clusterra.agent.note import item, words
from clusterra.agent.spool import Spool

AT_START = {
    "SLURM_SCRIPT_CONTEXT": "prolog_slurmctld",
    "SLURM_JOB_ID": "41",
    "SLURM_JOB_NAME": "align",
    "SLURM_JOB_USER": "ana",
    "SLURM_JOB_PARTITION": "main",
    "SLURM_JOB_NODELIST": "w[1-2]",
    "SLURM_JOB_RESTART_COUNT": "1",
    "SLURM_JOB_START_TIME": "1770458390",
    "SLURM_JOB_END_TIME": "1801994390",
}
AT_END = {
    "JOBID": "41",
    "JOBNAME": "align",
    "USERNAME": "ana",
    "JOBSTATE": "COMPLETED",
    "EXITCODE": "0:0",
    "SUBMIT": "1770458300",
    "START": "1770458390",
    "END": "1770458400",
    "ARRAYJOBID": "40",
    "ARRAYTASKID": "3",
}


def a_spool(path: Path) -> Spool:
    spool = Spool(path)
    spool.open()
    spool.install()
    return spool


def call(spool: Path, *shell: str, **variables: str) -> int:
    """Run the hook, by a shell or by itself; return what it ended with."""
    done = subprocess.run(
        [*shell, str(spool / "hook.sh")], env=variables, capture_output=True, check=False
    )
    assert done.stdout == done.stderr == b""
    return done.returncode


def sent(spool: Spool) -> list[dict[str, str]]:
    """Return what would be sent, oldest first."""
    return [
        item(words((spool.new / note.name).read_bytes()), note.nanoseconds)
        for note in spool.notes()
    ]
