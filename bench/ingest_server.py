"""The real door for events in front of a real store, with two doors beside it to compare.

    /v1/internal/events   ours: answered when the fact is on disk
    /noop                 a plain Starlette endpoint behind the same door: the body is read and
                          decoded, and that is all
    /alone                ours, one request at a time: every commit has a sync of its own

Prints its port, and serves until its input ends.
"""

import asyncio
import sys
import threading
from pathlib import Path

import msgspec
import uvicorn
import uvloop
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from bench.processes import scratch
from clusterra.adapters.clock import SystemClock
from clusterra.adapters.logins_remote import RemoteLogins
from clusterra.adapters.memory_logs import MemoryLogs
from clusterra.adapters.memory_slurm import MemorySlurm
from clusterra.adapters.sqlite.store import SqliteStore
from clusterra.api import body
from clusterra.api.app import make_app
from clusterra.api.door import Door
from clusterra.api.metrics import RequestMetrics
from clusterra.api.routes.internal import EVENTS
from clusterra.control.link import Linked
from clusterra.control.plane import Plane
from clusterra.control.site import Site
from clusterra.core.budget import Budget
from clusterra.core.clusters import Cluster
from clusterra.core.people.credentials import FileKey, KeyUse
from clusterra.serve import TURN, bound
from clusterra.settings import ServerSettings, Settings
from clusterra.wiring import make_plane, make_recorder

CLUSTER, KEY = "cluslab1", "the-key"


def plane_in(state: Path) -> Plane:
    clock = SystemClock()
    store = SqliteStore(state / "clusterra.db")
    logs = MemoryLogs()
    slurm = MemorySlurm(clock)
    site = Site(
        cluster=Cluster(id=CLUSTER, name="lab", slurm_url="http://slurm"),
        slurm=slurm,
        logins=RemoteLogins("/home/{user}"),
        logs=logs,
        user="ana",
        recorder=make_recorder(CLUSTER, store=store, clock=clock, logs=logs, slurm=slurm),
        linked=Linked(cluster=CLUSTER, store=store, clock=clock),
        budget=Budget(1),
    )
    plane = make_plane(
        Settings(),
        store=store,
        clock=clock,
        sites=[site],
        token=KEY,
        keys=[FileKey(cluster=CLUSTER, use=KeyUse.COLLECTOR, secret=KEY)],
    )
    # Nobody looks into what is heard here, and everybody is to be let in.
    plane.inboxes[CLUSTER].most = 10**9
    return plane


class Beside:
    def __init__(self, plane: Plane) -> None:
        nothing = Starlette(routes=[Route("/noop", _noop, methods=["POST"])])
        self._nothing = Door(nothing, plane, RequestMetrics())
        self._ours = make_app(plane)
        self._one = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/noop":
            await self._nothing(scope, receive, send)
        elif scope["path"] == "/alone":
            scope["path"] = EVENTS
            async with self._one:
                await self._ours(scope, receive, send)
        else:
            await self._ours(scope, receive, send)


async def _noop(request: Request) -> Response:
    msgspec.json.decode(await request.body())
    return body.json({"accepted": 1})


async def serve(state: Path) -> None:
    with bound(Settings(server=ServerSettings(port=0))) as listening:
        config = uvicorn.Config(
            Beside(plane_in(state)), log_config=None, access_log=False, lifespan="off"
        )
        server = uvicorn.Server(config)
        print(listening.getsockname()[1], flush=True)

        def stop_with_the_input() -> None:
            sys.stdin.read()
            server.should_exit = True

        threading.Thread(target=stop_with_the_input, daemon=True).start()
        await server.serve(sockets=[listening])


def main() -> None:
    sys.setswitchinterval(TURN)  # as the real server does
    with scratch() as state, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(state))


if __name__ == "__main__":
    main()
