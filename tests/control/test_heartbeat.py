"""An agent that falls silent is told of, once; so is its return."""

import asyncio
import json
from datetime import datetime, timedelta
from typing import Any

from clusterra.adapters.memory import MemoryStore
from clusterra.control.heartbeat import Heartbeats
from clusterra.core.events.event import EventQuery
from clusterra.core.scaling.edge import EdgeReport, Failed
from clusterra.core.seen import Seen, Unseen
from tests.world import LAB, World


def a_report(at: datetime, **known: Any) -> EdgeReport:
    return EdgeReport(at=at, agent="10.0.0.5", version="5.0.0", **known)


class Watched:
    def __init__(self, store: MemoryStore | None = None, world: World | None = None) -> None:
        self.world = world or World(store=store or MemoryStore())
        self.site = self.world.site
        self.beats = Heartbeats(site=self.site, clock=self.world.clock)

    def restarted(self) -> "Watched":
        """Return the same cluster, looked after by a server that has just been started."""
        return Watched(world=World(store=self.world.store, clock=self.world.clock))

    async def hear(self, **known: Any) -> None:
        self.beats.hear(a_report(self.world.clock.now(), **known))
        await self.beats.watch()

    async def after(self, seconds: int) -> None:
        """Let so much time pass, and the loop look every five seconds of it."""
        for _ in range(seconds // 5):
            self.world.clock.advance(timedelta(seconds=5))
            await self.beats.watch()

    async def told(self) -> list[tuple[str, Any]]:
        """Return what the ledger says of the agent."""
        events = await self.world.store.events(LAB, EventQuery(limit=100))
        bodies = [json.loads(each.body) for each in events]
        return [
            (each["type"], each["data"].get("why") or each["data"].get("unseen_seconds"))
            for each in bodies
            if each["data"].get("part") == "agent"
        ]


def test_an_agent_that_is_silent_for_90_seconds_is_told_of_once_and_its_return_too() -> None:
    async def story() -> None:
        lab = Watched()
        await lab.hear()
        await lab.after(85)
        assert await lab.told() == []
        assert isinstance(lab.site.edge.report, Seen)

        await lab.after(300)

        unreachable = ("cluster.unreachable", "The agent 10.0.0.5 was last heard 90 s ago.")
        assert await lab.told() == [unreachable]
        assert isinstance(lab.site.edge.report, Unseen)
        assert "10.0.0.5" in lab.site.edge.report.why

        await lab.hear()
        await lab.after(60)
        assert await lab.told() == [unreachable, ("cluster.recovered", 385)]
        assert isinstance(lab.site.edge.report, Seen)

    asyncio.run(story())


def test_an_agent_that_was_never_heard_is_not_missed() -> None:
    async def story() -> None:
        lab = Watched()
        await lab.after(600)

        assert await lab.told() == []

    asyncio.run(story())


def test_an_agent_that_does_not_come_back_after_a_restart_of_the_server_is_missed() -> None:
    async def story() -> None:
        before = Watched()
        await before.hear()

        lab = before.restarted()
        await lab.after(85)
        assert await lab.told() == []
        await lab.after(30)

        why = "The agent 10.0.0.5 has not been heard in the 90 s since this server was started."
        assert await lab.told() == [("cluster.unreachable", why)]

        again = lab.restarted()
        await again.after(300)
        assert len(await again.told()) == 1
        await again.hear()
        assert [type for type, _ in await again.told()] == [
            "cluster.unreachable",
            "cluster.recovered",
        ]

    asyncio.run(story())


def test_slurm_and_the_agent_are_lost_and_found_each_by_itself() -> None:
    async def story() -> None:
        lab = Watched()
        await lab.world.observer.look()
        await lab.hear()
        lab.world.clock.advance(timedelta(seconds=90))

        linked = lab.site.linked
        await asyncio.gather(linked.unseen("gone"), lab.beats.watch())
        lab.world.clock.advance(timedelta(seconds=30))
        await asyncio.gather(linked.unseen("gone"), lab.beats.watch())
        lab.beats.hear(a_report(lab.world.clock.now()))
        await asyncio.gather(linked.seen(), lab.beats.watch())

        events = await lab.world.store.events(LAB, EventQuery(limit=100))
        told = [(each.type, json.loads(each.body)["data"].get("part")) for each in events]
        assert sorted(told[1:], key=str) == [
            ("cluster.recovered", "agent"),
            ("cluster.recovered", "slurm"),
            ("cluster.unreachable", "agent"),
            ("cluster.unreachable", "slurm"),
        ]

    asyncio.run(story())


def test_an_agent_that_is_heard_again_has_the_fleet_planned_even_if_it_says_the_same() -> None:
    async def story() -> None:
        lab = Watched()
        heard: list[int] = []
        lab.site.edge.heard = lambda: heard.append(1)
        await lab.hear(nodes=frozenset({"n1"}))
        await lab.after(100)

        await lab.hear(nodes=frozenset({"n1"}))

        assert len(heard) == 2

    asyncio.run(story())


def test_a_failure_that_is_told_again_is_not_another_one() -> None:
    async def story() -> None:
        lab = Watched()
        died = Failed(shape="c2m8", why="died", at=lab.world.clock.now(), name="w1")
        other = Failed(shape="c2m8", why="died", at=lab.world.clock.now(), name="w2")

        for told, new in (((died,), (died,)), ((died, other), (other,)), ((died,), ())):
            await lab.hear(failed=told)
            assert isinstance(lab.site.edge.report, Seen)
            assert lab.site.edge.report.value.failed == new

    asyncio.run(story())
