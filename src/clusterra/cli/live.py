"""One line that tells how something goes.

On a terminal it is rewritten in place and its clock ticks; a change of state starts
a new one and leaves the last to be read. In a pipe: one plain line per change.
"""

from dataclasses import dataclass
from datetime import timedelta

import click

from clusterra.cli.amounts import stopwatch
from clusterra.cli.screen import Screen, columns_of, cut_end, pad, say, tame
from clusterra.cli.words import StateWords

TICK = 0.25  # seconds between two drawings on a terminal

_WHEEL = "◐◓◑◒"
_STATE_WIDTH = 12
_CLEAR = "\r\x1b[K"


@dataclass(slots=True, kw_only=True)
class LiveLine:
    screen: Screen
    aside: bool = False
    """Write to stderr, because stdout carries something else."""

    _told: tuple[str, str] = ("", "")
    _drawn: bool = False
    _turn: int = 0
    _last: str = ""

    def tell(self, words: StateWords, note: str, elapsed: timedelta) -> None:
        note = tame(note)
        if not self.screen.live:
            if (words.short, note) != self._told:
                say(f"{words}{f' · {note}' if note else ''}", error=self.aside)
            self._told = (words.short, note)
            return
        if self._drawn and words.short != self._told[0]:
            self._write(_CLEAR + self._last + "\n")
        self._told = (words.short, note)
        self._turn += 1
        self._last = self._line(words, words.mark, note, elapsed)
        wheel = _WHEEL[self._turn % len(_WHEEL)]
        self._write(_CLEAR + self._line(words, wheel, note, elapsed))
        self._drawn = True

    def stop(self) -> None:
        """Leave the line as it is and go on below it."""
        if self._drawn:
            self._write(_CLEAR + self._last + "\n")
        self._drawn = False

    def clear(self) -> None:
        if self._drawn:
            self._write(_CLEAR)
        self._drawn = False

    def _line(self, words: StateWords, mark: str, note: str, elapsed: timedelta) -> str:
        clock = stopwatch(elapsed)
        state = pad(f"{mark} {words.short}", _STATE_WIDTH)
        # The last column stays free: a terminal wraps when it is written to.
        room = self.screen.width - 1 - columns_of(state) - len(clock) - 4
        middle = pad(cut_end(note, room), room)
        return f"{self.screen.paint(state, words.colour)}  {middle}  {clock}"

    def _write(self, text: str) -> None:
        click.echo(text, nl=False, err=self.aside, color=True)
