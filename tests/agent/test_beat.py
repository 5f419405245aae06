"""The agent's heartbeat in front of a server that answers well, badly, late or not at all."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec
import pytest

from clusterra import __version__
from clusterra.adapters.clock import SystemClock
from clusterra.adapters.memory_workers import MemoryWorkers
from clusterra.adapters.workers_local import LocalWorkers
from clusterra.agent.beat import Happened, Heart
from clusterra.agent.heartbeat import Self
from clusterra.core.errors import ClusterraError, Unanswered
from clusterra.edge.central import HttpCentral
from clusterra.local.tcp import WORKER_PORTS
from clusterra.ports import Workers
from clusterra.wire.agent import Orders
from tests.agent.central import KEY, FakeCentral, central, command
from tests.agent.standin import StandIn

pytestmark = pytest.mark.enable_socket

CLUSTER = "clus1a2b"


@dataclass
class Edge:
    """An agent's heart, its workers, and the server it beats for."""

    server: FakeCentral
    workers: MemoryWorkers
    heart: Heart
    said: list[Happened] = field(default_factory=list)

    async def names(self) -> list[str]:
        return [each.name for each in await self.workers.present()]

    def told(self) -> list[str]:
        return [each.what for each in self.said]


def make_heart(
    server: FakeCentral, workers: Workers, said: list[Happened], asked: HttpCentral
) -> Heart:
    return Heart(
        me=Self(cluster=CLUSTER, id="agent_1", url="http://10.0.0.5:6001", ip="10.0.0.5"),
        workers=workers,
        central=asked,
        clock=SystemClock(),
        every=30,
        tell=said.append,
    )


@asynccontextmanager
async def edge() -> AsyncIterator[Edge]:
    async with central() as server:
        workers, said = MemoryWorkers(SystemClock()), list[Happened]()
        asked = HttpCentral(server.url, lambda: KEY)
        try:
            yield Edge(server, workers, make_heart(server, workers, said, asked), said)
        finally:
            await asked.close()


@asynccontextmanager
async def beating(heart: Heart) -> AsyncIterator[None]:
    task = asyncio.create_task(heart.run())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def run(story: Callable[[Edge], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with edge() as made:
            await story(made)

    asyncio.run(whole())


def test_a_heartbeat_says_all_that_is_seen() -> None:
    async def story(edge: Edge) -> None:
        edge.server.holds = False
        await edge.server.want(command("small", 2), command("large", 1))
        await edge.heart.beat()
        edge.workers.answer("small-2")
        await edge.heart.beat()

        first, second = edge.server.bodies
        assert (first["k8s_nodes"], first["workers"], first["nodeclaims"]) == ([], [], [])
        assert (first["capacity_pods"], first["last_applied_version"]) == ({}, 0)
        assert second["cluster_id"] == CLUSTER
        assert second["agent_version"] == __version__
        assert second["agent_id"] == "agent_1"
        assert (second["agent_ip"], second["agent_url"]) == ("10.0.0.5", "http://10.0.0.5:6001")
        assert second["capacity_pods"] == {"small": {"count": 2}, "large": {"count": 1}}
        assert second["k8s_nodes"] == ["large-1", "small-1", "small-2"]
        assert [each["ready"] for each in second["workers"]] == [False, False, True]
        assert second["last_applied_version"] == 2
        assert set(edge.server.keys) == {KEY}

    run(story)


def test_the_whole_fleet_is_ordered_every_time_and_what_is_not_named_goes() -> None:
    async def story(edge: Edge) -> None:
        edge.server.holds = False
        await edge.server.want(command("small", 3), command("large", 1))
        await edge.heart.beat()
        assert await edge.names() == ["large-1", "small-1", "small-2", "small-3"]

        await edge.server.want(
            command("small", 1), retire=("small-2",), protected_nodes=("large-1", "small-3")
        )
        await edge.heart.beat()
        assert await edge.names() == ["large-1", "small-3"]

        await edge.server.want(protected_nodes=())
        await edge.heart.beat()
        assert await edge.names() == []

    run(story)


def test_orders_are_made_true_again_even_if_nothing_about_them_is_new() -> None:
    async def story(edge: Edge) -> None:
        edge.server.holds = False
        await edge.server.want(command("small", 2))
        await edge.heart.beat()
        edge.workers.die("small-1")

        await edge.heart.beat()
        assert await edge.names() == ["small-2"]  # it has just failed, and rests a moment

        edge.heart._rests["small"].until = 0
        await edge.heart.beat()
        assert await edge.names() == ["small-1", "small-2"]

    run(story)


GOOD = Orders(
    scaling_commands_version=9, scaling_commands=(command("small", 5),), protected_nodes=()
)


def without(member: str) -> bytes:
    whole = msgspec.to_builtins(GOOD)
    return msgspec.json.encode({key: value for key, value in whole.items() if key != member})


def with_null(member: str) -> bytes:
    return msgspec.json.encode({**msgspec.to_builtins(GOOD), member: None})


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (201, msgspec.json.encode(GOOD)),
        (204, b""),
        (302, b""),
        (401, b'{"detail":"Who are you?"}'),
        (500, msgspec.json.encode(GOOD)),
        (503, b'{"detail":"Slurm cannot be seen."}'),
        (200, b""),
        (200, b"<html>"),
        (200, b"null"),
        (200, b"[]"),
        (200, b"{}"),
        (200, without("scaling_commands")),
        (200, without("protected_nodes")),
        (200, with_null("scaling_commands")),
        (200, with_null("protected_nodes")),
    ],
)
def test_what_is_not_surely_an_answer_changes_nothing(status: int, body: bytes) -> None:
    async def story(edge: Edge) -> None:
        edge.server.holds = False
        await edge.server.want(command("large", 2))
        await edge.heart.beat()
        edge.server.scripted = [(status, body)]

        with pytest.raises(ClusterraError):
            await edge.heart.beat()

        assert await edge.names() == ["large-1", "large-2"]
        assert edge.heart.applied == 2

    run(story)


