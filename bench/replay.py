"""A slurmrestd that only remembers: recorded replies, for a queue of any length.

It runs as a process of its own, so that its work is not on the bill of the control
plane that is measured, and counts what it is asked: `GET /counts`. It is used in
`bench/` and nowhere else; tests of what we do with Slurm run a real Slurm.

    python -m bench.replay --jobs 50000

prints the port it listens on, and ends when its standard input does, so that it
never outlives whoever started it.
"""

import argparse
import asyncio
import copy
import json
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from bench.inflate import VERSION, Queue, compact, recording

CTLD, DBD = f"/slurm/{VERSION}", f"/slurmdb/{VERSION}"


@dataclass(slots=True, kw_only=True)
class Counts:
    """What has been asked so far."""

    calls: Counter[str] = field(default_factory=Counter)
    sent: int = 0

    def reply(self) -> bytes:
        return json.dumps({"calls": self.calls, "bytes": self.sent}).encode()


class Replay:
    def __init__(self, queue: Queue, *, nodes: int) -> None:
        self._queue = queue
        self._counts = Counts()
        empty = recording("job") | {"jobs": []}
        self._fixed = {
            f"{CTLD}/diag": compact(recording("diag")),
            f"{CTLD}/conf": compact(recording("conf")),
            f"{CTLD}/nodes": compact(_many_nodes(nodes)),
            f"{CTLD}/partitions": compact(recording("partitions")),
            f"{CTLD}/jobs/state": queue.states(),
            f"{DBD}/diag": compact(recording("accounting_diag")),
            f"{DBD}/jobs": compact(empty),  # a queue without a past
        }

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection until it is closed."""
        try:
            while (path := await _asked(reader)) is not None:
                await self._answer(path.rstrip("/"), writer)
        except ConnectionError:
            return  # the control plane was stopped in the middle of a list
        finally:
            writer.close()

    async def _answer(self, path: str, writer: asyncio.StreamWriter) -> None:
        if path == "/counts":
            return await _write(writer, 200, [self._counts.reply()])
        self._counts.calls[path.replace(f"/{VERSION}", "")] += 1
        if path == f"{CTLD}/jobs":
            self._counts.sent += self._queue.length()
            return await _write(writer, 200, self._queue.reply(), self._queue.length())
        found = self._fixed.get(path) or self._one(path)
        if found is None:
            return await _write(writer, 404, [b"Unable find requested URL"], kind="text/plain")
        self._counts.sent += len(found)
        return await _write(writer, 200, [found])

    def _one(self, path: str) -> bytes | None:
        before, _, id = path.rpartition("/")
        return self._queue.one(int(id)) if before == f"{CTLD}/job" and id.isdigit() else None


def _many_nodes(number: int) -> dict[str, object]:
    reply = recording("nodes")
    first = reply["nodes"][0]
    nodes = []
    for index in range(number):
        node = copy.copy(first)
        node["name"] = node["hostname"] = f"n{index:04}"
        nodes.append(node)
    return reply | {"nodes": nodes}


async def _asked(reader: asyncio.StreamReader) -> str | None:
    """Read one request; return its path, or None once there are no more."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            await reader.readexactly(int(line.partition(b":")[2]))
    return urlsplit(head.split(b" ", 2)[1].decode()).path


async def _write(
    writer: asyncio.StreamWriter,
    status: int,
    parts: Iterable[bytes],
    length: int | None = None,
    kind: str = "application/json",
) -> None:
    parts = list(parts) if length is None else parts
    size = length if length is not None else sum(map(len, parts))
    head = f"HTTP/1.1 {status} \r\nContent-Length: {size}\r\nContent-Type: {kind}\r\n\r\n"
    writer.write(head.encode())
    for part in parts:
        writer.write(part)
        await writer.drain()


async def _run(replay: Replay) -> None:
    server = await asyncio.start_server(replay.serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.replay")
    parser.add_argument("--jobs", type=int, default=50_000)
    parser.add_argument("--job-bytes", type=int, default=8_000)
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--idle", action="store_true", help="every job has ended")
    asked = parser.parse_args()
    queue = Queue(jobs=asked.jobs, job_bytes=asked.job_bytes, idle=asked.idle)
    asyncio.run(_run(Replay(queue, nodes=asked.nodes)))


if __name__ == "__main__":
    main()
