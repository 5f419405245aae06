"""Post to a receiver: as a lane does it, and with a bare HTTP client beside it.

    python -m bench.posting URL

A line of JSON on the input asks for a turn:

    {"who": "bare", "number": 500, "every": 0.02}     one at a time, so many seconds apart
    {"who": "ours", "number": 2000, "at_once": 32}    as fast as they are answered

`bare` is aiohttp's own session, which is handed the same body and headers, signed before.
`ours` is the way out: the endpoint's secret, the signature, the sender and what it asks about
addresses and answers; no database. The answer is a line too: when each was about to be posted,
by its id, and the seconds and processor seconds of the turn. Ends with its input.
"""

import argparse
import asyncio
import gc
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

import aiohttp
import uvloop

from bench.office import add_endpoints
from bench.talk import CLUSTER, a_start
from clusterra.adapters.clock import SystemClock
from clusterra.adapters.envelope import spelled
from clusterra.adapters.memory import MemoryStore
from clusterra.adapters.sender import HttpSender
from clusterra.control.webhooks.outlet import AGENT, CLOUD_EVENT, REQUEST_ID, Outlet
from clusterra.core.events.event import Event
from clusterra.core.webhooks.endpoint import Endpoint
from clusterra.core.webhooks.sign import signed_headers
from clusterra.serve import TURN
from clusterra.settings import Settings
from clusterra.wiring import make_plane

PLAIN = {"content-type": CLOUD_EVENT, "user-agent": AGENT, REQUEST_ID: f"req_{bytes(12).hex()}"}

Post = Callable[[Event, Mapping[str, str]], Awaitable[None]]
"""Handed the headers that whoever signs nothing sends."""


async def bare(
    session: aiohttp.ClientSession, url: str, event: Event, headers: Mapping[str, str]
) -> None:
    async with session.post(url, data=event.body, headers=headers) as answer:
        await answer.read()
        assert answer.status == 204


async def ours(outlet: Outlet, endpoint: Endpoint, event: Event, _: Mapping[str, str]) -> None:
    sent = await outlet.send(endpoint, [event])
    assert sent.answer.status == 204, sent.answer


class Turn:
    def __init__(self, post: Post, number: int) -> None:
        now, secret = SystemClock().now(), os.urandom(32)
        self._post = post
        self._events = [
            spelled(a_start(each), cluster=CLUSTER, at=now) for each in range(1, number + 1)
        ]
        self._headers = {
            event.id: PLAIN | signed_headers(event.id, now, event.body, [secret])
            for event in self._events
        }
        self._posted: dict[str, float] = {}

    async def run(self, *, every: float = 0, at_once: int = 1) -> dict[str, Any]:
        began, worked = time.monotonic(), time.process_time()
        if every:
            await self._paced(every)
        else:
            left = iter(self._events)
            await asyncio.gather(*(self._as_fast(left) for _ in range(at_once)))
        return {
            "posted": self._posted,
            "seconds": time.monotonic() - began,
            "cpu": time.process_time() - worked,
        }

    async def _paced(self, every: float) -> None:
        begin = time.monotonic()
        for place, event in enumerate(self._events):
            await asyncio.sleep(max(0.0, begin + place * every - time.monotonic()))
            await self._one(event)

    async def _as_fast(self, left: Iterator[Event]) -> None:
        for event in left:
            await self._one(event)

    async def _one(self, event: Event) -> None:
        self._posted[event.id] = time.monotonic()
        await self._post(event, self._headers[event.id])


async def work(url: str) -> None:
    async with AsyncExitStack() as stack:
        sender = HttpSender()
        stack.push_async_callback(sender.close)
        session = await stack.enter_async_context(aiohttp.ClientSession())
        plane = make_plane(
            Settings(),
            store=MemoryStore(),
            clock=SystemClock(),
            sites=[],
            token="",
            sender=sender,
        )
        await plane.open()
        [endpoint] = await add_endpoints(plane, [url])
        ways: dict[str, Post] = {
            "bare": partial(bare, session, url),
            "ours": partial(ours, plane.webhooks.outlet, endpoint),
        }
        gc.freeze()  # as the real server does
        print("{}", flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            asked = json.loads(line)
            turn = Turn(ways[asked.pop("who")], asked.pop("number"))
            print(json.dumps(await turn.run(**asked)), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.posting")
    parser.add_argument("url")
    asked = parser.parse_args()
    sys.setswitchinterval(TURN)  # as the real server does
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(work(asked.url))


if __name__ == "__main__":
    main()
