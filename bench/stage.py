"""What several figures share: each part is started when first asked for, and once."""

import time
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from bench.embedded import Embedded, embedded
from bench.processes import Plane, Replayed, control_plane, replay, until

LARGE = 50_000
SMALL = 2_000


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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    @cached_property
    def large(self) -> Played:
        """Fifty thousand jobs of eight kilobytes, some of them waiting and running."""
        return self._play(LARGE)

    @cached_property
    def small(self) -> Played:
        """A queue like that of a group of people, looked at four times as often as usual."""
        return self._play(SMALL, CLUSTERRA_SLURM_POLL_SECONDS="0.5")

    @cached_property
    def embedded(self) -> Embedded:
        """A real Slurm with the control plane in front of it, and how long it took to be there."""
        return self._running.enter_context(embedded())

    def _play(self, jobs: int, **settings: str) -> Played:
        slurm = self._running.enter_context(replay(jobs))
        plane = self._running.enter_context(control_plane(slurm.url, **settings))
        began = time.perf_counter()
        until(plane.ready, every=0.1)
        return Played(
            slurm=slurm,
            plane=plane,
            sync_seconds=time.perf_counter() - began,
            peak_mb=plane.memory_mb("VmHWM"),
        )
