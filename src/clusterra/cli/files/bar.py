"""How far a file has got: a bar with rate and time left, or in a pipe a plain line at its end."""

import threading
import time
from dataclasses import dataclass, field

import click

from clusterra.cli.amounts import file_size
from clusterra.cli.screen import Screen, cut_middle, pad, say, tame
from clusterra.core.words import span

_CLEAR = "\r\x1b[K"
_WIDTH = 20
_EVERY = 0.1


@dataclass(slots=True, kw_only=True)
class Bar:
    """Told by several threads. Written to stderr, so that stdout stays for the answer."""

    name: str
    size: int
    screen: Screen
    quiet: bool = False
    done: int = 0
    """Bytes that are there, those of an earlier try included."""

    began_with: int = 0
    began: float = field(default_factory=time.monotonic)
    _drawn: float = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def resumed(self, there: int) -> None:
        """Note what is there of an earlier try."""
        self.done = self.began_with = there
        if there and not self.quiet:
            part = f"{there / self.size:.0%}" if self.size else "0%"
            say(f"{tame(self.name)}: going on at {part}, no part is sent twice", error=True)

    def restarted(self) -> None:
        self.done = self.began_with = 0

    def more(self, count: int) -> None:
        with self._lock:
            self.done += count
            now = time.monotonic()
            if self.screen.live and not self.quiet and now - self._drawn >= _EVERY:
                self._drawn = now
                click.echo(_CLEAR + self._line(now), nl=False, err=True, color=True)

    def end(self, act: str) -> None:
        seconds = max(time.monotonic() - self.began, 0.001)
        self.clear()
        if not self.quiet:
            rate = file_size(int((self.done - self.began_with) / seconds))
            mark = self.screen.paint("✓", "green")
            say(
                f"{mark} {tame(self.name)} {act} · {file_size(self.size)} in "
                f"{span(seconds)} · {rate}/s",
                error=True,
            )

    def clear(self) -> None:
        if self.screen.live and not self.quiet:
            click.echo(_CLEAR, nl=False, err=True, color=True)

    def _line(self, now: float) -> str:
        share = min(self.done / self.size, 1) if self.size else 1
        filled = int(share * _WIDTH)
        rate = (self.done - self.began_with) / max(now - self.began, 0.001)
        left = span((self.size - self.done) / rate) if rate else "–"
        tail = (
            f"{'█' * filled}{'░' * (_WIDTH - filled)} {share:4.0%}"
            f"  {file_size(self.done)} of {file_size(self.size)}"
            f"  {file_size(int(rate))}/s  {left} left"
        )
        room = max(self.screen.width - len(tail) - 3, 8)
        return f"{pad(cut_middle(tame(self.name), room), room)}  {tail}"
