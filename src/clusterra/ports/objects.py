"""Files, kept by key in a store that people and jobs reach without us in between."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Cargo:
    """What is about to be put: exactly this is taken, and nothing else."""

    size: int
    sha256: str = ""
    """In hexadecimal. May be left out only for what comes in parts: each of those has its own."""

    content_type: str = "application/octet-stream"
    versioned: bool = False
    """What was there before can be had again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Presigned:
    """A request that somebody without any credentials may make, once or more, for a while."""

    url: str
    """Whole; or from the slash on, for what this server answers itself."""

    method: str
    expires_at: datetime
    headers: Mapping[str, str] = field(default_factory=dict)
    """To be sent with it, exactly so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    key: str
    size: int
    modified_at: datetime
    sha256: str = ""
    """Empty where the store does not know it: a job wrote it, say."""

    content_type: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    folders: Sequence[str]
    """Prefixes below the one asked for, each with its slash at the end."""

    files: Sequence[Stored]
    next: str = ""
    """Where the next page begins; empty after the last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    number: int
    """From 1 on."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    files: int = 0
    bytes: int = 0


class Handout(Protocol):
    """A file that is being handed out."""

    size: int
    headers: Mapping[str, str]

    def pieces(self, start: int, stop: int) -> AsyncIterator[bytes]: ...

    def close(self) -> None: ...


class Intake(Protocol):
    """A file, or a part of one, that is being taken in. Until `finish` nobody sees it."""

    size: int

    async def write(self, data: bytes) -> None: ...

    async def finish(self) -> str:
        """Make it visible, if it is what was announced, and return its checksum. Raises Refused."""
        ...

    async def drop(self) -> None:
        """Leave nothing of it. Harmless after `finish`."""
        ...


class Desk(Protocol):
    """Where presigned requests are answered by this server itself."""

    async def receive(self, ticket: str, method: str, headers: Mapping[str, str]) -> Intake:
        """Raises Forbidden for a ticket that is not ours, or no longer, or for something else, and
        Refused for a length or type that is not the announced one."""
        ...

    async def hand_out(self, ticket: str, method: str) -> Handout:
        """Raises Forbidden as above, and NotFound."""
        ...


class Objects(Protocol):
    """Files by key. Whoever asks has made sure that the key is somebody's to ask for.

    What is put has exactly the announced length, type and checksum, or is refused; and is
    visible whole or not at all. A presigned request is good for its key alone and for a while;
    a changed one is refused.
    """

    @property
    def desk(self) -> Desk | None:
        """Who answers presigned requests; None where they go straight to somebody else."""

    async def make_room(self, name: str, uid: int | None) -> str:
        """Make the place of whoever's keys begin with `name`, who is this Linux user.

        Returns the directory that their jobs find it in; empty where jobs do not see it.
        """
        ...

    def room(self, name: str) -> str:
        """Return the directory that jobs find that place in, made or not; empty where they do not."""
        ...

    def key_at(self, path: str) -> str | None:
        """Return the key of what jobs see at this path; None of what is not in here."""
        ...

    async def presign_get(self, key: str, *, version: str = "", name: str = "") -> Presigned:
        """Return how to get it; a browser saves it as `name`. Raises NotFound."""
        ...

    async def presign_put(self, key: str, cargo: Cargo) -> Presigned: ...

    async def begin(self, key: str, cargo: Cargo, part_size: int) -> str:
        """Begin a file that comes in parts of this size, the last one smaller. Returns its id."""
        ...

    async def presign_part(self, key: str, upload: str, part: Part) -> Presigned: ...

    async def parts(self, key: str, upload: str) -> Sequence[Part]:
        """Return the parts that have come, by number. Raises NotFound if it is over."""
        ...

    async def complete(self, key: str, upload: str, *, size: int) -> None:
        """Make a file of its parts, which together have this size.

        Raises Conflict if one is missing, NotFound if it is over.
        """
        ...

    async def abort(self, key: str, upload: str) -> None:
        """Forget the parts; harmless if it is over."""
        ...

    async def list(self, prefix: str, *, after: str = "", limit: int = 1000) -> Listing:
        """Return what lies directly below a prefix that ends in a slash, by name."""
        ...

    async def stat(self, key: str, *, version: str = "") -> Stored | None: ...

    async def delete(self, key: str) -> bool:
        """Say whether it was there."""
        ...

    async def copy(self, source: str, target: str, *, version: str = "") -> None:
        """Raises NotFound."""
        ...

    async def move(self, source: str, target: str) -> None:
        """Raises NotFound."""
        ...

    async def versions(self, key: str) -> Sequence[Stored]:
        """Return what was put there, newest first; what is there now is the first."""
        ...

    async def put(self, key: str, data: AsyncIterator[bytes], cargo: Cargo) -> None:
        """Put what this server has itself."""
        ...

    def read(self, key: str) -> AsyncIterator[bytes]:
        """Yield what is there. Raises NotFound."""
        ...

    async def used(self, prefix: str) -> Used: ...

    async def close(self) -> None: ...
