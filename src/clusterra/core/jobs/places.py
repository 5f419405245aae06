"""Where a job runs, and where its output goes.

sbatch turns relative paths into absolute ones before Slurm sees them; slurmrestd
of 26.05 hands `out.txt` to the node as it is, and then nobody can say where the
output went. So every path that leaves here is absolute.
"""

from collections.abc import Mapping
from typing import Any

_STREAMS = ("standard_output", "standard_error", "standard_input")


def places(properties: Mapping[str, Any], *, home: str) -> dict[str, str]:
    """Return the job's directory and files, absolute, with defaults for what was left out."""
    workdir = inside(home, properties.get("current_working_directory") or home)
    of_task = "%A_%a" if properties.get("array") else "%j"
    found = {
        "current_working_directory": workdir,
        "standard_output": inside(workdir, f"job_{of_task}.out"),
    }
    for stream in _STREAMS:
        if path := properties.get(stream):
            # `none` is sbatch's word for nowhere.
            found[stream] = "/dev/null" if path.lower() == "none" else inside(workdir, path)
    return found


def inside(directory: str, path: str) -> str:
    return path if path.startswith("/") else f"{directory.rstrip('/')}/{path}"
