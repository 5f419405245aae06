"""A server that talks: events at a fixed pace, to whoever follows them.

    python -m bench.talk ours --state DIR --every 0.1
    python -m bench.talk bare --every 0.1

`ours` is the real control plane, store and all, in front of no Slurm: what it would
observe is replaced by events committed to its ledger. `bare` is the least that could send
the same bytes: a plain ASGI application that makes each frame once and keeps nothing. Both
print the port they listen on and talk until they are terminated.
"""

import argparse
import asyncio
import os
import socket
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import uvicorn
import uvloop

from clusterra import serve
from clusterra.adapters.envelope import spell
from clusterra.control.plane import Plane
from clusterra.core.change import Change
from clusterra.core.events.catalogue import jobs as facts
from clusterra.core.events.event import Draft
from clusterra.core.ids import uuid7
from clusterra.loops import running
from clusterra.settings import ClusterSettings, ServerSettings, Settings

CLUSTER = "clus0001"
TOKEN = "the-token-of-the-bench"


def a_start(number: int) -> Draft:
    now = datetime.now(UTC)
    return Draft(
        id=uuid7(now, os.urandom(10)),
        fact=facts.JobStarted(
            job_id=number,
            label=str(number),
            name="align",
            user="ana",
            account="lab",
            partition="main",
            state="RUNNING",
            nodes="w1",
            cpus=2,
            memory_mib=4096,
            waited_seconds=3,
        ),
        at=now,
        actor="system:slurm",
        subject=f"job/{number}",
    )


async def paced(every: float) -> AsyncIterator[Draft]:
    loop = asyncio.get_running_loop()
    due, number = loop.time(), 0
    while True:
        due, number = due + every, number + 1
        await asyncio.sleep(max(0.0, due - loop.time()))
        yield a_start(number)


class Talk:
    """Stands where the control plane's loops stand."""

    name = "talk"

    def __init__(self, plane: Plane, every: float) -> None:
        self._plane = plane
        self._every = every

    async def run(self) -> None:
        async for draft in paced(self._every):
            await self._plane.store.commit(CLUSTER, Change(events=[draft]))


def ours(state: Path, every: float, port: int = 0) -> None:
    state.mkdir(parents=True, exist_ok=True)
    (state / "token").write_text(TOKEN)
    (state / "jwt_hs256.key").write_bytes(bytes(32))
    nowhere = ClusterSettings(
        id=CLUSTER, slurm="http://127.0.0.1:9", jwt_key=state / "jwt_hs256.key"
    )
    settings = Settings(server=ServerSettings(port=port, state=state), clusters=(nowhere,))
    vars(running)["server_loops"] = lambda plane: [Talk(plane, every)]
    vars(running)["site_loops"] = lambda *_: []
    serve.serve(settings, ready=_say)


class Bare:
    """The least that could do it."""

    def __init__(self) -> None:
        self._frames: list[bytes] = []
        self._news = asyncio.Event()

    async def talk(self, every: float) -> None:
        async for draft in paced(every):
            number = len(self._frames) + 1
            body = spell(draft, cluster=CLUSTER, seq=number, recorded_at=draft.at)
            self._frames.append(b"id: %d\nevent: job.started\ndata: %s\n\n" % (number, body))
            news, self._news = self._news, asyncio.Event()
            news.set()

    async def __call__(self, _scope: Any, receive: Any, send: Any) -> None:
        sending = asyncio.create_task(self._send(send))
        while (await receive())["type"] != "http.disconnect":
            pass
        sending.cancel()

    async def _send(self, send: Any) -> None:
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"retry: 2000\n\n", "more_body": True})
        position = len(self._frames)
        while True:
            await self._news.wait()
            while position < len(self._frames):
                frame = self._frames[position]
                await send({"type": "http.response.body", "body": frame, "more_body": True})
                position += 1


async def bare(every: float) -> None:
    app = Bare()
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(1024)
        _say(listening.getsockname()[1])
        config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="off")
        talking = asyncio.create_task(app.talk(every))
        await uvicorn.Server(config).serve(sockets=[listening])
        talking.cancel()


def _say(port: int) -> None:
    print(port, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.talk")
    parser.add_argument("who", choices=["ours", "bare"])
    parser.add_argument("--state", type=Path)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--every", type=float, default=0.1)
    asked = parser.parse_args()
    if asked.who == "ours":
        ours(asked.state, asked.every, asked.port)
    else:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(bare(asked.every))


if __name__ == "__main__":
    main()
