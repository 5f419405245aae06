"""Look for text in what a job has written, however much that is."""

import asyncio
from contextlib import aclosing

from clusterra.core.jobs.search import Match, Search
from clusterra.ports import Log


async def search(log: Log, text: bytes, *, ignore_case: bool, limit: int) -> list[Match]:
    """Return the first lines with `text` in them, at most `limit`.

    The file is gone through piece by piece, in a thread; whoever no longer waits ends it.
    """
    looking = Search(text, ignore_case=ignore_case)
    found: list[Match] = []
    async with aclosing(log.pieces(0, log.size)) as pieces:
        async for piece in pieces:
            found += await asyncio.to_thread(_fed, looking, piece, limit - len(found))
            if len(found) == limit:
                return found
    return found + _fed(looking, b"", limit - len(found), last=True)


def _fed(looking: Search, piece: bytes, most: int, *, last: bool = False) -> list[Match]:
    return [match for match, _ in zip(looking.feed(piece, last=last), range(most), strict=False)]
