"""The Linux users that jobs run as."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """A Linux user where jobs run."""

    name: str
    home: str
    uid: int | None = None
    """Its number there, where that is known."""

    variables: Mapping[str, str] = field(default_factory=dict)
    """What every job of theirs finds in its environment."""


class Logins(Protocol):
    """The Linux users of the machines where jobs run."""

    async def ensure(self, name: str, uid: int | None) -> Login:
        """Return the user, made just in time, with that number, where that is ours to do.

        Raises Refused where it cannot be made (a reserved name, a number somebody else has,
        a single-user cluster).
        """
        ...

    async def rehearse(self, name: str) -> Login:
        """Return the user that `ensure` would, and make nobody. Raises what it would raise."""
        ...

    async def directory_missing(self, path: str) -> bool:
        """Say whether `path` is known not to exist there. Not knowing is False."""
        ...
