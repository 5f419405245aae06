"""What collectors, hooks and clouds send: authenticated per cluster, kept once, answered per item."""

import asyncio
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.types import ASGIApp

from clusterra.api.app import make_app
from clusterra.api.routes.internal import LARGEST
from clusterra.control import hear
from clusterra.core.change import Change
from clusterra.core.events.event import EventQuery
from clusterra.core.people.credentials import FileKey, KeyUse
from tests.api.asgi import Answer, ask
from tests.served import KEY, Served, served
from tests.world import LAB, World

EVENTS = "/v1/internal/events"
BATCH = f"/v1/internal/batch/ten_1/{LAB}"


def started(job_id: int = 41, **more: object) -> dict[str, object]:
    return {"event": "job.started", "ts": "2026-05-14T12:00:00Z", "job_id": job_id, **more}


class Door:
    def __init__(self) -> None:
        self.world = World()
        self.nudged: list[int] = []
        self.world.site.nudge = self.nudged.extend
        self.plane = self.world.plane()
        self.plane.keys = [FileKey(cluster=LAB, use=KeyUse.COLLECTOR, secret=KEY)]
        self.app: ASGIApp = make_app(self.plane)

    async def post(self, body: object, path: str = EVENTS, **headers: str) -> Answer:
        sent = {"x_cluster_id": LAB, "authorization": f"Bearer {KEY}"} | headers
        return await ask(self.app, "POST", path, body, token="", **sent)

    async def heard(self) -> list[int]:
        return sorted(record.value.job_id for record in await self.plane.inboxes[LAB].pending())

    async def types(self) -> list[str]:
        return [each.type for each in await self.plane.store.events(LAB, EventQuery())]


@pytest.mark.parametrize("headers", [{"authorization": f"bearer {KEY}"}, {"x_agent_key": KEY}])
def test_what_is_said_of_a_job_is_kept_and_the_job_is_looked_at(headers: dict[str, str]) -> None:
    async def story() -> None:
        door = Door()

        answer = await ask(
            door.app, "POST", EVENTS, started(), token="", x_cluster_id=LAB, **headers
        )

        assert (answer.status, answer.json) == (
            200,
            {"accepted": 1, "duplicates": 0, "results": []},
        )
        assert await door.heard() == door.nudged == [41]

    asyncio.run(story())


@pytest.mark.parametrize(
    ("body", "jobs"),
    [
        (started(), [41]),
        ([started(), started(42)], [41, 42]),
        ({"events": [started(), started(42)]}, [41, 42]),
        ({"Entries": [{"DetailType": "job.started", "Detail": '{"job_id": 43}'}]}, [43]),
        ([], []),
        ({"events": []}, []),
    ],
)
def test_one_event_or_several_come_in_any_wrapping(body: object, jobs: list[int]) -> None:
    async def story() -> None:
        door = Door()

        assert (await door.post(body)).status == 200
        assert await door.heard() == jobs

    asyncio.run(story())


def test_the_cluster_may_be_named_in_the_body_alone() -> None:
    async def story() -> None:
        door = Door()
        nested = {"detail-type": "job.started", "detail": {"job_id": 42, "cluster_id": LAB}}

        for body in (started(cluster_id=LAB), [nested], {"events": [], "cluster_id": LAB}):
            answer = await ask(door.app, "POST", EVENTS, body, token="", x_agent_key=KEY)
            assert answer.status == 200
        assert await door.heard() == [41, 42]

    asyncio.run(story())


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"x_cluster_id": "clusnone"}, 404, "cluster-not-found"),
        ({"x_cluster_id": "clusnone", "authorization": ""}, 404, "cluster-not-found"),
        ({"authorization": ""}, 401, "unauthenticated"),
        ({"authorization": "Basic x"}, 401, "unauthenticated"),
        ({"authorization": "Bearer wrong"}, 401, "bad-key"),
        ({"authorization": "Bearer a-token"}, 401, "bad-key"),
        ({"authorization": "", "x_agent_key": "wrong"}, 401, "bad-key"),
        ({"x_cluster_id": ""}, 400, "which-cluster"),
    ],
)
def test_only_the_collector_of_a_known_cluster_is_heard(
    headers: dict[str, str], status: int, code: str
) -> None:
    async def story() -> None:
        door = Door()

        answer = await door.post(started(), **headers)

        assert (answer.status, answer.json["code"]) == (status, code)
        assert answer.json["hint"]
        assert await door.heard() == []

    asyncio.run(story())


