"""A process that may outlive us: started, known again, told of its end, never mistaken.

A pid alone is not a process: it is given to another one later. A pid with the moment it
started is, and once we hold the kernel's descriptor of it, a signal can reach no other.
The descriptor also says when it ends, whoever its parent is, without anybody asking.
"""

import asyncio
import os
import shutil
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")
_NORMAL = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGCHLD]
"""A shell's background jobs ignore some of these, and what we start would inherit that."""


class Process:
    """One that runs. Only within an event loop."""

    def __init__(self, pid: int, started: int, descriptor: int) -> None:
        loop = asyncio.get_running_loop()
        self.pid = pid
        self.started = started
        self.ended: asyncio.Future[None] = loop.create_future()
        self._descriptor = descriptor
        loop.add_reader(descriptor, self._end)

    def send(self, number: signal.Signals) -> None:
        if not self.ended.done():
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._descriptor, number)

    async def stop(self, patience: float) -> None:
        """Ask it to end; make it, after a while. Returns when it has."""
        self.send(signal.SIGTERM)
        try:
            async with asyncio.timeout(patience):
                await asyncio.shield(self.ended)
        except TimeoutError:
            self.send(signal.SIGKILL)
            await asyncio.shield(self.ended)

    def let_go(self) -> None:
        """Hear no more of it."""
        if not self.ended.done():
            self._forget()
            self.ended.cancel()

    def _end(self) -> None:
        self._forget()
        # Only our own children wait for us; those of another agent are somebody else's.
        with suppress(ChildProcessError):
            os.waitpid(self.pid, os.WNOHANG)
        if not self.ended.done():
            self.ended.set_result(None)

    def _forget(self) -> None:
        asyncio.get_running_loop().remove_reader(self._descriptor)
        os.close(self._descriptor)


def started_at(pid: int) -> int | None:
    """Return when it started, in clock ticks; None if there is none or it only waits to be reaped."""
    try:
        fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def spawn(argv: Sequence[str], env: Mapping[str, str], log: Path) -> Process:
    """Start a program in a session of its own. Raises OSError."""
    program = shutil.which(argv[0], path=env.get("PATH"))
    if program is None:
        raise FileNotFoundError(2, f"there is no program {argv[0]}")
    append = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    pid = os.posix_spawn(
        program,
        list(argv),
        env,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(log), append, 0o640),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
        setsigmask=[],
        setsigdef=_NORMAL,
    )
    # It is our child: until we take leave of it, nobody else gets its pid.
    return Process(pid, started_at(pid) or 0, os.pidfd_open(pid))


def adopt(pid: int, started: int) -> Process | None:
    """Take up a process that another one of us started, if it is still that one."""
    try:
        descriptor = os.pidfd_open(pid)
    except (OSError, ValueError):
        return None
    if started_at(pid) != started:
        os.close(descriptor)
        return None
    return Process(pid, started, descriptor)


def search(marker: str, name: str) -> Process | None:
    """Find a slurmd whose pid nobody came to write down, by what we put into its environment."""
    found: list[tuple[int, int]] = []
    for entry in _PROC.glob("[0-9]*"):
        try:
            environ = (entry / "environ").read_bytes().split(b"\0")
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if marker.encode() not in environ or b"-N" not in words:
            continue
        started = started_at(int(entry.name))
        if words[words.index(b"-N") + 1] == name.encode() and started is not None:
            found.append((started, int(entry.name)))
    # What it forks looks like itself for a moment, and is younger.
    return adopt(min(found)[1], min(found)[0]) if found else None
