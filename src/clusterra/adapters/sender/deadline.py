"""The time that a delivery may take.

`asyncio.timeout` does the same for whatever may be timed, and takes as long for it as signing a
delivery does. This is all that is needed of it here.
"""

import asyncio
from types import TracebackType
from typing import Self


class Deadline:
    """Raises TimeoutError in whoever is inside when it has come."""

    __slots__ = ("_cancelled_before", "_come", "_seconds", "_task", "_timer")

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._come = False

    def __enter__(self) -> Self:
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self._cancelled_before = task.cancelling()
        self._timer = task.get_loop().call_later(self._seconds, self._end)
        return self

    def bring_forward(self, seconds: float) -> None:
        """Leave no more than this from now on."""
        loop = self._task.get_loop()
        if loop.time() + seconds < self._timer.when():
            self._timer.cancel()
            self._timer = loop.call_later(seconds, self._end)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        # Somebody else may have cancelled us too; then that counts.
        alone = self._come and self._task.uncancel() <= self._cancelled_before
        if alone and kind is not None and issubclass(kind, asyncio.CancelledError):
            raise TimeoutError from error

    def _end(self) -> None:
        self._come = True
        self._task.cancel()