def test_an_empty_fleet_is_an_answer() -> None:
    async def story(edge: Edge) -> None:
        edge.server.holds = False
        await edge.server.want(command("large", 2))
        await edge.heart.beat()
        await edge.server.want()
        await edge.heart.beat()

        assert await edge.names() == []

    run(story)


def test_a_server_that_never_answers_is_waited_for_only_so_long() -> None:
    async def story(edge: Edge) -> None:
        edge.server.scripted = [(0, b"")]
        with pytest.raises(Unanswered, match="did not answer within"):
            await edge.heart.central.ask(
                "/v1/internal/agent/heartbeat", b'{"cluster_id":"x"}', within=0.05
            )

    run(story)


def test_trouble_is_said_once_and_so_is_its_end() -> None:
    async def story(edge: Edge) -> None:
        edge.server.scripted = [(500, b"")] * 3
        await edge.server.want(command("small", 1))

        async with beating(edge.heart):
            await edge.server.hears(lambda beat: beat.capacity_pods != {})

        assert edge.told() == ["waiting", "back", "resized"]
        assert "answered 500" in edge.said[0].why

    run(story)


def test_a_server_that_is_away_is_found_when_it_is_back() -> None:
    async def story(edge: Edge) -> None:
        nowhere = HttpCentral("http://127.0.0.1:1", lambda: KEY)
        there, edge.heart.central = edge.heart.central, nowhere
        with pytest.raises(ClusterraError, match="cannot be asked"):
            await edge.heart.beat()
        await nowhere.close()

        edge.heart.central = there
        await edge.heart.beat()
        assert len(edge.server.beats) == 1

    run(story)


def test_workers_that_cannot_be_seen_are_not_none_and_nothing_is_done() -> None:
    async def story(edge: Edge) -> None:
        edge.server.holds = False
        await edge.server.want(command("small", 1))
        await edge.heart.beat()
        edge.workers.land.reachable = False
        await edge.server.want()

        pauses = [await edge.heart.beat() for _ in range(3)]

        body = edge.server.bodies[-1]
        assert (body["workers"], body["k8s_nodes"], body["nodeclaims"]) == (None, None, None)
        assert edge.told() == ["resized", "blind"]
        assert pauses[2] > pauses[1] > 0
        edge.workers.land.reachable = True
        assert await edge.names() == ["small-1"]
        await edge.heart.beat()
        assert await edge.names() == []

    run(story)


