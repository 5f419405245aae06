"""The environment a job starts with.

A job handed over through slurmrestd has no submitting shell, and Slurm refuses a
job without an environment, so one is made: a plain login's variables, and the
`SLURM_…` ones that sbatch itself puts there. Those are easy to miss: the job's
node sets SLURM_NTASKS, but SLURM_CPUS_PER_TASK and SLURM_SUBMIT_DIR come from
sbatch, and half of all scripts read one of them. Measured on 24.11 and 26.05.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from clusterra.core.errors import Invalid
from clusterra.core.jobs.notation import Ask
from clusterra.core.quote import shown

RUN_ID = "CLUSTERRA_RUN_ID"

# sbatch tells MPI launchers that the processes they start through srun are theirs, not a step's.
_MPI = {
    "OMPI_MCA_plm_slurm_args": "--external-launcher",
    "PRTE_MCA_plm_slurm_args": "--external-launcher",
    "HYDRA_BOOTSTRAP": "slurm",
    "HYDRA_LAUNCHER_EXTRA_ARGS": "--external-launcher",
    "I_MPI_HYDRA_BOOTSTRAP": "slurm",
    "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS": "--external-launcher",
}
_FROM_PROPERTIES = {
    "container": "SLURM_CONTAINER",
    "container_id": "SLURM_CONTAINER_ID",
    "cpus_per_task": "SLURM_CPUS_PER_TASK",
    "dependency": "SLURM_JOB_DEPENDENCY",
    "ntasks_per_tres": "SLURM_NTASKS_PER_GPU",
    "tasks_per_core": "SLURM_NTASKS_PER_CORE",
    "tasks_per_node": "SLURM_NTASKS_PER_NODE",
    "tasks_per_socket": "SLURM_NTASKS_PER_SOCKET",
    "threads_per_core": "SLURM_THREADS_PER_CORE",
    "tres_bind": "SLURM_TRES_BIND",
    "tres_per_task": "SLURM_TRES_PER_TASK",
}
_FROM_OPTIONS = {
    "cpus-per-gpu": "SLURM_CPUS_PER_GPU",
    "gpu-freq": "SLURM_GPU_FREQ",
    "gpus": "SLURM_GPUS",
    "gpus-per-node": "SLURM_GPUS_PER_NODE",
    "gpus-per-socket": "SLURM_GPUS_PER_SOCKET",
    "hint": "SLURM_HINT",
    "mem-per-gpu": "SLURM_MEM_PER_GPU",
}


def environment(
    *,
    home: str,
    user: str,
    run_id: str,
    submitted_from: str,
    properties: Mapping[str, Any],
    asks: Iterable[Ask] = (),
    wanted: Mapping[str, str] | None = None,
    given: Mapping[str, str] | None = None,
) -> list[str]:
    """Make the environment as slurmrestd wants it, a list of `NAME=value`; never empty.

    `--export` adds its assignments. ALL, NONE and the names of variables to pass on
    change nothing: there is no submitting shell to take them from. `submitted_from`
    stands in for the directory where sbatch would have been called. `given` is what we
    tell every job; whoever submits may say otherwise.
    """
    asks = tuple(asks)
    variables = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": home,
        "USER": user,
        "LOGNAME": user,
        "SHELL": "/bin/bash",
        "LANG": "C.UTF-8",
        "SLURM_SUBMIT_DIR": submitted_from,
        **_MPI,
        **_told(properties),
        **{_FROM_OPTIONS[ask.option]: ask.text for ask in asks if ask.option in _FROM_OPTIONS},
        **(given or {}),
    }
    for ask in asks:
        if ask.option == "export":
            variables |= checked(exported(ask), at=ask.at)
    variables |= checked(wanted or {}, at="env")
    return [f"{name}={value}" for name, value in (variables | {RUN_ID: run_id}).items()]


def _told(properties: Mapping[str, Any]) -> dict[str, str]:
    told = {
        variable: str(properties[name])
        for name, variable in _FROM_PROPERTIES.items()
        if isinstance(properties.get(name), int | str)
    }
    method, _, plane = str(properties.get("distribution", "")).partition("=")
    if method:
        told["SLURM_DISTRIBUTION"] = method
    if plane:
        told["SLURM_DIST_PLANESIZE"] = plane
    return told


def exported(ask: Ask) -> dict[str, str]:
    """Read the assignments of `--export=ALL,A=1,B='x,y',C`; quotes keep a comma in a value."""
    parts = re.findall(r"(?:'[^']*'|\"[^\"]*\"|[^,])+", ask.text)
    pairs = (part.partition("=") for part in parts if "=" in part)
    return {name.strip(): re.sub(r"^(['\"])(.*)\1$", r"\2", value) for name, _, value in pairs}


def checked(variables: Mapping[str, str], *, at: str) -> Mapping[str, str]:
    """Return the variables, or say which of them no program could read."""
    for name, value in variables.items():
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise Invalid(
                f"{shown(name)} is not the name of an environment variable.",
                hint="Names have letters, digits and _, and do not begin with a digit.",
                at=at,
            )
        if re.search(r"[\x00\ud800-\udfff]", value):
            raise Invalid(
                f"The value of {name} holds a NUL or a broken character.",
                hint="Remove it: environment variables are plain text.",
                at=at,
            )
    return variables
