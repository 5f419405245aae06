"""How much may be under way at a time, over all endpoints. A third is kept for first tries, so that
a storm of retries never keeps what has just happened waiting."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager


class Slots:
    def __init__(self, at_once: int) -> None:
        self._all = asyncio.Semaphore(at_once)
        self._again = asyncio.Semaphore(max(1, at_once - at_once // 3))

    def one(self, *, first: bool) -> AbstractAsyncContextManager[None]:
        return self._all if first else self._one_again()

    @asynccontextmanager
    async def _one_again(self) -> AsyncIterator[None]:
        async with self._again, self._all:
            yield
