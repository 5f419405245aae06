"""What a job said it would leave behind.

It is declared when the job is submitted and looked for when it has ended: what is there is
kept among its owner's files, and told with the job's end by name and size.
"""

from dataclasses import dataclass

from clusterra.core.change import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    key: str
    path: str
    """Where the job writes it, from the root of its cluster's file system; may hold `*` and `?`
    in its last part."""

    role: str = "generic"


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """The artifacts of one run; kept under its run id."""

    user: str
    """The Linux user whose job it is; files of others are not theirs to leave behind."""

    email: str
    artifacts: tuple[Artifact, ...]


DECLARED: Kind[Declared] = Kind("artifacts", Declared)
