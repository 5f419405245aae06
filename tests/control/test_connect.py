"""Clusters that are added while the server runs: looked after at once, there after a restart, and gone when removed."""

import asyncio
import base64
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from clusterra.api.app import make_app
from clusterra.control.site import Site
from clusterra.core.access import Role
from clusterra.core.clusters import REGISTERED, Registered
from clusterra.core.errors import Unreachable
from clusterra.core.events.event import EventQuery
from clusterra.core.people.credentials import KeyUse
from clusterra.core.people.person import ledger_of
from clusterra.loops.running import Running
from clusterra.settings import ServerSettings
from tests.api.asgi import Answer, ask
from tests.edge import SMALL, PublicAgent, until, wanted
from tests.people import token_of
from tests.world import LAB, OURS, THEIRS, World

KEY = bytes(range(32))
SLURM = {"slurm": "http://head:6820", "jwt_key": base64.b64encode(KEY).decode()}


class Office:
    """A server to which clusters are added; their Slurm is in memory."""

    def __init__(self, state: Path, world: World | None = None) -> None:
        self.state = state
        self.world = world or World()
        self.plane = self.world.plane(ServerSettings(state=state))
        self.made: dict[str, World] = {}
        self._make = self.plane.make_site
        self.plane.make_site = self._in_memory
        self.reachable = True
        self.app = make_app(self.plane)

    def _in_memory(self, cluster: Registered) -> Site:
        site = self._make(cluster)
        if cluster.slurm_url:
            far = World(store=self.world.store, clock=self.world.clock, id=cluster.id)
            far.slurm.about = self._about(far)  # type: ignore[method-assign]
            site.slurm = far.slurm
            self.made[cluster.id] = far
        return site

    def _about(self, far: World) -> Any:
        about = far.slurm.about

        async def asked() -> Any:
            if not self.reachable:
                raise Unreachable("Nobody listens at head:6820.")
            return await about()

        return asked

    async def restarted(self) -> "Office":
        after = Office(self.state, World(store=self.world.store, clock=self.world.clock))
        await after.plane.open()
        return after

    async def post(self, path: str = "/v1/clusters", **body: Any) -> Answer:
        return await ask(self.app, "POST", path, body)

    async def added(self, name: str = "edge", **more: Any) -> dict[str, Any]:
        answer = await self.post(name=name, **more)
        assert answer.status == 201, answer.body
        told: dict[str, Any] = answer.json
        return told

    async def admin_events(self) -> list[dict[str, Any]]:
        home = ledger_of(self.plane.people.home)
        events = await self.plane.store.events(home, EventQuery(limit=1000))
        return [json.loads(each.body) for each in events if each.type.startswith("admin.")]


def files_in(directory: Path) -> list[Path]:
    return [each for each in directory.rglob("*") if each.is_file()]


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path)


def test_a_cluster_is_added_with_the_keys_of_its_agent_and_collector(office: Office) -> None:
    async def story() -> None:
        told = await office.added(**SLURM, region="us-east-1")

        id = told["cluster"]
        assert len(id) == 8
        assert id.startswith("clus")
        assert told["warning"] == ""
        assert told["workspace"] == office.plane.people.home
        listed = (await ask(office.app, "GET", "/v1/clusters")).json["clusters"]
        assert [(each["id"], each["name"]) for each in listed] == [(LAB, "lab"), (id, "edge")]
        keys = office.plane.people.directory.keys_of(id)
        assert {each.use for each in keys} == {KeyUse.AGENT, KeyUse.COLLECTOR}
        started = {"event": "job.started", "ts": "2026-05-14T12:00:00Z", "job_id": 4}
        sent = await ask(
            office.app,
            "POST",
            "/v1/internal/events",
            started,
            token=told["collector_key"],
            x_cluster_id=id,
        )
        assert sent.status == 200
        site = office.plane.sites[id]
        assert site.shapes
        site.edge.want(wanted(version=1), office.world.clock.now())
        agent = PublicAgent(office.app, told["agent_key"])
        assert (await agent.beat(cluster_id=id)).status == 200
        assert (await agent.beat(cluster_id=LAB)).status == 401
        [event] = [each for each in await office.admin_events() if "cluster.added" in each["type"]]
        assert (event["data"]["id"], event["data"]["slurm"]) == (id, "http://head:6820")

    asyncio.run(story())


