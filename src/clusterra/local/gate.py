"""Whether work is let in: not before everybody is ready, nor right after a crash.

A daemon that others follow (slurmctld, and the agent with its workers) comes back from a crash
not knowing what they run. So work waits until all of them have reported back. One that never
does must not keep everybody else waiting for ever: once one is back, the others are given some
time, and then it goes on without those that are missing.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from clusterra.local.child import SELDOM, Child, succeeds
from clusterra.local.plan import Plan

RETRY = 0.2
"""Seconds until the next try when what opens the cluster did not succeed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """Work was let in."""

    first: bool
    without: tuple[str, ...]
    """Those that were waited for in vain."""


@dataclass(slots=True, kw_only=True)
class Gate:
    plan: Plan
    children: Sequence[Child]
    is_open: bool = False
    _followed: list[Child] = field(init=False)
    _followers: list[Child] = field(init=False)
    _was_open: bool = False
    _some_are_back_since: float | None = None

    def __post_init__(self) -> None:
        self._followers = [child for child in self.children if child.daemon.follows]
        names = {child.daemon.follows for child in self._followers} | {self.plan.comes_back_closed}
        self._followed = [child for child in self.children if child.daemon.name in names]

    def close_for(self, child: Child) -> None:
        """Let no work in until this one and its followers are back, if it comes back closed."""
        if child in self._followed:
            self.is_open = False
            self._some_are_back_since = None

    def open(self) -> Opened | None:
        """Let work in if it is time to; None if it is not, or was done before."""
        if self.is_open or not self._is_time() or not self._let_in():
            return None
        first, self.is_open, self._was_open = not self._was_open, True, True
        return Opened(
            first=first,
            without=tuple(child.daemon.name for child in self._followers if not child.ready),
        )

    def next_look(self) -> float:
        """Return in how many seconds it may be time to open, if nothing else happens."""
        if all(child.ready for child in (*self._followed, *self._followers)):
            return RETRY
        if self._some_are_back_since is None:
            return SELDOM
        since_then = time.monotonic() - self._some_are_back_since
        return max(self.plan.opening_patience - since_then, RETRY)

    def _is_time(self) -> bool:
        if not all(child.was_ready for child in self.children):
            return False
        if not all(child.ready for child in self._followed):
            return False
        if all(child.ready for child in self._followers):
            return True
        now = time.monotonic()
        if not any(child.ready for child in self._followers):
            self._some_are_back_since = None
        elif self._some_are_back_since is None:
            self._some_are_back_since = now
        else:
            return now - self._some_are_back_since >= self.plan.opening_patience
        return False

    def _let_in(self) -> bool:
        return self.plan.opening is None or succeeds(self.plan.opening)
