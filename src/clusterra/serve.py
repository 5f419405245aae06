"""Run the control plane: the HTTP door and the loops, in one process, until told to stop."""

import asyncio
import fcntl
import gc
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import structlog
import uvicorn
import uvloop

from clusterra.api.app import make_app
from clusterra.core.errors import Refused
from clusterra.loops.running import Running
from clusterra.settings import Settings
from clusterra.wiring import assembled

LAST_REQUESTS = 3
"""Seconds that requests under way are given when the server is told to stop."""


TURN = 0.001
"""Seconds a thread may keep the interpreter while requests wait for it; Python's own 5 ms are
felt when a long queue is being compared."""


def serve(settings: Settings, *, ready: Callable[[int], None]) -> None:
    """Serve until SIGTERM or SIGINT; `ready` is told the port once it is ours."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.format_exc_info,
            structlog.processors.KeyValueRenderer(key_order=["timestamp", "level", "event"]),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    sys.setswitchinterval(TURN)
    with (
        _alone_on(settings.server.state),
        bound(settings) as listening,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        ready(listening.getsockname()[1])
        runner.run(_serve(settings, listening))


async def _serve(settings: Settings, listening: socket.socket) -> None:
    async with assembled(settings) as plane:
        config = uvicorn.Config(
            make_app(plane),
            log_config=None,
            access_log=False,
            lifespan="off",
            server_header=False,
            # Whose request it is, is said by a header only where the settings trust a proxy.
            proxy_headers=False,
            timeout_graceful_shutdown=LAST_REQUESTS,
        )
        server = _Server(config, before_stop=plane.hush)
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, server.ask_to_stop)
        running = Running(plane)
        running.start()
        # What is there now stays; looking through it for garbage again and again kept every
        # request waiting that came in those 90 ms.
        gc.freeze()
        try:
            await server.serve(sockets=[listening])
        finally:
            await running.stop()


class _Server(uvicorn.Server):
    """A server that leaves signals to us: the framework's own would end the process by the
    signal before the store is closed. Live streams, which would never end by themselves, are
    ended before it waits for the requests under way."""

    def __init__(self, config: uvicorn.Config, *, before_stop: Callable[[], None]) -> None:
        super().__init__(config)
        self._before_stop = before_stop

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    def ask_to_stop(self) -> None:
        self._before_stop()
        self.should_exit = True


@contextmanager
def bound(settings: Settings) -> Iterator[socket.socket]:
    """Take the port before anything else is started, and say so plainly if it is taken."""
    host, port = settings.server.host, settings.server.port
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(1024)
    except OSError as error:
        listening.close()
        raise Refused(
            f"Port {port} on {host} cannot be used: {error.strerror}.",
            hint="Choose another with --port, or --port 0 for any free one.",
            code="port-taken",
        ) from None
    with listening:
        yield listening


@contextmanager
def _alone_on(state: Path) -> Iterator[None]:
    """Keep a second control plane off the same database."""
    try:
        state.mkdir(parents=True, exist_ok=True)
        lock = (state / "plane.lock").open("a")
    except OSError as error:
        raise Refused(
            f"The state directory {state} cannot be written: {error.strerror}.",
            hint="Choose another with --state, or mend its permissions.",
            code="state-not-writable",
        ) from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Refused(
                f"Another control plane is using {state}.",
                hint="Stop it with `clusterra down`, or choose another --state.",
                code="state-in-use",
            ) from None
        yield
