"""Whoever tells a person, a program or a log what happens while a cluster starts, runs and stops."""

from typing import Protocol

from clusterra.local.running import Running


class Teller(Protocol):
    def note(self, text: str) -> None:
        """Tell something worth knowing that needs no doing."""

    def progress(self, what: str, percent: int, seconds: float, usually: float | None) -> None:
        """Tell how far something is; called often, with a percentage that only grows."""

    def done(self, what: str, seconds: float, note: str = "") -> None:
        """Tell that something is finished and how long it took."""

    def trouble(self, text: str) -> None:
        """Tell of something that went wrong and is being mended, or was."""

    def up(self, running: Running) -> None:
        """Tell that everything answers; said once."""

    def stopping(self) -> None: ...

    def stopped(self, seconds: float) -> None: ...
