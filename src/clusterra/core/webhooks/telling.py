"""What is to be told, to whom, and the message that becomes of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from clusterra.core.events.sample import TEST
from clusterra.core.events.severity import Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class JobContext:
    """What is known of a job beyond what its event says. Nothing of it has to be."""

    cost_micros: int | None = None
    """So far, or in all; earlier runs included."""

    is_final: bool = False
    """What it cost does not change any more."""

    estimate: bool = False
    """Nobody pays it: the price is that of the machine its worker stands for."""

    usd_per_hour_micros: int | None = None
    ran_seconds: int | None = None
    waited_seconds: int | None = None
    nodes: tuple[str, ...] = ()
    cause: str = ""
    """Why it failed, as a sentence: `Asked 8 GiB, used 7.9 GiB.`"""

    advice: str = ""
    """What to do, as a sentence: `Retry suggested: 12 GiB.`"""

    last_lines: tuple[str, ...] = ()
    """Of its output. Only for whoever may read that."""

    artifacts: tuple[str, ...] = ()
    """Where what it made is: addresses or paths."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """One event that is to be told."""

    id: str
    type: str
    ledger: str
    """Id of the cluster, or `workspaces/…`."""

    cluster: str = ""
    """Its name for people; empty where it is not about one."""

    subject: str
    actor: str
    """`user:ana@lab.example`, `system:slurm`."""

    at: datetime
    data: Mapping[str, Any]
    """As in the event."""

    job: JobContext | None = None

    @property
    def is_made_up(self) -> bool:
        """To try an endpoint with; its message says so."""
        return self.id.startswith(TEST)

    @property
    def is_of_a_cluster(self) -> bool:
        return "/" not in self.ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the reader is."""

    console: str = ""
    """Address of the console; without one there are no links."""

    zone: str = "UTC"
    workspace: str = ""
    """Its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What people read, before it has the form of any place. Its texts are tidy and not escaped."""

    title: str
    """`Job 41 failed`: the beginning of the sentence."""

    sentence: str
    headline: str
    """The whole in a few words, for the subject of an e-mail."""

    line: str = ""
    """The sentence as one of several, with the job's name in it."""

    lines: tuple[str, ...] = ()
    """What happened, one each, where it is about several events."""

    facts: tuple[tuple[str, str], ...] = ()
    """Label and value."""

    output: tuple[str, ...] = field(default=(), repr=False)
    link: str = ""
    link_label: str = ""
    severity: Severity = Severity.INFO
    footer: str = ""
    """Where and when."""

    @property
    def rest(self) -> str:
        """The sentence after its title."""
        return self.sentence[len(self.title) :]

    @property
    def text(self) -> str:
        """All of it, as plain text."""
        width = max((len(label) for label, _ in self.facts), default=0)
        parts = (
            self.sentence,
            "\n".join(f"- {line}" for line in self.lines),
            "\n".join(f"{label:{width}}  {value}" for label, value in self.facts),
            "\n".join(("Its last lines:", *(f"  {line}" for line in self.output)))
            if self.output
            else "",
            self.link,
            self.footer,
        )
        return "\n\n".join(part for part in parts if part) + "\n"
