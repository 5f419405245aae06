"""Files over links, beside the disk that they lie on.

Put and get of one file through the real door, with the checksum that the store makes on the way;
beside it the same bytes written to the same disk (and brought onto it) or read from it, with the
same checksum, by a program that does nothing else.
"""

import asyncio
import hashlib
import multiprocessing
import os
import secrets
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from bench.figure import Goal, Row
from bench.stage import Stage
from bench.timing import seconds
from clusterra.adapters.clock import SystemClock
from clusterra.adapters.objects_local import LocalObjects
from clusterra.api.objects import Objects
from clusterra.client.transfer import Arriving, Courier, Link
from clusterra.ports import Cargo, Presigned

MIB = 1 << 20
SIZE = 512 * MIB
ROUNDS = 5
"""The quickest counts, of ours and of the disk's alike: a disk has bad moments."""

ROOM, KEY = "ana@lab.example", "ana@lab.example/data/x"
SECRET = secrets.token_bytes(32)


def files(_: Stage) -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="clusterra-bench-") as name, _served(Path(name)) as url:
        directory = Path(name)
        source = directory / "source"
        _write(source)
        store = _store(directory)
        put, get = _links(store, source)
        ours: dict[str, list[float]] = {"put": [], "get": []}
        disk: dict[str, list[float]] = {"put": [], "get": []}
        courier = Courier()
        for _round in range(ROUNDS):
            ours["put"].append(seconds(lambda: _put(courier, url, put, source)))
            disk["put"].append(seconds(lambda: _copy(source, directory / "raw", sync=True)))
            ours["get"].append(seconds(lambda: _get(courier, url, get(), directory / "got")))
            disk["get"].append(seconds(lambda: _copy(source, directory / "raw", sync=False)))
        courier.close()
        assert (directory / "got").stat().st_size == SIZE
    for what, does in (("put", "sent, checked and on disk"), ("get", "fetched and checked")):
        yield Row(
            name=f"files-{what}",
            what=f"MB a second of a file of 512 MiB, {does}",
            ours=SIZE / 1e6 / min(ours[what]),
            unit="MB/s",
            beside=SIZE / 1e6 / min(disk[what]),
            beside_what="the same file copied on the same disk with the same checksum"
            + (", and brought onto it" if what == "put" else ""),
            goal=Goal(bound=0.8, least=True, of_ratio=True),
        )


def _store(directory: Path) -> LocalObjects:
    return LocalObjects(
        directory / "efs",
        directory / "private",
        path="/v1/objects/bench",
        secret=SECRET,
        clock=SystemClock(),
    )


def _links(store: LocalObjects, source: Path) -> tuple[Presigned, Callable[[], Presigned]]:
    with source.open("rb") as opened:
        sha256 = hashlib.file_digest(opened, "sha256").hexdigest()
    asyncio.run(store.make_room(ROOM, None))
    put = asyncio.run(store.presign_put(KEY, Cargo(size=SIZE, sha256=sha256)))
    return put, lambda: asyncio.run(store.presign_get(KEY))


def _put(courier: Courier, url: str, link: Presigned, source: Path) -> None:
    with source.open("rb") as opened:
        courier.put(_at(url, link), opened, 0, SIZE, lambda _: None)


def _get(courier: Courier, url: str, link: Presigned, into: Path) -> None:
    with into.open("w+b") as opened:
        arriving = Arriving(opened)
        courier.get(_at(url, link), arriving, lambda _: None)
        assert arriving.size == SIZE


def _at(url: str, link: Presigned) -> Link:
    return Link(method=link.method, url=f"{url}{link.url}", headers=link.headers)


def _copy(source: Path, into: Path, *, sync: bool) -> None:
    digest = hashlib.sha256()
    with source.open("rb") as read, into.open("wb") as write:
        while piece := read.read(2 * MIB):
            digest.update(piece)
            write.write(piece)
        if sync:
            write.flush()
            os.fsync(write.fileno())


def _write(source: Path) -> None:
    some = os.urandom(MIB)
    with source.open("wb") as opened:
        for _ in range(SIZE // MIB):
            opened.write(some)


class _Sites:
    """As much of a control plane as the door of links looks at."""

    def __init__(self, store: LocalObjects) -> None:
        self.files = store
        self.sites = {"bench": self}


def _serve(directory: Path, listening: socket.socket) -> None:
    async def nothing(*_: object) -> None:
        raise AssertionError

    app = Objects(nothing, _Sites(_store(directory)))  # type: ignore[arg-type]
    config = uvicorn.Config(app, log_config=None, lifespan="off", access_log=False)
    uvicorn.Server(config).run(sockets=[listening])


@contextmanager
def _served(directory: Path) -> Iterator[str]:
    """Serve the links of a directory from a process of its own."""
    listening = socket.create_server(("127.0.0.1", 0))
    process = multiprocessing.get_context("fork").Process(
        target=_serve, args=(directory, listening), daemon=True
    )
    process.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        process.kill()
        process.join()
        listening.close()
