"""Output of a cluster whose files only its agent sees: heartbeat in, log out."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from clusterra.adapters.logs_agent import AgentLogs
from clusterra.core.jobs.job import JobState
from clusterra.edge.door import Door
from tests.api.asgi import Answer, ask
from tests.api.listening import listening
from tests.edge import HEARTBEAT, Fleeted, PublicAgent
from tests.public_logs import public_agent
from tests.world import LAB

pytestmark = pytest.mark.enable_socket

OUTPUT = f"/v1/clusters/{LAB}/jobs/1/output"
HERE = "127.0.0.1"


@dataclass
class Edge:
    """The cluster `lab` with a running job 1, and an agent whose logs lie in `base`."""

    lab: Fleeted
    base: Path

    async def beat(self, url: str, *, address: str = HERE) -> Answer:
        self.lab.want()
        body = PublicAgent(self.lab.app, self.lab.key).body(agent_url=url)
        key = {"x_agent_key": self.lab.key, "content_type": "application/json"}
        return await ask(self.lab.app, "POST", HEARTBEAT, body, token="", address=address, **key)

    def write(self, data: bytes) -> None:
        (self.base / "slurm-1.out").write_bytes(data)

    async def get(self, query: str = "") -> Answer:
        return await ask(self.lab.app, "GET", OUTPUT + query)


@asynccontextmanager
async def edge(base: Path) -> AsyncIterator[Edge]:
    lab = await Fleeted().open()
    logs = AgentLogs(lambda: lab.site.edge.log_door)
    lab.site.logs = logs
    await lab.world.submitted_past_us()
    lab.world.slurm.move(1, JobState.RUNNING)
    await lab.world.observer.look()
    try:
        yield Edge(lab, base)
    finally:
        await logs.close()


@asynccontextmanager
async def serving(kind: str, base: Path, key: str) -> AsyncIterator[str]:
    if kind == "public":
        async with public_agent(base, key) as url:
            yield url
        return
    door = Door(base, lambda: key)
    port = await door.open(HERE, 0)
    try:
        yield f"http://{HERE}:{port}"
    finally:
        await door.close()


@pytest.mark.parametrize("kind", ["ours", "public"])
def test_what_an_agent_sees_is_read_searched_and_followed_through_it(
    tmp_path: Path, kind: str
) -> None:
    async def story() -> None:
        async with edge(tmp_path) as here, serving(kind, tmp_path, here.lab.key) as url:
            assert (await here.beat(url)).status == 200
            assert (await here.get()).json["code"] == "no-output"
            here.write(b"one\ntwo\n")

            assert (await here.get()).body == b"one\ntwo\n"
            assert (await here.get("?tail=4")).body == b"two\n"
            assert (await here.get("?lines=1")).body == b"two\n"
            assert [each["line"] for each in (await here.get("?grep=tw")).json["matches"]] == [2]
            async with listening(here.lab.app, f"{OUTPUT}/stream") as reader:
                await reader.until(lambda: b"two" in reader.heard)
                here.write(b"one\ntwo\nthree\n")
                await reader.until(lambda: b"three" in reader.heard)
                here.lab.world.slurm.move(1, JobState.COMPLETED)
                await here.lab.world.observer.look()
                await reader.until(lambda: reader.ended)
            assert b'event: end\ndata: {"size":14,"state":"COMPLETED"}' in reader.heard

    asyncio.run(story())


def test_without_an_agent_and_with_one_that_does_not_answer_it_is_said(tmp_path: Path) -> None:
    async def story() -> None:
        async with edge(tmp_path) as here:
            unheard = await here.get()
            assert (unheard.status, unheard.json["code"]) == (422, "output-elsewhere")
            async with serving("ours", tmp_path, "another key") as url:
                await here.beat(url)
                refused = await here.get()
                assert (refused.status, refused.json["code"]) == (422, "agent-refused")
            gone = await here.get("/stream")
            assert (gone.status, gone.json["code"]) == (503, "agent-unreachable")

    asyncio.run(story())


def test_an_agent_cannot_have_this_machine_asked_by_calling_itself_so(tmp_path: Path) -> None:
    async def story() -> None:
        async with edge(tmp_path) as here, serving("ours", tmp_path, here.lab.key) as url:
            here.write(b"something on this machine\n")
            await here.beat(url, address="192.0.2.7")

            assert (await here.get()).json["code"] == "output-elsewhere"

    asyncio.run(story())
