"""The public agent's protocol, replayed: what it may send, and what it must be answered.

The agent of these tests is written from the facts of that protocol (tests/edge.py).
"""

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from starlette.types import Message, Scope
from structlog.testing import capture_logs

from clusterra.api.app import make_app
from clusterra.api.routes.agent import LARGEST, STRANGERS
from clusterra.core.events.event import EventQuery
from clusterra.core.people.credentials import KeyUse
from clusterra.core.scaling.edge import EdgeReport, Offering
from clusterra.core.scaling.shapes import Purchase
from clusterra.core.seen import Seen, Unseen
from tests.api.asgi import Answer, ask
from tests.edge import HEARTBEAT, SMALL, Fleeted, PublicAgent, until, wanted
from tests.people import SOMEBODY
from tests.served import Served, served
from tests.world import LAB

Story = Callable[[Fleeted, PublicAgent], Awaitable[None]]

CLAIM = {
    "name": "cpu-workers-x1",
    "instance_id": "i-0abc",
    "instance_type": "c7g.xlarge",
    "lifecycle": "spot",
    "zone": "us-east-1a",
    "nodepool": "cpu-workers",
    "node_name": "ip-10-0-1-9",
    "billable_from": "2026-05-01T10:00:00Z",
    "launched": True,
}
PRICE: dict[str, Any] = {
    "instance_type": "c7g.xlarge",
    "lifecycle": "spot",
    "zone": "us-east-1a",
    "usd_per_hour": 0.061,
}


def tell(story: Story) -> None:
    async def told() -> None:
        lab = await Fleeted().open()
        await story(lab, PublicAgent(lab.app, lab.key))

    asyncio.run(told())


def report_of(lab: Fleeted) -> EdgeReport:
    assert isinstance(lab.site.edge.report, Seen)
    return lab.site.edge.report.value


# --- the exchange


def test_the_exchange_of_the_protocols_example() -> None:
    async def story(lab: Fleeted, agent: PublicAgent) -> None:
        lab.want({"c2m8": 2, "c3m14-a10g1": 1}, protected=("ip-10-0-1-9",))

        answer = await agent.send(
            {
                "cluster_id": LAB,
                "agent_version": "5.0.0",
                "capacity_pods": {"c2m8": {"count": 1}},
                "last_applied_version": 7,
                "slurm_key_hash": "0" * 64,
                "agent_ip": "10.0.0.5",
                "k8s_nodes": ["ip-10-0-1-9"],
                "nodeclaims": [CLAIM],
                "prices": [PRICE],
            }
        )

        assert answer.status == 200
        told = answer.json
        assert told["ack"] is True
        assert told["scaling_commands_version"] == 8
        assert told["protected_nodes"] == ["ip-10-0-1-9"]
        small, gpu = told["scaling_commands"]
        assert (small["name"], small["replicas"]) == ("c2m8", 2)
        assert small["shape"].items() >= {"arch": "arm64", "vcpus": 2, "mem_gib": 8}.items()
        assert (gpu["name"], gpu["replicas"]) == ("c3m14-a10g1", 1)
        wanted = {"arch": "amd64", "vcpus": 3, "mem_gib": 14, "gpu_count": 1, "gpu_model": "a10g"}
        assert gpu["shape"].items() >= wanted.items()
        heard = report_of(lab)
        assert (heard.agent, heard.version, heard.applied) == ("10.0.0.5", "5.0.0", 7)
        assert heard.capacity == {"c2m8": 1}
        assert heard.nodes == frozenset({"ip-10-0-1-9"})
        assert heard.machines is not None
        [machine] = heard.machines
        assert (machine.node, machine.lifecycle, machine.launched) == ("ip-10-0-1-9", "spot", True)
        assert machine.billable_from == datetime(2026, 5, 1, 10, tzinfo=UTC)
        assert lab.site.edge.offerings == Seen(
            (Offering(**(PRICE | {"usd_per_hour": 61_000})),),
            lab.world.clock.now(),
        )

    tell(story)


