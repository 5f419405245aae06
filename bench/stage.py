"""What figures are measured on: started when first asked for, one at a time.

Figures that need the same thing stand beside each other in the table and share it;
asking for another one puts the first away, so that nothing idles beside what is measured.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Self, TypeVar

from bench.embedded import Embedded, embedded
from bench.processes import Plane, Replayed, control_plane, replay, until

T = TypeVar("T")

LARGE = 50_000
SMALL = 2_000
IDLE = 1_000

QUICK = {"CLUSTERRA_SLURM_POLL_SECONDS": "0.5"}
"""Four times as many looks at the queue as usual, to count more of them in as much time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """A control plane in front of a replayed queue, after its first sync."""

    slurm: Replayed
    plane: Plane
    sync_seconds: float
    peak_mb: float
    """The most memory the control plane had used when the first sync was over."""


class Stage:
    def __init__(self) -> None:
        self._running = ExitStack()
        self._shown: dict[str, object] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    @property
    def large(self) -> Played:
        """Fifty thousand jobs of eight kilobytes, some of them waiting and running."""
        return self._show("large", lambda: self._play(LARGE))

    @property
    def small(self) -> Played:
        """A queue like that of a group of people."""
        return self._show("small", lambda: self._play(SMALL, settings=QUICK))

    @property
    def idle(self) -> Played:
        """A queue in which every job has ended."""
        return self._show("idle", lambda: self._play(IDLE, idle=True))

    @property
    def embedded(self) -> Embedded:
        """A real Slurm with the control plane in front of it, and how long it took to be there."""
        return self._show(
            "embedded", lambda: self._running.enter_context(embedded("--workers", "2"))
        )

    def _show(self, name: str, start: Callable[[], T]) -> T:
        if name not in self._shown:
            self._running.close()
            self._shown = {name: start()}
        found: T = self._shown[name]  # type: ignore[assignment]  # each name has one type
        return found

    def _play(
        self, jobs: int, *, idle: bool = False, settings: Mapping[str, str] | None = None
    ) -> Played:
        slurm = self._running.enter_context(replay(jobs, idle=idle))
        plane = self._running.enter_context(control_plane(slurm.url, settings=settings or {}))
        began = time.perf_counter()
        until(plane.ready, every=0.1)
        played = Played(
            slurm=slurm,
            plane=plane,
            sync_seconds=time.perf_counter() - began,
            peak_mb=plane.memory_mb("VmHWM"),
        )
        slurm.past_read()
        return played
