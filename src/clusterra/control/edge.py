"""The side where workers run, as far as this process knows it.

An agent's heartbeat puts in what it saw; the scaling loop puts in what it wants; each is
there for the other. Nothing in here is kept: what must survive is in the store, and what an
agent says comes again within seconds.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from clusterra.core.scaling.edge import EdgeReport, Failed, Offering
from clusterra.core.scaling.fleet import Fleet
from clusterra.core.scaling.log_door import LogDoor, log_door
from clusterra.core.scaling.shapes import Purchase
from clusterra.core.seen import Seen, Sight, Unseen

NOT_HEARD = Unseen("No agent has been heard since the server was started.")
NOT_DECIDED = Unseen("What workers are wanted has not been decided since the server was started.")
NO_PRICES = Unseen("No agent has told prices.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What an agent is told."""

    fleet: Fleet
    protected: frozenset[str]
    """Nodes with jobs on them."""

    purchase: Purchase = Purchase.ON_DEMAND
    """How machines are to be bought."""


@dataclass(slots=True, kw_only=True)
class Edge:
    report: Sight[EdgeReport] = NOT_HEARD
    """Seen at the moment it was heard."""

    failed: list[Failed] = field(default_factory=list)
    """What did not come or went by itself, and has not been counted out yet."""

    offerings: Sight[tuple[Offering, ...]] = NO_PRICES
    wanted: Sight[Wanted] = NOT_DECIDED
    """Unseen while Slurm cannot be seen: an agent must then be told nothing at all."""

    key: str = field(default="", repr=False)
    """What the agent showed; it asks the same of us."""

    heard: Callable[[], None] = lambda: None
    """Have the fleet planned now, because an agent said something new."""

    closed: bool = False
    """The server is about to stop, or the cluster to go: nobody waits any more."""

    _waiting: "set[asyncio.Future[None]]" = field(default_factory=set)

    @property
    def log_door(self) -> LogDoor | None:
        """Where the agent can be asked for logs; None while it cannot be."""
        report = self.report
        return log_door(report.value, self.key) if isinstance(report, Seen) else None

    def want(self, wanted: Wanted, at: datetime) -> None:
        before, self.wanted = self.wanted, Seen(wanted, at)
        if not isinstance(before, Seen) or before.value != wanted:
            self._tell()

    def lose_sight(self, why: str) -> None:
        """Tell agents nothing until there is something to tell again."""
        self.wanted = Unseen(why)

    def close(self) -> None:
        """Answer whoever waits, and let nobody wait again."""
        self.closed = True
        self._tell()

    async def changed(self, seconds: float) -> None:
        """Return when something else is wanted, or after so long."""
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(mine)
        try:
            async with asyncio.timeout(seconds):
                await mine
        except TimeoutError:
            return
        finally:
            self._waiting.discard(mine)

    def _tell(self) -> None:
        for each in self._waiting:
            if not each.done():
                each.set_result(None)