def test_an_answer_has_arrays_where_arrays_are_and_leaves_out_what_is_not_set() -> None:
    async def story(lab: Fleeted, agent: PublicAgent) -> None:
        lab.want({"c2m8": 1})
        text = (await agent.beat()).body.decode()

        told = json.loads(text)
        assert "null" not in text
        assert told["protected_nodes"] == []
        assert not {"slurm_key"} & told.keys()
        shape = told["scaling_commands"][0]["shape"]
        assert not {"gpu_count", "gpu_model", "tmp_mib"} & shape.keys()
        # Ours, which the public agent does not know, and does not mind.
        assert shape["mem_mib"] == 8892
        assert shape["features"] == ["arm64", "c2m8", "general", "small"]
        assert told["retire"] == []

    tell(story)


@pytest.mark.parametrize(
    ("purchase", "on_demand"), [(Purchase.ON_DEMAND, True), (Purchase.SPOT, None)]
)
def test_only_a_policy_that_buys_spot_lets_machines_be_spot(
    purchase: Purchase, on_demand: bool | None
) -> None:
    async def story(lab: Fleeted, agent: PublicAgent) -> None:
        lab.want({"c2m8": 1}, purchase=purchase)

        shape = (await agent.beat()).json["scaling_commands"][0]["shape"]

        assert shape.get("on_demand") is on_demand

    tell(story)


def test_a_fleet_of_nobody_is_told_in_so_many_words() -> None:
    async def story(lab: Fleeted, agent: PublicAgent) -> None:
        lab.want({"c2m8": 0}, version=3)
        agent.pods = {"c2m8": 2}

        told = (await agent.beat()).json

        assert (told["scaling_commands"], told["scaling_commands_version"]) == ([], 3)
        assert agent.pods == {}

    tell(story)


# --- rule 1: never an empty 200


@pytest.mark.parametrize(
    ("lose", "why"),
    [
        (lambda lab: lab.site.edge.lose_sight("Slurm is away."), "Slurm is away."),
        (lambda lab: lab.world.clock.advance(timedelta(seconds=61)), "61 s ago"),
        (lambda lab: setattr(lab.site, "shapes", {}), "no shapes"),
        (lambda lab: lab.want({"c9m9": 1}), "no shape c9m9"),
    ],
)
def test_what_is_not_known_is_a_503_and_the_agent_changes_nothing(
    lose: Callable[[Fleeted], None], why: str
) -> None:
    async def story(lab: Fleeted, agent: PublicAgent) -> None:
        lab.want({"c2m8": 2}, protected=("n1",))
        assert (await agent.beat()).status == 200
        lose(lab)

        answer = await agent.beat(k8s_nodes=["n1"])

        assert answer.status == 503
        assert answer.headers["content-type"] == "application/problem+json"
        assert int(answer.headers["retry-after"]) > 0
        assert why in answer.json["detail"]
        assert answer.json["hint"]
        assert (agent.pods, agent.anchors) == ({"c2m8": 2}, {"n1"})
        # It was heard all the same: deciding may wait for just that.
        assert report_of(lab).nodes == frozenset({"n1"})

    tell(story)


def test_before_anything_was_decided_nothing_is_told() -> None:
    async def story(lab: Fleeted, agent: PublicAgent) -> None:
        answer = await agent.beat()

        assert (answer.status, answer.json["code"]) == (503, "fleet-not-known")
        assert lab.heard == 1

    tell(story)


# --- rule 2: null is not []


@pytest.mark.parametrize(
    ("sent", "known"), [(None, None), ([], frozenset()), (["n1"], {"n1"}), (..., None), (5, None)]
)
def test_nodes_that_could_not_be_listed_are_not_nodes_that_there_are_none_of(
    sent: Any, known: Any
) -> None:
    async def story(lab: Fleeted, agent: PublicAgent) -> None:
        lab.want()

        assert (await agent.beat(k8s_nodes=sent)).status == 200

        assert report_of(lab).nodes == known

    tell(story)


