"""Prices over HTTP: what machines cost, who says so, and an admin's own rates."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest

from clusterra.api.app import make_app
from clusterra.core.access import Role, Scope
from clusterra.core.cost.prices import STALE_AFTER
from clusterra.core.events.event import EventQuery
from clusterra.core.scaling.edge import EdgeReport, Machine, Offering
from clusterra.core.scaling.shapes import table
from clusterra.core.seen import Seen
from tests.api.asgi import Answer, ask
from tests.control.test_price import PRICES
from tests.people import token_of
from tests.world import LAB, World

HERE = f"/v1/clusters/{LAB}/prices"
OWN = {"cpu_usd_per_hour_micros": 40_000, "gib_usd_per_hour_micros": 5_000}


class Api:
    def __init__(self, *, scaled: bool = False) -> None:
        self.world = World()
        if scaled:
            self.world.site.shapes = self.world.site.meter.shapes = table(PRICES)
        self.plane = self.world.plane()
        self._app = make_app(self.plane)

    async def __call__(
        self, method: str = "GET", path: str = "", body: object = None, **more: Any
    ) -> Answer:
        await self.plane.open()
        return await ask(self._app, method, f"{HERE}{path}", body, **more)

    async def told(self) -> list[dict[str, Any]]:
        query = EventQuery(types=("admin.prices.changed",))
        return [json.loads(each.body) for each in await self.world.store.events(LAB, query)]


def test_a_price_that_nobody_knows_is_null_and_says_why() -> None:
    async def story() -> None:
        api = Api()
        await api.world.observer.look()

        (node,) = (await api()).json["nodes"]

        assert node["node"] == "w1"
        assert node["price"]["usd_per_hour_micros"] is None
        assert "an admin can say" in node["price"]["why_unknown"]

    asyncio.run(story())


def test_own_rates_count_at_once_and_are_told_in_the_ledger() -> None:
    async def story() -> None:
        api = Api()
        await api.world.observer.look()
        api.world.clock.advance(timedelta(minutes=5))

        answer = await api("PUT", "/rates", OWN)

        assert answer.status == 200
        assert answer.json["rates"]["cpu_usd_per_hour_micros"] == 40_000
        (node,) = answer.json["nodes"]
        assert node["price"]["usd_per_hour_micros"] == 8 * 40_000 + 16_000 * 5_000 // 1024
        assert node["price"]["source"] == "rates"
        assert node["since"] == "2026-03-02T12:05:00Z"
        (event,) = await api.told()
        assert event["data"]["changed"] == [
            "CPU: list prices → $0.0400/h",
            "GiB of memory: list prices → $0.0050/h",
            "GPU: list prices → $0.00/h",
        ]
        assert event["authid"] == "ana@localhost"

    asyncio.run(story())


def test_saying_the_same_again_changes_nothing() -> None:
    async def story() -> None:
        api = Api()
        await api("PUT", "/rates", OWN)
        since = (await api()).json["rates"]["since"]
        api.world.clock.advance(timedelta(hours=1))

        again = await api("PUT", "/rates", OWN)

        assert again.json["rates"]["since"] == since
        assert len(await api.told()) == 1

    asyncio.run(story())


def test_taken_away_list_prices_count_again() -> None:
    async def story() -> None:
        api = Api()
        await api.world.observer.look()
        await api("PUT", "/rates", OWN)

        answer = await api("DELETE", "/rates")

        assert answer.json["rates"] is None
        assert answer.json["nodes"][0]["price"]["usd_per_hour_micros"] is None
        assert len(await api.told()) == 2

    asyncio.run(story())


def test_rates_can_be_said_while_slurm_cannot_be_seen() -> None:
    async def story() -> None:
        api = Api()
        await api.world.observer.look()
        api.world.slurm.reachable = False

        assert (await api("PUT", "/rates", OWN)).status == 200

    asyncio.run(story())


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"cpu_usd_per_hour_micros": -1}, "rate-negative"),
        ({"gpu_usd_per_hour_micros": 10**12}, "rate-absurd"),
        ({}, "rates-zero"),
        (OWN | {"currency": "EUR"}, "unknown-currency"),
        (OWN | {"gpus": 1}, "unknown-field"),
        ({"cpu_usd_per_hour_micros": 0.5}, None),
    ],
)
def test_what_nobody_can_mean_is_refused_and_nothing_changes(
    body: dict[str, Any], code: str | None
) -> None:
    async def story() -> None:
        api = Api()
        answer = await api("PUT", "/rates", body)

        assert 400 <= answer.status < 500
        assert answer.json["hint"]
        if code:
            assert answer.json["code"] == code
        assert (await api()).json["rates"] is None
        assert await api.told() == []

    asyncio.run(story())


def test_everybody_sees_prices_and_only_admins_say_them() -> None:
    async def story() -> None:
        api = Api()
        viewer = await token_of(api.plane, "vera", Role.VIEWER)
        member = await token_of(api.plane, "ben")
        reader = await token_of(api.plane, "olga", Role.ADMIN, scopes=frozenset({Scope.READ}))

        assert (await api(token=viewer)).status == 200
        for token in (viewer, member, reader):
            assert (await api("PUT", "/rates", OWN, token=token)).status == 403
            assert (await api("DELETE", "/rates", token=token)).status == 403

    asyncio.run(story())


def test_every_shape_has_its_price_and_where_it_comes_from() -> None:
    async def story() -> None:
        shapes = {each["shape"]: each for each in (await Api(scaled=True)()).json["shapes"]}

        known = shapes["compute-xs"]["price"]
        assert (known["usd_per_hour_micros"], known["source"]) == (178_500, "table")
        assert known["estimate"] is True
        assert shapes["memory-xs"]["price"]["why_unknown"] == (
            "No price is known for the shape memory-xs."
        )

    asyncio.run(story())


def test_a_price_from_the_edge_is_stale_when_that_has_been_silent_for_ninety_seconds() -> None:
    async def story() -> None:
        api = Api()
        world, now = api.world, api.world.clock.now()
        there = Machine(
            name="m1", instance_type="c7i.xlarge", lifecycle="spot", zone="z", node="w1"
        )
        offer = Offering(
            instance_type="c7i.xlarge", lifecycle="spot", zone="z", usd_per_hour=71_000
        )
        report = EdgeReport(at=now, agent="edge", version="1", machines=(there,))
        world.site.edge.report = Seen(report, now)
        world.site.edge.offerings = Seen((offer,), now)
        await world.observer.look()

        world.clock.advance(STALE_AFTER)
        fresh = (await api()).json["nodes"][0]["price"]
        world.clock.advance(timedelta(seconds=1))
        old = (await api()).json["nodes"][0]["price"]

        assert (fresh["source"], fresh["stale"]) == ("edge", False)
        assert old["stale"] is True
        assert old["usd_per_hour_micros"] == fresh["usd_per_hour_micros"] == 71_000

    asyncio.run(story())
