"""Where a job's output goes, worked out as Slurm works it out.

Needed for accounting, which stores the pattern a person wrote, and whose own
expansion is wrong in 24.11 (`/home/aliceout.txt`: it forgets the slash); and for the
controller's jobs before v0.0.43, where some signs (`%N`, `%s`) are left in the path.
"""

import posixpath
import re
from dataclasses import dataclass

from clusterra.adapters.slurmrest.decode import NO_VALUE

_SIGN = re.compile(r"%(\d*)([AaJjNnstuxb%])")
_FIRST_HOST = re.compile(r"([^,\[]+)(?:\[(\d+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """What the signs in an output pattern stand for."""

    job: int
    array: int | None = None
    task: int | None = None
    user: str = ""
    name: str = ""
    nodes: str = ""
    work_dir: str = ""


def expand(pattern: str, naming: Naming) -> str:
    """Return the path a pattern means. `%a` stays in the pattern of tasks still to come."""
    if not pattern:
        return ""
    if "\\" in pattern:  # a backslash switches the signs off for the whole path
        path = pattern.replace("\\", "")
    else:
        path = _SIGN.sub(lambda sign: _meaning(sign, naming), pattern)
    return posixpath.join(naming.work_dir, path)


def tasks_to_come(path: str) -> str:
    """Mend the path of an array's waiting tasks: Slurm writes their number as "not set"."""
    return path.replace(str(NO_VALUE), "%a")


def _meaning(sign: re.Match[str], naming: Naming) -> str:
    width, letter = sign.groups()
    # Outside an array Slurm really writes to slurm-41_4294967294.out if told to.
    task = NO_VALUE if naming.array is None else naming.task
    match letter:
        case "%":
            return "%"
        case "u":
            return naming.user
        case "x":
            return naming.name
        case "N":
            return _first_host(naming.nodes)
        case "s":
            return "batch"
        case "a":
            number = task
        case "b":
            number = None if task is None else task % 10
        case "A":
            number = naming.job if naming.array is None else naming.array
        case "n" | "t":
            number = 0
        case _:
            number = naming.job
    return sign[0] if number is None else str(number).zfill(int(width or 0))


def _first_host(nodes: str) -> str:
    found = _FIRST_HOST.match(nodes)
    return f"{found[1]}{found[2] or ''}" if found else ""
