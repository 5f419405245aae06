"""How fast output is read and followed, beside what the machine itself does with the file."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.figure import Goal, Row
from bench.figures.streams import allow_files
from bench.listen import listen
from bench.log_server import JOB, MARK, OUTPUT
from bench.processes import REPOSITORY, scratch
from bench.stage import Stage
from bench.talk import CLUSTER, TOKEN
from bench.timing import percentile, seconds

SIZE = 512 << 20
LINE = b"2026-03-02 12:00:00 step 1200 loss 0.0412 accuracy 0.931 throughput 1821.7 img/s\n"
ROUNDS = 5
READERS = 500
SECONDS = 5
EVERY = 0.01
HUGE = 10 << 30
TIMES = 40
PATH = f"/v1/clusters/{CLUSTER}/jobs/{JOB}/output"


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    port: int
    file: Path


def whole(_: Stage) -> Iterator[Row]:
    with _serving() as served:
        with served.file.open("wb") as file:
            file.writelines([LINE * (SIZE // len(LINE) // 64)] * 64)
        size = served.file.stat().st_size
        last = b"id: %d\n" % size
        turns = [
            (
                seconds(lambda: _piped(served.file)),
                seconds(lambda: _drained(served.port, PATH, size)),
                seconds(lambda: _drained(served.port, f"{PATH}/stream", size, accept="text/plain")),
                seconds(lambda: _drained(served.port, f"{PATH}/stream", 1 << 62, until=last)),
            )
            for _ in range(ROUNDS)
        ]
    cat, plain, raw, live = (size / 1e6 / median(each) for each in zip(*turns, strict=True))
    for name, what, ours in (
        ("log-whole", "all of 512 MB of output, over HTTP", plain),
        ("log-stream", "the same as a live stream of bytes, from the first", raw),
        ("log-events", "the same as live events, from the first byte", live),
    ):
        yield Row(
            name=name,
            what=what,
            ours=ours,
            unit="MB/s",
            beside=cat,
            beside_what="`cat` of the same file into a pipe",
            goal=Goal(bound=0.5, least=True, of_ratio=True),
        )


def live(_: Stage) -> Iterator[Row]:
    allow_files(READERS + 200)
    with _serving() as served, _writing(served.file):
        few = _late(served, 1)
        turns = [_late(served, READERS) for _ in range(3)]
    yield Row(
        name="log-500",
        what=f"p99 from a line's writing to its reader, {READERS} readers of {1 / EVERY:.0f} lines/s",
        ours=median(turns),
        unit="ms",
        beside=few,
        beside_what="the same with one reader",
        goal=Goal(bound=250),
    )


def soon(_: Stage) -> Iterator[Row]:
    with _serving() as served:
        served.file.write_bytes(LINE * 1000)
        first = [_to_first_byte(served.port, f"{PATH}/stream", MARKED) for _ in range(TIMES)]
        with served.file.open("wb") as file:
            file.truncate(HUGE)
            file.seek(0, 2)
            file.write(LINE * 100)
        with served.file.open("rb") as file:
            raw = [seconds(lambda: os.pread(file.fileno(), 4000, HUGE)) for _ in range(TIMES)]
        tail = [
            seconds(lambda: _drained(served.port, f"{PATH}?tail=4000", 4000)) for _ in range(TIMES)
        ]
        health = [seconds(lambda: _drained(served.port, "/healthz", 1)) for _ in range(TIMES)]
    yield Row(
        name="log-first-byte",
        what="p95 from asking for the stream to the first byte of output",
        ours=percentile(first, 95) * 1e3,
        unit="ms",
        beside=percentile(health, 95) * 1e3,
        beside_what="p95 of `/healthz`, connecting included",
        goal=Goal(bound=50),
    )
    yield Row(
        name="log-tail-10g",
        what="p95 of the last 4 kB of a file of 10 GiB",
        ours=percentile(tail, 95) * 1e3,
        unit="ms",
        beside=percentile(raw, 95) * 1e3,
        beside_what="reading them from the file",
        goal=Goal(bound=50),
    )


MARKED = b"data: "


@contextmanager
def _serving() -> Iterator[Served]:
    with scratch() as state, _child("serve", "--state", str(state)) as child:
        assert child.stdout is not None
        served = Served(port=int(child.stdout.readline()), file=state / OUTPUT)
        served.file.write_bytes(b"")
        _until_known(served.port)
        yield served


@contextmanager
def _writing(file: Path) -> Iterator[None]:
    with _child("write", str(file), "--every", str(EVERY)):
        yield


@contextmanager
def _child(*arguments: str) -> Iterator["subprocess.Popen[str]"]:
    program = [sys.executable, "-m", "bench.log_server", *arguments]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY) as child:
        try:
            yield child
        finally:
            child.kill()  # nothing it holds is worth a goodbye


def _until_known(port: int) -> None:
    give_up = time.monotonic() + 20
    while b" 200 " not in _asked(port, PATH, lambda read: b"\r\n\r\n" in read)[:20]:
        if time.monotonic() > give_up:
            raise TimeoutError("The job is not known.")
        time.sleep(0.05)


def _piped(file: Path) -> None:
    with subprocess.Popen(["cat", str(file)], stdout=subprocess.PIPE) as cat:
        assert cat.stdout is not None
        room = bytearray(1 << 20)
        while os.readv(cat.stdout.fileno(), [room]):
            pass


def _drained(port: int, path: str, size: int, *, until: bytes = b"", accept: str = "*/*") -> None:
    """Read an answer and throw it away: so many bytes, or to where it says something."""
    with _connected(port, path, accept) as connection:
        room = bytearray(1 << 20)
        left, tail = size, b""
        while left > 0 and (got := connection.recv_into(room)):
            left -= got
            if until:
                # Found also where it is cut in two.
                tail = tail[-len(until) :] + bytes(room[:got])
                if until in tail:
                    return
        if until:
            raise RuntimeError("The stream ended early.")


def _to_first_byte(port: int, path: str, mark: bytes) -> float:
    return seconds(lambda: _asked(port, path, lambda read: mark in read))


def _asked(port: int, path: str, enough: Callable[[bytes], bool]) -> bytes:
    with _connected(port, path) as connection:
        read = b""
        while not enough(read) and (more := connection.recv(65536)):
            read += more
        return read


def _connected(port: int, path: str, accept: str = "*/*") -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=60)
    lines = (f"GET {path} HTTP/1.1", "host: 127.0.0.1", f"authorization: Bearer {TOKEN}")
    connection.sendall("\r\n".join([*lines, f"accept: {accept}", "", ""]).encode())
    return connection


def _late(served: Served, readers: int) -> float:
    delays = listen(
        served.port,
        f"{PATH}/stream?tail=1",
        TOKEN,
        readers=readers,
        seconds=SECONDS,
        mark=MARK,
    )
    if len(delays) < readers * SECONDS * 4:
        raise RuntimeError(f"Only {len(delays):,} pieces arrived.")
    return percentile(delays, 99) * 1e3
