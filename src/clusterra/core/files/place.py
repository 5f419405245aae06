"""Where a file is: whose it is, in which location, at which path; and who may do what there.

`scripts`, `data` and `outputs` are each person's own, and nobody else's: not even an admin reads
them through this door. `shared` is the workspace's: everybody reads, those who run it write.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from clusterra.core.access import Caller
from clusterra.core.errors import Forbidden, Invalid
from clusterra.core.files.path import read_path
from clusterra.core.quote import shown


class Location(StrEnum):
    SCRIPTS = "scripts"
    """What was submitted. Versions are kept."""

    DATA = "data"
    """What jobs read."""

    OUTPUTS = "outputs"
    """What jobs wrote, and what was kept of them."""

    SHARED = "shared"
    """What everybody in the workspace reads."""


OWN = (Location.SCRIPTS, Location.DATA, Location.OUTPUTS)

_ESCAPED: Mapping[int, str] = str.maketrans({"%": "%25", "/": "%2F"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A file, or with a path that is empty or names a folder, what lies below."""

    location: Location
    path: str
    owner: str = ""
    """E-mail of whose it is; empty for what is shared."""

    @property
    def key(self) -> str:
        """How stores call it."""
        return self.prefix.removesuffix("/") if self.path else self.prefix

    @property
    def prefix(self) -> str:
        """What the keys of everything below it begin with."""
        head = f"{room_of(self.owner)}/{self.location.value}" if self.owner else "shared"
        return f"{head}/{self.path}/" if self.path else f"{head}/"

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def versioned(self) -> bool:
        return self.location is Location.SCRIPTS

    def __str__(self) -> str:
        return f"{self.location.value}/{self.path}"


def room_of(email: str) -> str:
    """Return a person's e-mail as one part of a path."""
    return email.translate(_ESCAPED)


def owner_of(room: str) -> str:
    """Return whose room this is: the e-mail; empty for the shared one."""
    return room.replace("%2F", "/").replace("%25", "%") if "@" in room else ""


def read_location(text: str, *, at: str = "location") -> Location:
    try:
        return Location(text)
    except ValueError:
        raise Invalid(
            f"There is no location {shown(text)}.",
            hint=f"The locations are: {', '.join(Location)}.",
            code="unknown-location",
            at=at,
        ) from None


def place_of(
    caller: Caller,
    location: str,
    path: str,
    *,
    folder: bool = False,
    existing: bool = False,
    at: str = "path",
) -> Place:
    """Return the place that somebody means: always their own, or the shared one."""
    where = read_location(location)
    if not caller.email:
        raise Forbidden(
            "Files belong to people, and this caller is none.",
            hint="Sign in: clusterra login",
            code="no-person",
        )
    return Place(
        location=where,
        path=read_path(path, at=at, folder=folder, existing=existing),
        owner="" if where is Location.SHARED else caller.email,
    )


def check_may_write(caller: Caller, place: Place) -> None:
    """Raise Forbidden unless the caller may put, move or delete this."""
    if place.location is Location.SHARED and not caller.admin:
        raise Forbidden(
            f"{place} is everybody's to read, and only admins write there; you are a"
            f" {caller.role.value}.",
            hint="Keep it in data/, or ask an admin to share it.",
            code="shared-read-only",
        )