def test_a_cluster_without_a_key_is_heard_from_nobody() -> None:
    async def story() -> None:
        door = Door()
        door.plane.keys = ()

        assert (await door.post(started(), authorization="Bearer ")).status == 401
        assert (await door.post(started())).status == 401

    asyncio.run(story())


def test_the_admin_token_opens_nothing_here_and_the_key_nothing_elsewhere() -> None:
    async def story() -> None:
        door = Door()

        assert (await ask(door.app, "POST", EVENTS, started(), x_cluster_id=LAB)).status == 401
        assert (await ask(door.app, "GET", "/v1/clusters", token=KEY)).status == 401
        assert (await ask(door.app, "GET", "/v1/internal/other", token=KEY)).status == 401

    asyncio.run(story())


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 400, "malformed-json"),
        (b"{", 400, "malformed-json"),
        (b"[" * 100_000, 400, "malformed-json"),
        (b"17", 400, "not-an-event"),
        (b"{}", 400, "not-an-event"),
        (b'{"event": "job.started"}', 400, "which-job"),
        (b'[{"event": "job.started"}, 5]', 400, "which-job"),
        (b" " * (LARGEST + 1), 413, "body-too-large"),
    ],
)
def test_a_body_that_cannot_be_used_is_a_problem_with_a_reason(
    body: bytes, status: int, code: str
) -> None:
    async def story() -> None:
        answer = await Door().post(body)

        assert (answer.status, answer.json["code"]) == (status, code)
        assert answer.json["detail"]
        assert answer.json["hint"]

    asyncio.run(story())


def test_a_body_that_says_it_is_too_large_is_not_even_read() -> None:
    async def story() -> None:
        answer = await Door().post(b"{}", content_length=str(LARGEST + 1))

        assert (answer.status, answer.json["code"]) == (413, "body-too-large")
        assert "1,048,577" in answer.json["detail"]

    asyncio.run(story())


def test_each_item_stands_for_itself() -> None:
    async def story() -> None:
        door = Door()
        body = [started(), {"event": "job.started"}, "text", started(42, cluster_id="other")]

        answer = await door.post(body)

        assert answer.status == 200
        assert (answer.json["accepted"], answer.json["duplicates"]) == (1, 0)
        assert [
            (each["index"], each["status"], each["code"]) for each in answer.json["results"]
        ] == [
            (1, 422, "which-job"),
            (2, 422, "not-an-event"),
            (3, 422, "other-cluster"),
        ]
        assert await door.heard() == [41]

    asyncio.run(story())


@pytest.mark.parametrize(
    "name",
    [b"\xff\xfe name", b"a\\u0000b", b'\\"quoted\\" \\n \xf0\x9f\x90\x8d', b"x" * 64_000],
)
def test_no_name_is_too_odd_to_be_kept(name: bytes) -> None:
    async def story() -> None:
        door = Door()

        answer = await door.post(b'{"event": "job.started", "job_id": 41, "name": "' + name + b'"}')

        assert answer.status == 200
        [record] = await door.plane.inboxes[LAB].pending()
        assert 0 < len(record.value.name) <= 256
        assert record.value.name.isprintable()

    asyncio.run(story())


def test_facts_about_machines_are_in_the_ledger_at_once() -> None:
    async def story() -> None:
        door = Door()
        launched = {"event": "node.launched", "instance_id": "i-1"}

        await door.post([launched, started(), launched])
        again = await door.post(launched)

        assert await door.types() == ["node.launched"]
        assert (again.json["accepted"], again.json["duplicates"]) == (1, 1)
        assert door.nudged == [41]

    asyncio.run(story())


def test_a_batch_is_read_row_by_row() -> None:
    async def story() -> None:
        door = Door()
        tables = {
            "jobs": {"update": [{"job_id": "41", "state": "running"}, {"state": "running"}]},
            "nodes": {"upsert": [{"ec2_instance_id": "i-1", "ec2_state": "running"}]},
            "clusters": {"update": [{"state": "stopped", "instance_id": "i-0"}]},
        }

        answer = await door.post({"tables": tables}, BATCH)
        again = await door.post({"tables": tables, "cluster_id": LAB}, "/v1/internal/batch")

        assert (answer.status, answer.json["accepted"]) == (200, 3)
        assert [each["index"] for each in answer.json["results"]] == [1]
        assert (again.status, again.json["duplicates"]) == (200, 3)
        assert await door.types() == ["node.launched", "cluster.state.stopped"]
        assert (await door.post({"tables": {}}, BATCH)).json["accepted"] == 0
        assert (await door.post({"rows": []}, BATCH)).json["code"] == "no-tables"
        elsewhere = await door.post({"tables": tables}, "/v1/internal/batch/ten_1/clusnone")
        assert elsewhere.status == 404

    asyncio.run(story())


