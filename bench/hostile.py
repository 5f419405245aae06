"""Endpoints that do what no endpoint should, and a sender that talks to them, apart.

    python -m bench.hostile places     the endpoints, one at a time
    python -m bench.hostile sender     who delivers to them

The cases are those of the tests. In two processes, because what an endpoint keeps in memory to
pour it out is no memory of the sender's. Both answer a line of JSON with another, and end with
their input.

    places: {"case": 3} opens that one, and closes the one before
    sender: {"url": …} delivers eight times at once, and says how many bytes of memory that took,
            at most, for each: beside what eight need, what lies free from before is little
"""

import argparse
import asyncio
import gc
import json
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import uvloop

from clusterra.adapters.sender import HttpSender
from clusterra.core.webhooks.endpoint import Reach
from clusterra.core.webhooks.exchange import Outgoing
from tests.adapters.sender import certificates
from tests.adapters.sender.acts import TIMEOUT
from tests.adapters.sender.cases import BODY, CASES, NAME, everything_is_here

AT_ONCE = 8
Answering = Callable[[dict[str, Any]], Awaitable[Any]]


async def places() -> None:
    async with AsyncExitStack() as stack:

        async def open_one(asked: dict[str, Any]) -> dict[str, Any]:
            await stack.aclose()
            case = CASES[asked["case"]]
            place = await stack.enter_async_context(case.place())
            scheme = "https" if case.secure else "http"
            return {"name": case.name, "url": f"{scheme}://{NAME}:{place.port}/hook"}

        hello = {"cases": len(CASES), "authorities": certificates.root().pem.decode()}
        await _talk(hello, open_one)


async def sender(authorities: str) -> None:
    made = HttpSender(timeout_seconds=TIMEOUT, authorities=authorities, lookup=everything_is_here)

    async def deliver(asked: dict[str, Any]) -> dict[str, Any]:
        outgoing = Outgoing(url=asked["url"], body=BODY, headers={}, reach=Reach.PRIVATE)
        before = _settled()
        await asyncio.gather(*(made.send(outgoing) for _ in range(AT_ONCE)))
        return {"grown": (_memory("VmHWM") - before) / AT_ONCE}

    try:
        await _talk({}, deliver)
    finally:
        await made.close()


def _settled() -> int:
    """Say how much memory is in use, and let the most that ever was be that."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")
    return _memory("VmRSS")


def _memory(line: str) -> int:
    status = Path("/proc/self/status").read_text()
    [kib] = [each.split()[1] for each in status.splitlines() if each.startswith(line)]
    return int(kib) * 1024


async def _talk(hello: object, answer: Answering) -> None:
    print(json.dumps(hello), flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        print(json.dumps(await answer(json.loads(line))), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.hostile")
    parser.add_argument("who", choices=["places", "sender"])
    parser.add_argument("--authorities", type=Path)
    asked = parser.parse_args()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        if asked.who == "places":
            runner.run(places())
        else:
            runner.run(sender(asked.authorities.read_text()))


if __name__ == "__main__":
    main()
