"""A cluster with a job that writes, and somebody who follows what it writes."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from clusterra.api.app import make_app
from clusterra.core.jobs.job import JobState
from tests.api.asgi import Answer, ask
from tests.api.listening import Listener, listening
from tests.world import LAB, World

OUTPUT = f"/v1/clusters/{LAB}/jobs/1/output"


class Lab:
    """A cluster with job 1, which runs."""

    def __init__(self) -> None:
        self.world = World()
        self.plane = self.world.plane()
        self.app = make_app(self.plane)

    async def open(self) -> "Lab":
        await self.world.submitted_past_us()
        self.world.slurm.move(1, JobState.RUNNING)
        await self.world.observer.look()
        return self

    def write(self, data: bytes | None) -> None:
        if data is None:
            self.world.logs.written.pop(1, None)
        else:
            self.world.logs.written[1] = data

    async def get(self, query: str = "", **headers: str) -> Answer:
        return await ask(self.app, "GET", OUTPUT + query, **headers)

    async def end(self, state: JobState = JobState.COMPLETED) -> None:
        self.world.slurm.move(1, state)
        await self.world.observer.look()

    @asynccontextmanager
    async def follow(self, query: str = "", **headers: str) -> AsyncIterator["Heard"]:
        async with listening(self.app, f"{OUTPUT}/stream{query}", **headers) as listener:
            yield Heard(listener)


@dataclass
class Heard:
    """What somebody who follows makes of the stream, by the contract alone."""

    listener: Listener

    def blocks(self) -> list[dict[str, str]]:
        found = []
        for block in self.listener.heard.decode().split("\n\n"):
            lines = [line.partition(": ") for line in block.split("\n")]
            fields = {name: value for name, _, value in lines if name}
            if "data" in fields:
                found.append(fields)
        return found

    def told(self, kind: str) -> list[Any]:
        return [json.loads(each["data"]) for each in self.blocks() if each["event"] == kind]

    @property
    def data(self) -> bytes:
        """The bytes since the file last began."""
        data = b""
        for each in self.blocks():
            said = json.loads(each["data"])
            if each["event"] == "reset":
                data = b""
            elif each["event"] == "output":
                piece = bytes_of(said)
                assert int(each["id"]) == said["offset"] + len(piece)
                data += piece
        return data

    async def hear(self, data: bytes) -> None:
        await self.listener.until(lambda: self.data == data)


def bytes_of(said: dict[str, Any]) -> bytes:
    return said["text"].encode() if "text" in said else base64.b64decode(said["base64"])


def lab(story: Callable[[Lab], Awaitable[None]]) -> None:
    async def whole() -> None:
        await story(await Lab().open())

    asyncio.run(whole())
