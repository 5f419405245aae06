"""What jobs leave on the file system that they run on."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    path: str
    """From the root of the cluster's file system."""

    size: int
    name: str
    """What it is called below what was asked for: of a file in a folder, with the folder."""


class JobFiles(Protocol):
    """Files of the people whose jobs run on a cluster, as those jobs see them."""

    async def find(self, user: str, pattern: str) -> Sequence[Found]:
        """Return the plain files of a Linux user at this path, whose last part may hold `*` and `?`.

        Of a folder, those in it and below it; not more than can be listed. No link is followed, and what belongs to somebody else is not there.
        """
        ...

    def read(self, user: str, path: str) -> AsyncIterator[bytes]:
        """Yield what is in such a file. Raises NotFound."""
        ...