def test_slurms_key_is_in_a_secret_file_and_nowhere_else(office: Office, tmp_path: Path) -> None:
    async def story() -> None:
        told = await office.added(**SLURM)

        [file] = files_in(tmp_path)
        assert file.read_bytes() == KEY
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert told["cluster"] in file.name
        ledger = json.dumps(await office.admin_events())
        records = str(await office.plane.store.list(REGISTERED))
        for secret in (SLURM["jwt_key"], KEY.hex(), told["agent_key"], told["collector_key"]):
            assert secret not in ledger
            assert secret not in records

    asyncio.run(story())


def test_without_a_slurm_it_is_registered_and_its_agent_told_nothing(office: Office) -> None:
    async def story() -> None:
        told = await office.added()
        id = told["cluster"]

        view = (await ask(office.app, "GET", f"/v1/clusters/{id}")).json
        answer = await PublicAgent(office.app, told["agent_key"]).beat(cluster_id=id)
        job = await ask(
            office.app,
            "POST",
            f"/v1/clusters/{id}/jobs/submit",
            {"script": "#!/bin/sh\n"},
            token=await token_of(office.plane, "eva"),
        )

        assert (view["state"], view["why"]) == (
            "unreachable",
            "No slurmrestd was named for this cluster.",
        )
        assert (answer.status, answer.json["code"]) == (503, "fleet-not-known")
        await office.world.observer.look()
        assert (await ask(office.app, "GET", "/readyz", token="")).status == 200
        assert "No slurmrestd was named" in answer.json["detail"]
        assert job.status == 503

    asyncio.run(story())


def test_a_slurm_that_does_not_answer_is_a_warning(office: Office) -> None:
    async def story() -> None:
        office.reachable = False

        told = await office.added(**SLURM)

        assert told["warning"] == "Slurm cannot be seen yet: Nobody listens at head:6820."
        assert told["cluster"] in office.plane.sites

    asyncio.run(story())


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"name": "lab"}, 409, "name-taken"),
        ({"name": LAB}, 409, "name-taken"),
        ({"name": "  "}, 422, "invalid"),
        ({"name": "x" * 65}, 422, "invalid"),
        ({"name": "a\nb"}, 422, "invalid"),
        ({}, 422, "invalid"),
        ({"name": "edge", "workspace": "nonex"}, 404, "workspace-not-found"),
        ({"name": "edge", "region": "moon-1"}, 422, "unknown-region"),
        ({"name": "edge", "slurm": "http://head:6820"}, 422, "invalid"),
        ({"name": "edge", "jwt_key": SLURM["jwt_key"]}, 422, "invalid"),
        *(
            ({"name": "edge", **SLURM, "slurm": url}, 422, "bad-url")
            for url in ("head:6820", "ftp://head", "http://", "http://h:x", "http://u:p@h", "h h")
        ),
        *(
            ({"name": "edge", **SLURM, "jwt_key": key}, 422, "bad-jwt-key")
            for key in ("?", "AAAA", base64.b64encode(b"-----BEGIN RSA KEY-----" * 9).decode())
        ),
    ],
)
def test_what_cannot_be_added_is_refused_and_leaves_nothing(
    office: Office, tmp_path: Path, body: dict[str, Any], status: int, code: str
) -> None:
    async def story() -> None:
        answer = await office.post(**body)

        assert (answer.status, answer.json["code"]) == (status, code)
        assert answer.json["hint"]
        assert list(office.plane.sites) == [LAB]
        assert await office.plane.store.list(REGISTERED) == []
        assert files_in(tmp_path) == []

    asyncio.run(story())


def test_two_who_want_one_name_at_once_do_not_both_get_it(office: Office) -> None:
    async def story() -> None:
        await office.plane.open()
        answers = await asyncio.gather(*(office.post(name="edge") for _ in range(5)))

        assert sorted(each.status for each in answers) == [201, 409, 409, 409, 409]

    asyncio.run(story())


def test_only_who_runs_a_workspace_adds_to_it_and_others_names_are_free(tmp_path: Path) -> None:
    async def story() -> None:
        world = World()
        plane = world.plane_with(world.next_door())
        app = make_app(plane)
        secrets = {
            role: await token_of(plane, f"p{role}", role, workspace=OURS)
            for role in (Role.MEMBER, Role.ADMIN)
        }

        async def add(role: Role, name: str, workspace: str) -> int:
            body = {"name": name, "workspace": workspace}
            return (await ask(app, "POST", "/v1/clusters", body, token=secrets[role])).status

        assert await add(Role.MEMBER, "edge", OURS) == 403
        assert await add(Role.ADMIN, "edge", THEIRS) == 404
        assert await add(Role.ADMIN, "rival", OURS) == 201

    asyncio.run(story())


