"""One delivery, from the name to the first byte: what the parts of the sender tell each other.

The library asks for addresses and sockets without saying for which request. So the request
travels in the context, and whoever is asked without one refuses.
"""

import asyncio
from contextvars import ContextVar
from time import perf_counter
from typing import TYPE_CHECKING

from clusterra.core.errors import Invalid
from clusterra.core.webhooks.delivery import Timings
from clusterra.core.webhooks.endpoint import Reach
from clusterra.core.webhooks.exchange import Failure
from clusterra.core.webhooks.url import Target

if TYPE_CHECKING:
    from clusterra.adapters.sender.connector import Handler

_TURNS = 4


class Stopped(OSError):
    """We did not go on, and why. An OSError, which the library hands through."""

    def __init__(self, failure: Failure, error: Invalid) -> None:
        super().__init__(error.detail)
        self.failure = failure
        self.error = error


class Dial:
    """Mutable, because a delivery is: each moment is 0 until it has come."""

    __slots__ = (
        "began",
        "dialled",
        "fresh",
        "handler",
        "named",
        "naming",
        "proxied",
        "reach",
        "ready",
        "remote",
        "reused",
        "securing",
        "stopped",
        "target",
    )

    def __init__(self, target: Target, reach: Reach, *, proxied: bool) -> None:
        self.target = target
        self.reach = reach
        self.proxied = proxied
        """Only the proxy is dialled; where the target leads was judged before."""
        self.fresh = False
        """It must be a new connection: one that was kept has just failed."""
        self.began = perf_counter()
        self.naming = self.named = self.dialled = self.securing = self.ready = 0.0
        self.reused = False
        self.remote = ""
        self.stopped: Stopped | None = None
        self.handler: Handler | None = None

    @property
    def heard(self) -> int:
        """How many bytes have come from the far side."""
        return 0 if self.handler is None else self.handler.heard

    def stop(self, failure: Failure, error: Invalid) -> Stopped:
        self.stopped = Stopped(failure, error)
        return self.stopped

    def start_dialling(self) -> None:
        self.dialled = self.dialled or perf_counter()

    def again(self) -> None:
        """Begin once more, with a connection that nobody has used."""
        self.fresh = True
        self.naming = self.named = self.dialled = self.securing = self.ready = 0.0
        self.handler = None

    async def last_words(self) -> None:
        """Let a connection that is ending say why.

        What the far side said of our certificate may have come before our request had left. Then
        we have only heard that nothing can be written any more; the reason is a few turns of
        the loop behind.
        """
        for _ in range(_TURNS):
            if self.handler is None or self.handler.lost is not None:
                return
            await asyncio.sleep(0)

    def timings(self, answered: float) -> Timings:
        total_ms = round((perf_counter() - self.began) * 1000, 3)
        if not self.naming and not self.dialled:
            return Timings(first_byte_ms=_between(self.ready, answered), total_ms=total_ms)
        tcp = self.securing or self.ready
        return Timings(
            dns_ms=_between(self.naming, self.named),
            connect_ms=_between(self.dialled, tcp),
            tls_ms=_between(self.securing, self.ready),
            first_byte_ms=_between(self.ready, answered),
            total_ms=total_ms,
        )


def _between(since: float, until: float) -> float | None:
    return round((until - since) * 1000, 3) if since and until else None


DIAL: ContextVar[Dial] = ContextVar("dial")