@pytest.mark.parametrize(("sent", "names"), [(None, None), ([], []), (..., None), ("odd", None)])
def test_machines_that_could_not_be_listed_are_not_machines_that_there_are_none_of(
    sent: Any, names: list[str] | None
) -> None:
    async def story(lab: Fleeted, agent: PublicAgent) -> None:
        lab.want()

        assert (await agent.beat(nodeclaims=sent)).status == 200

        machines = report_of(lab).machines
        assert (machines if machines is None else [each.name for each in machines]) == names

    tell(story)


def test_a_list_of_which_one_row_cannot_be_read_is_not_taken_for_a_whole_one() -> None:
    async def story(lab: Fleeted, agent: PublicAgent) -> None:
        lab.want()

        await agent.beat(nodeclaims=[CLAIM, {"instance_id": "i-1"}], k8s_nodes=["n1", 7])

        assert report_of(lab).machines is None
        assert report_of(lab).nodes is None

    tell(story)


def test_a_machine_with_an_odd_member_is_still_a_machine() -> None:
    async def story(lab: Fleeted, agent: PublicAgent) -> None:
        lab.want()
        odd = {"name": "x2", "billable_from": "soon", "launched": None, "lifecycle": "reserved"}
        local = CLAIM | {"billable_from": "2026-05-01T10:00:00", "node_name": None}

        await agent.beat(nodeclaims=[local, odd])

        machines = report_of(lab).machines
        assert machines is not None
        assert [each.name for each in machines] == ["cpu-workers-x1", "x2"]
        assert machines[0].billable_from == datetime(2026, 5, 1, 10, tzinfo=UTC)
        assert (machines[1].billable_from, machines[1].lifecycle) == (None, "on-demand")

    tell(story)


# --- what else it sends


@pytest.mark.parametrize(
    "odd",
    [
        {"a_new_member": {"deep": [1]}, "agent_version": "6.0.0"},
        {"agent_version": 6},
        {"agent_version": ...},
        {"last_applied_version": "seven"},
        {"last_applied_version": ...},
        {"capacity_pods": None},
        {"capacity_pods": []},
        {"slurm_key_hash": 5},
        {"agent_ip": None},
        {"agent_ip": ...},
        {"prices": None},
        {"prices": "dear"},
        {"prices": [None, 5, {}]},
        {"workers": 5, "failed": "all", "wait_seconds": "long", "protected_nodes": 1},
    ],
)
def test_what_is_unknown_or_odd_breaks_nothing(odd: dict[str, Any]) -> None:
    async def story(lab: Fleeted, agent: PublicAgent) -> None:
        lab.want({"c2m8": 1})

        answer = await agent.beat(**({"k8s_nodes": ["n1"]} | odd))

        assert answer.status == 200
        assert agent.pods == {"c2m8": 1}
        assert report_of(lab).nodes == frozenset({"n1"})
        assert report_of(lab).agent in ("10.0.0.5", "192.0.2.1")

    tell(story)


def test_shapes_that_can_be_counted_are_counted_beside_one_that_cannot() -> None:
    async def story(lab: Fleeted, agent: PublicAgent) -> None:
        lab.want()
        counts = {"c2m8": {"count": 3}, "c3m14-a10g1": {"count": "many"}, "old": {"count": -1}}

        await agent.beat(capacity_pods=counts)

        assert report_of(lab).capacity == {"c2m8": 3, "old": 0}

    tell(story)


def test_not_a_number_in_a_price_costs_that_row_only() -> None:
    async def story(lab: Fleeted, agent: PublicAgent) -> None:
        lab.want()
        body = agent.body(prices=[PRICE, PRICE | {"usd_per_hour": float("nan")}])

        assert (await agent.send(json.dumps(body).encode())).status == 200

        assert isinstance(lab.site.edge.offerings, Seen)
        assert len(lab.site.edge.offerings.value) == 1

    tell(story)


