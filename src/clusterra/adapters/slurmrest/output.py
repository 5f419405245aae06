"""Where a job's output goes, worked out as Slurm works it out.

Needed for accounting, which stores the pattern a person wrote, and whose own
expansion is wrong in 24.11 (`/home/aliceout.txt`: it forgets the slash).
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
        return rooted(pattern.replace("\\", ""), naming.work_dir)
    return rooted(_SIGN.sub(lambda sign: _meaning(sign, naming), pattern), naming.work_dir)


def rooted(path: str, work_dir: str) -> str:
    """Return the path as seen from the root, which is where the working directory starts."""
    if not path or path.startswith("/"):
        return path
    return posixpath.join(work_dir, path)


def tasks_to_come(path: str) -> str:
    """Mend the path of an array's waiting tasks: Slurm writes their number as "not set"."""
    return path.replace(str(NO_VALUE), "%a")


def _meaning(sign: re.Match[str], naming: Naming) -> str:
    width, letter = sign.groups()
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
            number = naming.task
        case "b":
            number = None if naming.task is None else naming.task % 10
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
