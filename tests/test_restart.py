"""A real server process that stops, or dies, while somebody follows its events."""

import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench.talk import CLUSTER, TOKEN
from clusterra.client.client import Client
from clusterra.client.connection import Connection
from clusterra.core.errors import Unreachable

pytestmark = pytest.mark.enable_socket

REPOSITORY = Path(__file__).parents[1]


class Server:
    """A control plane that commits an event every few milliseconds."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self.port = 0
        self.start()

    def start(self) -> None:
        options = ["--state", str(self._state), "--every", "0.005", "--port", str(self.port)]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.talk", "ours", *options],
            stdout=subprocess.PIPE,
            cwd=REPOSITORY,
        )
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())

    def stop(self, number: int) -> float:
        """Send a signal and return the seconds until the process was gone."""
        began = time.monotonic()
        self._process.send_signal(number)
        self._process.wait(20)
        assert self._process.stdout is not None
        self._process.stdout.close()
        return time.monotonic() - began

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def client(self) -> Client:
        return Client(Connection(self.url, token=TOKEN))

    def head(self) -> int:
        with self.client() as client:
            page = client.events(CLUSTER, last=1)
        return page.events[-1].seq if page.events else 0


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    made = Server(tmp_path)
    yield made
    made.stop(signal.SIGKILL)


def until(true: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 30
    while not true():
        assert time.monotonic() < give_up
        time.sleep(0.01)


def ids(heard: bytes) -> list[int]:
    return [int(each) for each in re.findall(rb"^id: (\d+)\r?$", heard, re.MULTILINE)]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_curl_with_last_event_id_across_a_restart_shows_every_number_once(
    server: Server, tmp_path: Path, how: int
) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    address = f"{server.url}/v1/clusters/{CLUSTER}/events/stream"
    seen: list[int] = []
    for round in range(2):
        file = tmp_path / f"heard-{round}"
        last = str(seen[-1] if seen else 0)
        headers = ("-H", f"Authorization: Bearer {TOKEN}", "-H", f"Last-Event-ID: {last}")
        with file.open("wb") as out:
            curl = subprocess.Popen(["curl", "-sN", *headers, address], stdout=out)
            until(lambda file=file: len(ids(file.read_bytes())) > 100)  # type: ignore[misc]
            server.stop(how)
            curl.wait(20)
        # What was cut off in the middle has no empty line after it, and comes again.
        whole, _, _ = file.read_bytes().rpartition(b"\n\n")
        seen += ids(whole)
        server.start()

    assert seen == list(range(1, len(seen) + 1))
    assert len(seen) > 200


def test_a_client_that_comes_back_after_each_death_misses_nothing(server: Server) -> None:
    seen: list[int] = []
    for death in (signal.SIGKILL, signal.SIGTERM):
        aim = len(seen) + 100
        with server.client() as client:
            try:
                for told in client.follow(CLUSTER, after=seen[-1] if seen else 0):
                    if told.type:
                        seen.append(told.seq or 0)
                    if len(seen) == aim:
                        server.stop(death)
            except Unreachable:
                pass
        server.start()

    assert seen == list(range(1, len(seen) + 1))
    assert server.head() >= seen[-1]


def test_open_streams_do_not_hold_up_an_orderly_stop(server: Server) -> None:
    streams = [server.client().follow(CLUSTER) for _ in range(20)]
    for stream in streams:
        next(stream)

    assert server.stop(signal.SIGTERM) < 2
    for stream in streams:
        list(stream)  # to its orderly end: a stream that breaks off raises
    server.start()