@pytest.mark.parametrize(
    "row",
    [
        PRICE | {"usd_per_hour": 0},
        PRICE | {"usd_per_hour": -0.1},
        PRICE | {"usd_per_hour": "0.1"},
        PRICE | {"usd_per_hour": None},
        PRICE | {"lifecycle": "reserved"},
        PRICE | {"zone": ""},
        {name: value for name, value in PRICE.items() if name != "zone"},
        {name: value for name, value in PRICE.items() if name != "instance_type"},
        None,
    ],
)
def test_a_row_that_says_no_price_is_left_out(row: Any) -> None:
    async def story(lab: Fleeted, agent: PublicAgent) -> None:
        lab.want()

        await agent.beat(prices=[row, PRICE])

        assert isinstance(lab.site.edge.offerings, Seen)
        assert [each.usd_per_hour for each in lab.site.edge.offerings.value] == [61_000]

    tell(story)


def test_a_price_table_that_is_sent_again_is_not_read_again_and_a_new_one_is() -> None:
    async def story(lab: Fleeted, agent: PublicAgent) -> None:
        lab.want()
        table = [
            PRICE | {"zone": f"zone-{n}", "usd_per_hour": 0.05 + n / 1e6} for n in range(40_000)
        ]
        body = json.dumps(agent.body(prices=table)).encode()
        assert len(body) > 3 << 20

        assert (await agent.send(body)).status == 200
        first = lab.site.edge.offerings
        lab.world.clock.advance(timedelta(seconds=15))
        lab.want()
        assert (await agent.send(body)).status == 200
        second = lab.site.edge.offerings
        await agent.beat(prices=...)
        third = lab.site.edge.offerings
        await agent.beat(prices=table[:1])
        fourth = lab.site.edge.offerings

        assert isinstance(first, Seen)
        assert isinstance(second, Seen)
        assert isinstance(fourth, Seen)
        assert len(first.value) == 40_000
        assert first.value[7].usd_per_hour == 50_007
        assert second.value is first.value
        assert second.at - first.at == timedelta(seconds=15)
        assert third is second
        assert len(fourth.value) == 1

    tell(story)


def test_slurms_key_is_sent_to_an_agent_that_has_none_or_another() -> None:
    async def story(lab: Fleeted, agent: PublicAgent) -> None:
        lab.site.slurm_key = bytes(range(256))
        lab.want()

        missing = (await agent.beat()).json
        agent.slurm_key = b""
        other = (await agent.beat()).json
        agent.slurm_key = lab.site.slurm_key
        same = (await agent.beat()).json

        assert base64.b64decode(missing["slurm_key"], validate=True) == lab.site.slurm_key
        assert other["slurm_key"] == missing["slurm_key"]
        assert "slurm_key" not in same

    tell(story)


# --- versions


def test_the_whole_fleet_is_told_every_time_whatever_was_applied() -> None:
    async def story(lab: Fleeted, agent: PublicAgent) -> None:
        lab.want({"c2m8": 2}, version=8)
        for applied in (0, 7, 8, 8):
            answer = await agent.beat(last_applied_version=applied)
            assert [each["replicas"] for each in answer.json["scaling_commands"]] == [2]
            assert agent.version == 8

    tell(story)


def test_an_agent_that_is_ahead_of_us_is_answered_and_the_log_says_so_once() -> None:
    async def story(lab: Fleeted, agent: PublicAgent) -> None:
        lab.want({"c2m8": 1}, version=2)
        agent.version = 40

        with capture_logs() as logs:
            assert (await agent.beat()).status == 200
            assert agent.version == 2  # it has seen that we began again
            await agent.beat(last_applied_version=41)
            await agent.beat(last_applied_version=41)

        assert [each["event"] for each in logs] == ["agent.ahead"]
        assert agent.pods == {"c2m8": 1}

    tell(story)


# --- who may speak