def test_a_version_that_goes_backwards_is_followed_and_becomes_the_newest() -> None:
    async def story(edge: Edge) -> None:
        edge.server.holds = False
        await edge.server.want(command("small", 2))
        edge.server.orders = replace(edge.server.orders, scaling_commands_version=40)
        await edge.heart.beat()
        assert edge.heart.applied == 40

        edge.server.orders = replace(
            edge.server.orders, scaling_commands_version=3, scaling_commands=(command("small", 1),)
        )
        await edge.heart.beat()
        assert (edge.heart.applied, len(await edge.names())) == (3, 1)

        edge.server.orders = replace(edge.server.orders, scaling_commands_version=0)
        await edge.heart.beat()
        assert edge.heart.applied == 3

    run(story)


def test_what_failed_is_told_until_somebody_has_heard_it_and_then_no_more() -> None:
    async def story(edge: Edge) -> None:
        edge.server.holds = False
        await edge.server.want(command("small", 1))
        await edge.heart.beat()
        edge.workers.die("small-1", "fatal: no disk")
        edge.server.scripted = [(503, b"")]

        with pytest.raises(ClusterraError):
            await edge.heart.beat()
        await edge.heart.beat()
        await edge.heart.beat()

        told = [[(each.name, each.why) for each in beat.failed] for beat in edge.server.beats]
        failure = ("small-1", "fatal: no disk")
        assert told == [[], [failure], [failure], []]
        assert edge.server.beats[1].wait_seconds == 0

    run(story)


def test_a_shape_that_does_not_come_is_not_tried_without_a_rest() -> None:
    async def story(edge: Edge) -> None:
        edge.server.holds = False
        edge.workers.land.fail_with = "fatal: no room"
        await edge.server.want(command("small", 2), command("large", 0))

        for _ in range(5):
            await edge.heart.beat()

        assert sum(len(beat.failed) for beat in edge.server.beats) == 2
        assert edge.told().count("failed") == 2

    run(story)


def test_an_order_that_cannot_be_followed_does_not_keep_the_others_from_it(tmp_path: Path) -> None:
    stand_in = StandIn(tmp_path / "place", first_port=random.choice(WORKER_PORTS))

    async def story(edge: Edge) -> None:
        local = await LocalWorkers.opened(stand_in.place)
        edge.heart.workers = local
        edge.server.holds = False
        await edge.server.want(command("../up", 1), command("small", 1))

        await edge.heart.beat()
        await edge.heart.beat()

        assert [each.name for each in await local.present()] == ["small-1"]
        [failed] = edge.server.beats[-1].failed
        assert failed.shape == "../up"
        await local.remove("small-1")
        await local.close()

    run(story)
    stand_in.end_all()


def test_the_server_is_heard_at_once_and_hears_at_once() -> None:
    async def story(edge: Edge) -> None:
        async with beating(edge.heart):
            await edge.server.hears(lambda beat: beat.wait_seconds == 30)

            await edge.server.want(command("small", 1))
            await edge.server.hears(lambda beat: bool(beat.workers), seconds=5)

            edge.workers.answer("small-1")
            await edge.server.hears(lambda beat: beat.workers[0].ready, seconds=5)  # type: ignore[index]

            edge.workers.die("small-1")
            heard = await edge.server.hears(lambda beat: bool(beat.failed), seconds=5)
            assert heard.workers == []

            await edge.server.want(protected_nodes=("small-7",))
            await edge.server.hears(lambda beat: beat.protected_nodes == ["small-7"], seconds=5)

    run(story)


def test_a_server_that_does_not_wait_is_asked_ever_more_seldom() -> None:
    async def story(edge: Edge) -> None:
        edge.server.holds = False

        pauses = [await edge.heart.beat() for _ in range(6)]

        assert pauses == pytest.approx([0, 0.2, 0.4, 0.8, 1.6, 3.2])
        await edge.server.want(command("small", 1))
        assert await edge.heart.beat() == 0

    run(story)


def test_two_hundred_workers_becoming_ready_are_a_few_heartbeats() -> None:
    async def story(edge: Edge) -> None:
        await edge.server.want(command("small", 200))
        async with beating(edge.heart):
            await edge.server.hears(lambda beat: len(beat.workers or ()) == 200)
            for name in await edge.names():
                edge.workers.answer(name)
                await asyncio.sleep(0)
            await edge.server.hears(lambda beat: all(each.ready for each in beat.workers or ()))

        assert len(edge.server.beats) < 20

    run(story)