def test_a_cluster_is_there_after_a_restart(office: Office) -> None:
    async def story() -> None:
        told = await office.added(**SLURM)
        bare = await office.added("bare")

        after = await office.restarted()

        assert list(after.plane.sites) == [LAB, *sorted((told["cluster"], bare["cluster"]))]
        answer = await PublicAgent(after.app, told["agent_key"]).beat(cluster_id=told["cluster"])
        assert answer.status == 503
        assert (await after.post(name="edge")).status == 409

    asyncio.run(story())


def test_a_cluster_whose_slurm_key_was_lost_says_so_and_stops_nobody(office: Office) -> None:
    async def story() -> None:
        told = await office.added(**SLURM)
        for file in office.state.rglob("*.jwt.key"):
            file.unlink()

        after = World(store=office.world.store).plane(ServerSettings(state=office.state))
        await after.open()

        assert "is gone" in after.sites[told["cluster"]].sky.why_not

    asyncio.run(story())


def test_a_removed_cluster_is_gone_with_its_keys_and_keeps_its_ledger(office: Office) -> None:
    async def story() -> None:
        told = await office.added(**SLURM)
        id = told["cluster"]
        await office.made[id].observer.look()
        agent = PublicAgent(office.app, told["agent_key"])
        site = office.plane.sites[id]
        site.shapes = {SMALL.name: SMALL}
        site.edge.want(wanted(version=3), office.world.clock.now())
        agent.version = 3
        waiting = asyncio.create_task(agent.beat(cluster_id=id, wait_seconds=20))
        await until(lambda: bool(site.edge._waiting))

        gone = await ask(office.app, "DELETE", f"/v1/clusters/{id}")

        assert (gone.status, gone.json["name"]) == (200, "edge")
        assert (await waiting).status == 200
        assert (await agent.beat(cluster_id=id)).status == 404
        assert (await ask(office.app, "GET", f"/v1/clusters/{id}")).status == 404
        assert office.plane.people.directory.keys_of(id) == []
        assert list(office.state.rglob("*.jwt.key")) == []
        assert (await office.plane.store.head(id)).size == 1
        await office.plane.people.uses.write()
        types = [each["type"] for each in await office.admin_events()]
        assert types.count("admin.cluster.removed") == 1
        assert list((await office.restarted()).plane.sites) == [LAB]

    asyncio.run(story())


def test_a_cluster_of_the_settings_is_not_removed(office: Office) -> None:
    async def story() -> None:
        answer = await ask(office.app, "DELETE", f"/v1/clusters/{LAB}")

        assert (answer.status, answer.json["code"]) == (409, "cluster-in-settings")
        assert LAB in office.plane.sites

    asyncio.run(story())


def test_a_rotated_key_lives_beside_the_old_one_until_that_is_revoked(office: Office) -> None:
    async def story() -> None:
        told = await office.added()
        id = told["cluster"]
        path = f"/v1/clusters/{id}/rotate-key"

        made = await office.post(path, use="agent")
        third = await office.post(path, use="agent")
        other = await office.post(path, use="collector")
        odd = await office.post(path, use="butler")

        async def beat(key: str) -> int:
            return (await PublicAgent(office.app, key).beat(cluster_id=id)).status

        assert made.status == other.status == 201
        assert [await beat(told["agent_key"]), await beat(made.json["key"])] == [503, 503]
        assert (third.status, third.json["code"]) == (409, "too-many-keys")
        [old] = made.json["old"]
        assert old in third.json["hint"]
        await ask(office.app, "DELETE", f"/v1/clusters/{id}/keys/{old}")
        assert [await beat(told["agent_key"]), await beat(made.json["key"])] == [401, 503]
        assert odd.status == 422

    asyncio.run(story())


def test_a_cluster_is_observed_as_long_as_it_is_there(office: Office) -> None:
    async def story() -> None:
        await office.plane.open()
        running = Running(office.plane)
        running.start()
        before = asyncio.all_tasks()
        told = await office.added(**SLURM)
        id = told["cluster"]

        await until(lambda: office.plane.sites[id].sky.seen_at is not None)
        await ask(office.app, "DELETE", f"/v1/clusters/{id}")
        await asyncio.sleep(0)

        assert not [each for each in asyncio.all_tasks() - before if id in each.get_name()]
        await running.stop()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(story())
