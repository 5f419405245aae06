"""What `clusterra up` prints while a cluster starts, runs and stops.

On a terminal one line is rewritten while something is under way. In a pipe or a
log every step is one plain line.
"""

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import click
import msgspec

from clusterra.cli.screen import Screen, cut_end, pad, say
from clusterra.local.running import Running

_COLUMN = 42
_CLEAR = "\r\x1b[K"
_PLAIN_STEP = 20  # percent between two lines of progress in a pipe


@dataclass(slots=True, kw_only=True)
class Telling:
    screen: Screen
    as_json: bool = False
    """A program reads stdout: one object when it is up, and everything else on stderr."""
    quiet_banner: bool = False
    """Say nothing of being up: whoever asked prints it."""
    stamp: Callable[[], datetime] | None = None
    """Begin every line with the time, for a log."""
    state_option: str = ""
    """What to type for a cluster that is not in the default place, as ` --state DIR`."""
    detached: bool = False
    sign_in_url: Callable[[Running], str] = lambda _: ""
    """Where the owner signs in, asked once it is up."""
    for_programs: Callable[[Running], dict[str, str]] = lambda _: {}
    """What else a program is told, asked once it is up."""
    _told_percent: int = -1
    _drawn: bool = False

    def note(self, text: str) -> None:
        self._line(f"   {text}")

    def progress(self, what: str, percent: int, seconds: float, usually: float | None) -> None:
        usual = f", usually {usually:.0f} s" if usually else ""
        text = f"{percent:3} %  {what}  ({seconds:.0f} s{usual})"
        if self.screen.live:
            click.echo(
                f"{_CLEAR} {self.screen.paint('◐', 'blue')} "
                + cut_end(text, self.screen.width - 4),
                nl=False,
                err=self.as_json,
                color=True,
            )
            self._drawn = True
        elif percent // _PLAIN_STEP > self._told_percent // _PLAIN_STEP:
            self._line(f"   {text}")
        self._told_percent = percent

    def done(self, what: str, seconds: float, note: str = "") -> None:
        self._told_percent = -1
        clock = f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
        mark = self.screen.paint("✓", "green")
        tail = f"    {note}" if note else ""
        self._line(f" {mark} {pad(what, _COLUMN)} {clock}{tail}".rstrip())

    def trouble(self, text: str) -> None:
        first, *rest = text.splitlines()
        self._line(f" {self.screen.paint('!', 'yellow')} {first}")
        for line in rest:
            self._line(f"   {line}")

    def up(self, running: Running) -> None:
        if self.as_json:
            told = {**running.announcement(), **self.for_programs(running)}
            click.echo(msgspec.json.encode(told))
        elif not self.quiet_banner:
            for line in self._banner(running):
                self._line(line)

    def stopping(self) -> None:
        self._line(
            "Stopping in order: agent, control plane, Slurm, database. "
            "Ctrl-C again ends everything at once."
        )

    def stopped(self, seconds: float) -> None:
        self._line(
            f"Stopped in {seconds:.1f} s. Everything is kept; `clusterra up` brings it back."
        )

    def _banner(self, running: Running) -> list[str]:
        workers = _workers(running)
        command = f"{_called()}{self.state_option}"
        lines = [
            "",
            f"   {self.screen.paint('Clusterra is up', bold=True)}    {running.url}",
            f"   Slurm {running.slurm.version} · API {running.slurm.api_version} · {workers}",
        ]
        if running.single_user:
            lines.append(
                f"   Started without root: all jobs run as one Linux user, {running.single_user}."
            )
        stop = f"{command} down" if self.detached else "Ctrl-C"
        return [
            *lines,
            f"   The token is in {_short(running.token_file)}; `clusterra` finds it by itself.",
            "",
            *self._sign_in(running, command),
            f"   Try:   {command} run -- hostname",
            f"          {command} jobs submit examples/hello.sh --wait",
            f"   Stop:  {stop}   (everything is kept; `{command} up` brings it back)",
        ]

    def _sign_in(self, running: Running, command: str) -> list[str]:
        url = self.sign_in_url(running)
        if not url or url == running.url:
            return [f"   Sign in:  {url}", ""] if url else []
        return [
            f"   Sign in:  {url}",
            f"             (once, within 10 minutes; `{command} people link` makes another,",
            f"             `{command} people invite EMAIL` one for somebody else)",
            "",
        ]

    def _line(self, text: str) -> None:
        if self._drawn:
            click.echo(_CLEAR, nl=False, err=self.as_json, color=True)
            self._drawn = False
        if self.stamp is not None:
            text = f"{self.stamp():%Y-%m-%d %H:%M:%S} {text.strip()}"
        say(text, error=self.as_json)


def _workers(running: Running) -> str:
    if running.agent_key_file:
        return "workers elsewhere"
    if running.workers is None:
        return "workers as jobs need them"
    return f"{running.workers} worker{'' if running.workers == 1 else 's'}"


def _short(path: str) -> str:
    """Write a path below the home directory as people do."""
    home = str(Path.home())
    return f"~{path[len(home) :]}" if path.startswith(f"{home}/") else path


def _called() -> str:
    """Return how to call this command from here: by name, or where it is not on PATH, by path."""
    ours = Path(sys.executable).with_name("clusterra")
    if shutil.which("clusterra") or not ours.exists():
        return "clusterra"
    return str(ours.relative_to(Path.cwd())) if ours.is_relative_to(Path.cwd()) else str(ours)