@pytest.mark.parametrize(
    ("headers", "body", "status", "code"),
    [
        ({"x_agent_key": ""}, {}, 401, "unauthenticated"),
        ({"x_agent_key": "wrong"}, {}, 401, "bad-key"),
        ({"x_agent_key": "", "authorization": "Bearer a-token"}, {}, 401, "bad-key"),
        ({}, {"cluster_id": "clusnone"}, 404, "cluster-not-found"),
        ({"x_agent_key": ""}, {"cluster_id": "clusnone"}, 404, "cluster-not-found"),
        ({}, {"cluster_id": ...}, 422, "which-cluster"),
        ({}, {"cluster_id": 7}, 422, "which-cluster"),
    ],
)
def test_only_the_agent_of_a_known_cluster_is_heard(
    headers: dict[str, str], body: dict[str, Any], status: int, code: str
) -> None:
    async def story(lab: Fleeted, agent: PublicAgent) -> None:
        lab.want({"c2m8": 1})

        answer = await agent.send(agent.body(**body), **headers)

        assert (answer.status, answer.json["code"]) == (status, code)
        assert answer.json["hint"]
        assert isinstance(lab.site.edge.report, Unseen)

    tell(story)


def test_the_key_may_come_as_a_bearer_too() -> None:
    async def story(lab: Fleeted, agent: PublicAgent) -> None:
        lab.want()

        answer = await agent.send(agent.body(), x_agent_key="", authorization=f"Bearer {lab.key}")

        assert answer.status == 200

    tell(story)


def test_a_collectors_key_is_not_an_agents() -> None:
    async def story() -> None:
        lab = await Fleeted().open(KeyUse.COLLECTOR)
        lab.want()

        answer = await PublicAgent(lab.app, lab.key).beat()

        assert (answer.status, answer.json["code"]) == (401, "bad-key")
        assert "--for agent" in answer.json["hint"]

    asyncio.run(story())


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"7", b"[" * 100_000, b"\xff\xfe"])
def test_a_body_that_is_no_object_is_a_problem_with_a_reason(body: bytes) -> None:
    async def story(lab: Fleeted, agent: PublicAgent) -> None:
        answer = await agent.send(body)

        assert (answer.status, answer.json["code"]) == (400, "malformed-json")
        assert answer.json["hint"]

    tell(story)


def test_a_body_beyond_16_mib_is_not_taken_and_a_strangers_not_beyond_1() -> None:
    async def story(lab: Fleeted, agent: PublicAgent) -> None:
        lab.want()

        def padded(size: int) -> bytes:
            body = json.dumps(agent.body()).encode()
            return body + b" " * (size - len(body))

        assert (await agent.send(padded(LARGEST))).status == 200
        much = await agent.send(padded(LARGEST + 1))
        declared = await agent.send(b"{}", content_length=str(LARGEST + 1))
        stranger = await agent.send(padded(STRANGERS + 1), x_agent_key="wrong")

        assert (much.status, much.json["code"]) == (413, "body-too-large")
        assert "16,777,217" in much.json["detail"]
        assert declared.status == 413
        assert (stranger.status, stranger.json["code"]) == (401, "bad-key")

    tell(story)


@pytest.mark.parametrize("path", [f"{HEARTBEAT}/", f"/{HEARTBEAT}", f"{HEARTBEAT}?a=b"])
def test_nobody_is_sent_elsewhere(path: str) -> None:
    async def story(lab: Fleeted, agent: PublicAgent) -> None:
        lab.want()

        answer = await ask(lab.app, "POST", path, agent.body(), token="", x_agent_key=lab.key)

        assert not 300 <= answer.status < 400
        assert "location" not in answer.headers

    tell(story)


def test_only_posting_is_possible() -> None:
    async def story(lab: Fleeted, agent: PublicAgent) -> None:
        answer = await ask(lab.app, "GET", HEARTBEAT, token="", x_agent_key=lab.key)

        assert (answer.status, answer.json["code"]) == (405, "method-not-allowed")

    tell(story)


# --- one agent at a time