def test_only_posting_is_possible() -> None:
    async def story() -> None:
        answer = await ask(Door().app, "GET", EVENTS, token="")

        assert (answer.status, answer.json["code"]) == (405, "method-not-allowed")

    asyncio.run(story())


def test_a_full_inbox_says_come_back_and_takes_nothing() -> None:
    async def story() -> None:
        door = Door()
        door.plane.inboxes[LAB].most = 3
        await door.post([started(1), started(2)])

        refused = await door.post([started(3), started(4)])
        assert (refused.status, refused.json["code"]) == (429, "busy")
        assert int(refused.headers["retry-after"]) > 0
        assert (await door.post({"event": "node.launched", "instance_id": "i-1"})).status == 200
        assert (await door.post(started(3))).status == 200

        await settle(door)
        door.world.clock.advance(hear.COUNTED_EVERY)
        assert (await door.post([started(5), started(6)])).status == 200
        assert await door.heard() == [5, 6]

    asyncio.run(story())


def test_what_was_settled_may_be_said_again() -> None:
    async def story() -> None:
        door = Door()
        await door.post(started())
        await settle(door)
        await door.plane.inboxes[LAB].pending()

        answer = await door.post(started())

        assert answer.json["duplicates"] == 0
        assert door.nudged == [41, 41]

    asyncio.run(story())


def test_a_new_process_knows_what_waits() -> None:
    async def story() -> None:
        door = Door()
        await door.post(started())
        after = Door()
        after.world, after.plane = door.world, door.world.plane()
        after.plane.keys = door.plane.keys
        after.app = make_app(after.plane)

        assert (await after.post(started())).json["duplicates"] == 1
        assert await after.heard() == [41]

    asyncio.run(story())


async def settle(door: Door) -> None:
    """Do as the observer does when it has looked into everything."""
    records = await door.plane.inboxes[LAB].pending()
    await door.plane.store.commit(LAB, Change(drops=records))


# --- over a socket, with everything on disk


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as running:
        yield running


async def send(url: str, bodies: list[Any]) -> list[Any]:
    """Post each body on one connection, one after another."""
    host, _, port = url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    answers = []
    for body in bodies:
        data = json.dumps(body).encode()
        head = (
            f"POST {EVENTS} HTTP/1.1\r\nhost: x\r\nx-cluster-id: {LAB}\r\n"
            f"authorization: Bearer {KEY}\r\ncontent-length: {len(data)}\r\n\r\n"
        )
        writer.write(head.encode() + data)
        answer = await reader.readuntil(b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 200"), answer
        while b"}" not in (body := await reader.read(65536)):
            assert body
        answers.append(body)
    writer.close()
    await writer.wait_closed()
    return answers


@pytest.mark.enable_socket
def test_a_thousand_copies_at_once_are_kept_once(server: Served) -> None:
    async def story() -> None:
        launched = {"event": "node.launched", "instance_id": "i-1"}
        await asyncio.gather(*(send(server.url, [[started(), launched]] * 20) for _ in range(50)))

    asyncio.run(story())

    assert [heard.job_id for heard in server.heard()] == [41]
    assert [each.type for each in server.events()] == ["node.launched"]
    assert server.nudged == [41]


@pytest.mark.enable_socket
def test_batches_that_are_repeated_and_out_of_order_come_to_the_same(server: Served) -> None:
    chance = random.Random(7)
    facts = [
        started(job, ts=f"2026-05-14T{12 + off:02}:00:00Z", node=f"w{job}")
        for job in range(1, 201)
        for off in (-1, 0, 1)
    ]
    batches = [chance.sample(facts, 100) for _ in range(30)] + [facts]

    async def story() -> None:
        await asyncio.gather(*(send(server.url, [batch]) for batch in batches))

    asyncio.run(story())

    kept = [(heard.job_id, heard.at.hour) for heard in server.heard()]
    assert sorted(kept) == [(job, hour) for job in range(1, 201) for hour in (11, 12, 13)]
    assert set(server.nudged) == set(range(1, 201))
