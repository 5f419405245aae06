"""The kernel's word that a file or a directory has changed: inotify, by way of libc.

Watched is what a descriptor has open, through /proc/self/fd: a name that somebody has exchanged
meanwhile leads nowhere else. There is one instance while anybody watches, on the loop of the
first who does, and none otherwise. Whatever keeps the kernel from watching (a limit that is reached, a
kernel without it) is an OSError, and whoever watches has to look by themselves.
"""

import asyncio
import ctypes
import os
import struct
from collections.abc import Callable
from contextlib import suppress

# From <sys/inotify.h>.
_MODIFY, _ATTRIB, _MOVED_TO, _CREATE = 0x2, 0x4, 0x80, 0x100
_DELETE_SELF, _MOVE_SELF = 0x400, 0x800
_OVERFLOW = 0x4000
FILE = _MODIFY | _ATTRIB | _DELETE_SELF | _MOVE_SELF
"""It was written to, made shorter, removed or renamed."""

DIRECTORY = _CREATE | _MOVED_TO | _DELETE_SELF | _MOVE_SELF
"""Something came into it."""

_HEAD = struct.Struct("iIII")
_AT_ONCE = 64 << 10

Told = Callable[[], None]


class Inotify:
    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = -1
        self._loop: asyncio.AbstractEventLoop | None = None
        self._watches: dict[int, list[Told]] = {}
        """By the kernel's number: the same one for everybody who watches the same thing."""

    def watch(self, descriptor: int, mask: int, told: Told) -> Callable[[], None]:
        """Call `told` whenever it happens, until what is returned is called. Raises OSError."""
        self._open()
        path = f"/proc/self/fd/{descriptor}".encode()
        number = self._libc.inotify_add_watch(self._descriptor, path, ctypes.c_uint32(mask))
        if number < 0:
            error = ctypes.get_errno()
            self._close_if_unused()
            raise OSError(error, os.strerror(error))
        self._watches.setdefault(number, []).append(told)

        def leave() -> None:
            self._leave(number, told)

        return leave

    def _leave(self, number: int, told: Told) -> None:
        who = self._watches.get(number, [])
        with suppress(ValueError):
            who.remove(told)
        if not who and self._watches.pop(number, None) is not None and self._descriptor >= 0:
            # It is gone by itself where what was watched is gone.
            self._libc.inotify_rm_watch(self._descriptor, number)
        self._close_if_unused()

    def _open(self) -> None:
        loop = asyncio.get_running_loop()
        if self._descriptor >= 0 and self._loop is loop:
            return
        descriptor = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if descriptor < 0:
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error))
        self._descriptor, self._loop = descriptor, loop
        loop.add_reader(descriptor, self._read)

    def _close_if_unused(self) -> None:
        if self._watches or self._descriptor < 0 or self._loop is None:
            return
        self._loop.remove_reader(self._descriptor)
        os.close(self._descriptor)
        self._descriptor, self._loop = -1, None

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, _AT_ONCE)
        except (BlockingIOError, InterruptedError):
            return
        at = 0
        whose: set[int] = set()
        while at < len(data):
            number, mask, _, length = _HEAD.unpack_from(data, at)
            at += _HEAD.size + length
            if mask & _OVERFLOW:
                whose.update(self._watches)
            whose.add(number)
        for number in whose:
            for told in tuple(self._watches.get(number, ())):
                told()