def test_a_second_agent_with_the_same_key_is_refused_while_the_first_is_heard() -> None:
    async def story(lab: Fleeted, agent: PublicAgent) -> None:
        lab.want({"c2m8": 1})
        other = PublicAgent(lab.app, lab.key, ip="10.0.0.6")
        await agent.beat()
        lab.world.clock.advance(timedelta(seconds=40))
        lab.want({"c2m8": 1})

        with capture_logs() as logs:
            refused = await other.beat(k8s_nodes=["theirs"])
            await other.beat()

        assert (refused.status, refused.json["code"]) == (409, "another-agent")
        assert "10.0.0.5" in refused.json["detail"]
        assert "10.0.0.6" in refused.json["detail"]
        assert "40 s ago" in refused.json["detail"]
        assert [each["event"] for each in logs] == ["agent.refused"]
        assert report_of(lab).agent == "10.0.0.5"
        assert other.pods == {}

        lab.world.clock.advance(timedelta(seconds=5))
        assert (await other.beat()).status == 200
        assert (await agent.beat()).status == 409

    tell(story)


def test_an_agent_that_was_restarted_is_the_same_one() -> None:
    async def story(lab: Fleeted, agent: PublicAgent) -> None:
        lab.want({"c2m8": 1})
        await agent.beat(agent_id="edge-1", agent_ip="10.0.0.5")

        again = PublicAgent(lab.app, lab.key, ip="10.0.0.9")

        assert (await again.beat(agent_id="edge-1")).status == 200
        assert again.pods == {"c2m8": 1}

    tell(story)


# --- waiting for news


def test_who_asks_to_wait_is_answered_when_something_else_is_wanted() -> None:
    async def story(lab: Fleeted, agent: PublicAgent) -> None:
        lab.want({"c2m8": 1}, version=8)
        first = await agent.beat(wait_seconds=20)
        assert first.status == 200  # it knew of nothing yet

        waiting = asyncio.create_task(agent.beat(wait_seconds=20))
        await lab.waiting(1)
        lab.want({"c2m8": 1}, version=8)
        await asyncio.sleep(0)
        assert not waiting.done()
        lab.want({"c2m8": 5}, version=9)

        assert (await waiting).json["scaling_commands_version"] == 9
        assert agent.pods == {"c2m8": 5}

    tell(story)


def test_who_says_what_it_protects_is_answered_when_that_changes() -> None:
    async def story(lab: Fleeted, agent: PublicAgent) -> None:
        lab.want(version=8, protected=("n1",))
        agent.version = 8
        at_once = await agent.beat(wait_seconds=20, protected_nodes=[])
        assert at_once.json["protected_nodes"] == ["n1"]

        waiting = asyncio.create_task(agent.beat(wait_seconds=20, protected_nodes=["n1"]))
        await lab.waiting(1)
        lab.want(version=8, protected=("n1", "n2"))

        assert (await waiting).json["protected_nodes"] == ["n1", "n2"]

    tell(story)


def test_who_waits_for_the_first_decision_is_answered_with_it() -> None:
    async def story(lab: Fleeted, agent: PublicAgent) -> None:
        waiting = asyncio.create_task(agent.beat(wait_seconds=20))
        await lab.waiting(1)
        lab.want({"c2m8": 1})

        assert (await waiting).status == 200

    tell(story)


def test_who_waits_in_vain_is_told_the_same_again_and_who_waits_for_nothing_at_once() -> None:
    async def story(lab: Fleeted, agent: PublicAgent) -> None:
        lab.want({"c2m8": 1}, version=8)
        agent.version = 8

        for wait in (0, 0.01, -5):
            answer = await agent.beat(wait_seconds=wait)
            assert (answer.status, agent.pods) == (200, {"c2m8": 1})

    tell(story)


def test_a_stopping_server_keeps_nobody_waiting() -> None:
    async def story(lab: Fleeted, agent: PublicAgent) -> None:
        lab.want({"c2m8": 1}, version=8)
        agent.version = 8
        waiting = asyncio.create_task(agent.beat(wait_seconds=20))
        await lab.waiting(1)

        lab.plane.hush()

        assert (await waiting).status == 200
        assert (await agent.beat(wait_seconds=20)).status == 200

    tell(story)


