"""A teller that remembers what it was told."""

from dataclasses import dataclass, field

from clusterra.local.running import Running


@dataclass
class Remembering:
    notes: list[str] = field(default_factory=list)
    finished: list[str] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)
    percents: list[int] = field(default_factory=list)

    def note(self, text: str) -> None:
        self.notes.append(text)

    def progress(self, what: str, percent: int, seconds: float, usually: float | None) -> None:
        self.percents.append(percent)

    def done(self, what: str, seconds: float, note: str = "") -> None:
        self.finished.append(what)

    def trouble(self, text: str) -> None:
        self.troubles.append(text)

    def up(self, running: Running) -> None: ...

    def stopping(self) -> None: ...

    def stopped(self, seconds: float) -> None: ...
