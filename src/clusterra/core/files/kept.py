"""What a job left behind, and where it is kept among its owner's files."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from clusterra.core.change import Kind
from clusterra.core.errors import Invalid
from clusterra.core.files.path import read_path

MOST = 200
"""Files of one job that are told and kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptFile:
    key: str
    """What it was declared as."""

    role: str
    name: str
    source: str
    """Where the job wrote it."""

    size: int
    path: str
    """Where it is below `outputs`."""

    in_place: bool = False
    """The job wrote it where it is kept."""

    kept: bool = False
    sha256: str = ""
    why_not: str = ""
    """Why it cannot be kept, where it cannot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The artifacts of one job."""

    job_id: int
    run_id: str
    task: int | None
    restarts: int
    """Which of its runs it is of: a job that runs again writes them again."""

    user: str
    email: str
    at: datetime
    looked: bool
    """They have been looked for; what is not here was not there."""

    files: tuple[KeptFile, ...] = ()

    @property
    def is_over(self) -> bool:
        return self.looked and all(each.kept or each.why_not for each in self.files)


KEPT: Kind[Kept] = Kind("kept", Kept)
"""By cluster, run id and job."""

TO_KEEP: Kind[int] = Kind("to-keep", int)
"""The same ids, of those that are not all kept yet; so that nobody goes through the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighted:
    """A declared file that is there."""

    key: str
    role: str
    source: str
    name: str
    size: int
    lies_in: str | None
    """Where below `outputs` it lies already; None if elsewhere."""


def placed(sighted: Sequence[Sighted], *, run_id: str, task: int | None) -> tuple[KeptFile, ...]:
    """Say where each file is to be kept: by its name below the run's id; where two have one name,
    below what they were declared as."""
    folder = run_id if task is None else f"{run_id}/{task}"
    found: list[KeptFile] = []
    taken: set[str] = set()
    for each in sighted[:MOST]:
        name = each.name
        path = each.lies_in or f"{folder}/{name}"
        if each.lies_in is None and path in taken:
            path = f"{folder}/{each.key}/{name}"
        taken.add(path)
        made = KeptFile(
            key=each.key,
            role=each.role,
            name=name,
            source=each.source,
            size=each.size,
            path=path,
            in_place=each.lies_in is not None,
        )
        found.append(_checked(made))
    return tuple(found)


def _checked(file: KeptFile) -> KeptFile:
    try:
        read_path(file.path, existing=True)
    except Invalid as error:
        return replace(file, why_not=error.detail)
    return file