def test_who_hangs_up_while_waiting_leaves_nothing_behind() -> None:
    async def story(lab: Fleeted, agent: PublicAgent) -> None:
        lab.want(version=8)
        body = json.dumps(agent.body(last_applied_version=8, wait_seconds=20)).encode()
        messages: asyncio.Queue[Message] = asyncio.Queue()
        messages.put_nowait({"type": "http.request", "body": body, "more_body": False})
        sent: list[Message] = []

        async def send(message: Message) -> None:
            sent.append(message)

        scope: Scope = {
            "type": "http",
            "method": "POST",
            "path": HEARTBEAT,
            "query_string": b"",
            "headers": [(b"x-agent-key", lab.key.encode())],
            "client": ("192.0.2.1", 1),
        }
        before = asyncio.all_tasks()
        asking = asyncio.ensure_future(lab.app(scope, messages.get, send))
        await lab.waiting(1)
        messages.put_nowait({"type": "http.disconnect"})
        await asking

        assert sent == []
        assert not lab.site.edge._waiting
        assert asyncio.all_tasks() == before

    tell(story)


# --- having something decided


def test_the_fleet_is_planned_again_only_when_something_new_was_said() -> None:
    async def story(lab: Fleeted, agent: PublicAgent) -> None:
        lab.want()
        failed = [{"shape": "c2m8", "why": "no capacity", "at": "2026-05-14T11:59:00Z"}]

        for said, heard in (
            ({}, 1),
            ({}, 1),
            ({"k8s_nodes": ["n1"]}, 2),
            ({"k8s_nodes": ["n1"]}, 2),
            ({"k8s_nodes": None}, 3),
            ({"k8s_nodes": None, "failed": failed}, 4),
            ({"k8s_nodes": None, "failed": failed}, 4),
            ({"k8s_nodes": None}, 4),
        ):
            agent.version = 8
            lab.world.clock.advance(timedelta(seconds=1))
            await agent.beat(**said)
            assert lab.heard == heard, said

    tell(story)


def test_workers_and_failures_of_our_own_agent_are_heard() -> None:
    async def story(lab: Fleeted, agent: PublicAgent) -> None:
        lab.want(retire=("w1",))
        worker = {"name": "w1", "shape": "c2m8", "since": "2026-05-14T11:00:00Z", "ready": True}
        failed = {"shape": "c2m8", "why": "died", "at": "2026-05-14T11:59:00Z", "name": "w2"}

        told = (await agent.beat(workers=[worker], failed=[failed, {"why": "?"}])).json

        heard = report_of(lab)
        assert heard.workers is not None
        assert [(each.name, each.ready) for each in heard.workers] == [("w1", True)]
        assert [(each.name, each.why) for each in heard.failed] == [("w2", "died")]
        assert told["retire"] == ["w1"]

    tell(story)


# --- rule 3: node-misclassified comes without a key


class Machine:
    """A node of the wrong class, whose shell loses the Authorization header."""

    def __init__(self, lab: Fleeted, address: str = "10.0.1.9") -> None:
        self._lab = lab
        self._address = address

    async def complain(
        self, node: object = "ip-10-0-1-9", cluster: str = LAB, **more: str
    ) -> Answer:
        body = {"node": node, "instance_type": "g5.xlarge", "expected": "cpu", "actual": "gpu"}
        path = f"/v1/internal/clusters/{cluster}/node-misclassified"
        return await ask(self._lab.app, "POST", path, body, token="", address=self._address, **more)


async def misclassified(lab: Fleeted) -> list[Any]:
    events = await lab.plane.store.events(LAB, EventQuery(limit=100))
    return [json.loads(each.body) for each in events if each.type == "node.misclassified"]


