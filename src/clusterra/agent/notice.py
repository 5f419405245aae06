"""Know within a millisecond that a hook has put a file into the spool.

By inotify, through the C library, since Python has no module for it. Where there is
none (another system, no watches left) the directory is looked at every second.
"""

import ctypes
import os
import select
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

WITHOUT = 1.0
"""Seconds between looks where nobody tells us."""

_MOVED_TO = 0x80
_CREATE = 0x100


class Notice:
    def __init__(self, directory: Path, *, stop: int) -> None:
        self._stop = stop
        """A descriptor that becomes readable when waiting is to end for good."""
        self._inotify = _watching(directory)

    @property
    def is_told(self) -> bool:
        return self._inotify >= 0

    def wait(self, seconds: float, *, only_stop: bool = False) -> bool:
        """Return when something has come, or time is up; True if it is time to stop."""
        asked = select.poll()
        asked.register(self._stop, select.POLLIN)
        if self.is_told and not only_stop:
            asked.register(self._inotify, select.POLLIN)
        elif not only_stop:
            seconds = min(seconds, WITHOUT)
        ready = {descriptor for descriptor, _ in asked.poll(seconds * 1000)}
        if self._inotify in ready:
            with suppress(BlockingIOError):
                while os.read(self._inotify, 65536):
                    pass
        return self._stop in ready

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.is_told:
            os.close(self._inotify)
            self._inotify = -1


def _watching(directory: Path) -> int:
    """Return a descriptor that tells of new files; -1 where that is not possible."""
    try:
        library = ctypes.CDLL(None, use_errno=True)
        descriptor = int(library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
    except (OSError, AttributeError):
        return -1
    if descriptor < 0:
        return -1
    if library.inotify_add_watch(descriptor, os.fsencode(directory), _MOVED_TO | _CREATE) < 0:
        os.close(descriptor)
        return -1
    return descriptor