@pytest.mark.parametrize(
    "seen", [{"k8s_nodes": ["ip-10-0-1-9"]}, {"k8s_nodes": None, "nodeclaims": [CLAIM]}]
)
def test_a_machine_that_the_agent_told_of_is_believed_without_a_key(seen: dict[str, Any]) -> None:
    async def story(lab: Fleeted, agent: PublicAgent) -> None:
        lab.want()
        await agent.beat(**seen)
        await agent.beat(k8s_nodes=[], nodeclaims=[])  # gone already, a moment later

        answer = await Machine(lab).complain()
        again = await Machine(lab).complain(authorization="Bearer nonsense")

        assert (answer.status, answer.json) == (200, {"ack": True})
        assert again.status == 200
        [event] = await misclassified(lab)
        assert event["data"]["node"] == "ip-10-0-1-9"
        assert event["data"]["instance_type"] == "g5.xlarge"
        assert (event["data"]["expected"], event["data"]["actual"]) == ("cpu", "gpu")
        assert event["subject"] == "node/ip-10-0-1-9"

        lab.world.clock.advance(timedelta(hours=1))
        await agent.beat(k8s_nodes=["ip-10-0-1-9"])
        await Machine(lab).complain()
        assert len(await misclassified(lab)) == 2

    tell(story)


def test_a_machine_that_nobody_told_of_is_not() -> None:
    async def story(lab: Fleeted, agent: PublicAgent) -> None:
        lab.want()
        await agent.beat(k8s_nodes=["ip-10-0-1-9"])

        unknown = await Machine(lab).complain("ip-10-0-1-7")
        elsewhere = await Machine(lab).complain(cluster="clusnone")
        odd = await Machine(lab).complain(7)
        lab.world.clock.advance(timedelta(minutes=11))
        late = await Machine(lab).complain()

        assert (unknown.status, unknown.json["code"]) == (404, "node-not-found")
        assert (elsewhere.status, elsewhere.json["code"]) == (404, "cluster-not-found")
        assert odd.status == 422
        assert late.status == 404
        assert await misclassified(lab) == []

    tell(story)


def test_who_tries_out_names_is_told_to_wait() -> None:
    async def story(lab: Fleeted, agent: PublicAgent) -> None:
        lab.want()
        await agent.beat(k8s_nodes=["ip-10-0-1-9"])
        guesser = Machine(lab, "192.0.2.66")
        for n in range(30):
            assert (await guesser.complain(f"ip-{n}")).status == 404

        refused = await guesser.complain()

        assert refused.status == 429
        assert int(refused.headers["retry-after"]) > 0
        assert (await Machine(lab).complain()).status == 200

    tell(story)


# --- over a socket


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as running:
        yield running


@pytest.mark.enable_socket
def test_megabytes_come_in_over_a_socket_and_a_hang_up_leaves_nothing(server: Served) -> None:
    site = server.plane.sites[LAB]

    async def prepared() -> str:
        await server.plane.open()
        site.shapes = {SMALL.name: SMALL}
        site.edge.want(wanted({"c2m8": 1}, version=8), server.plane.clock.now())
        key, _ = await server.plane.people.keys.make(
            LAB, server.plane.people.home, name="", use=KeyUse.AGENT, by=SOMEBODY
        )
        return key

    key = server.run(prepared())
    agent = PublicAgent(make_app(server.plane), key)
    table = [PRICE | {"zone": f"zone-{n}"} for n in range(60_000)]

    async def post(body: dict[str, Any]) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        host, _, port = server.url.removeprefix("http://").partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        data = json.dumps(body).encode()
        writer.write(
            f"POST {HEARTBEAT} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            f"X-Agent-Key: {key}\r\nContent-Length: {len(data)}\r\n\r\n".encode()
        )
        writer.write(data)
        await writer.drain()
        return reader, writer

    async def story() -> None:
        reader, writer = await post(agent.body(prices=table))
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        writer.close()
        await writer.wait_closed()
        _, writer = await post(agent.body(last_applied_version=8, wait_seconds=25))
        await until(lambda: bool(site.edge._waiting))
        writer.close()
        await writer.wait_closed()
        await until(lambda: not site.edge._waiting)

    asyncio.run(story())

    assert isinstance(site.edge.offerings, Seen)
    assert len(site.edge.offerings.value) == 60_000
