"""Promises every price list keeps: the one in memory, and AWS's as far as a stand-in is AWS."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from decimal import Decimal
from typing import Protocol

import pytest

from clusterra.adapters.aws_prices import AwsPrices
from clusterra.adapters.clock import SystemClock
from clusterra.adapters.memory_prices import MemoryPrices
from clusterra.core.errors import Refused, Unreachable
from clusterra.core.money import MICROS
from clusterra.core.scaling.shapes import Price
from clusterra.ports import PriceList
from tests.adapters.aws_standin import AwsStandIn, error

pytestmark = pytest.mark.enable_socket

HERE = "us-east-1"
SOLD = {
    HERE: {
        "c7g.xlarge": Price(on_demand=145_000, spot=61_300),
        "g5.xlarge": Price(on_demand=1_006_000, spot=443_701),
        "mac2.metal": Price(on_demand=650_000),
    },
    "eu-west-1": {"c7g.xlarge": Price(on_demand=154_800, spot=58_400)},
}


class World(Protocol):
    """A price list that sells `SOLD`, and what may happen to it."""

    prices: PriceList

    def refuse(self) -> None:
        """From now on the credentials are not allowed to ask."""
        ...

    def fall_silent(self) -> None:
        """From now on there is no answer, to some question at least."""
        ...


class InMemory:
    def __init__(self) -> None:
        self.list = MemoryPrices(SOLD)
        self.prices: PriceList = self.list

    def refuse(self) -> None:
        self.list.failing = Refused("They are not allowed it.", hint="Allow it.")

    def fall_silent(self) -> None:
        self.list.failing = Unreachable("It does not answer.", hint="Try again.")


class Aws:
    def __init__(self, aws: AwsStandIn) -> None:
        self.aws = aws
        self.prices: PriceList = AwsPrices(aws.environ, SystemClock(), patience=0.5)

    def refuse(self) -> None:
        denied = "User is not authorized to perform: pricing:GetProducts"
        self.aws.scripted["pricing"] = 400, error("pricing", "AccessDeniedException", denied)

    def fall_silent(self) -> None:
        self.aws.scripted["ec2"] = 0, ""


Opening = Callable[[], AbstractAsyncContextManager[World]]


@asynccontextmanager
async def in_memory() -> AsyncIterator[World]:
    yield InMemory()


@asynccontextmanager
async def aws() -> AsyncIterator[World]:
    stand_in = AwsStandIn()
    for region, machines in SOLD.items():
        for type, price in machines.items():
            assert price.on_demand
            stand_in.on_demand[region, type] = f"{Decimal(price.on_demand) / MICROS:.10f}"
            if price.spot:
                spot = f"{Decimal(price.spot) / MICROS:.6f}"
                stand_in.spot.append((region, type, f"{region}a", "2026-11-16T09:00:04Z", spot))
    async with stand_in.open():
        yield Aws(stand_in)


@pytest.fixture(params=[in_memory, aws])
def world(request: pytest.FixtureRequest) -> Opening:
    return request.param  # type: ignore[no-any-return]


def test_each_type_that_is_sold_there_has_both_its_prices(world: Opening) -> None:
    async def story() -> None:
        async with world() as place:
            assert await place.prices.prices(HERE, ["g5.xlarge", "c7g.xlarge"]) == {
                "c7g.xlarge": Price(on_demand=145_000, spot=61_300),
                "g5.xlarge": Price(on_demand=1_006_000, spot=443_701),
            }
            assert await place.prices.prices("eu-west-1", {"c7g.xlarge"}) == SOLD["eu-west-1"]
            await place.prices.close()

    asyncio.run(story())


def test_what_is_not_sold_as_spot_has_only_the_other_price(world: Opening) -> None:
    async def story() -> None:
        async with world() as place:
            found = await place.prices.prices(HERE, ["mac2.metal"])
            assert found == {"mac2.metal": Price(on_demand=650_000, spot=None)}
            await place.prices.close()

    asyncio.run(story())


@pytest.mark.parametrize("unknown", ["q1.tiny", "", "no type at all", "a,b.c", "x" * 2000])
def test_what_is_not_sold_there_is_left_out(world: Opening, unknown: str) -> None:
    async def story() -> None:
        async with world() as place:
            found = await place.prices.prices(HERE, ["c7g.xlarge", unknown])
            assert found == {"c7g.xlarge": SOLD[HERE]["c7g.xlarge"]}
            assert await place.prices.prices("eu-west-1", ["g5.xlarge", unknown]) == {}
            await place.prices.close()

    asyncio.run(story())


def test_nothing_is_what_nothing_costs(world: Opening) -> None:
    async def story() -> None:
        async with world() as place:
            assert await place.prices.prices(HERE, []) == {}
            await place.prices.close()

    asyncio.run(story())


def test_credentials_that_do_not_allow_it_are_refused_with_a_next_step(
    world: Opening,
) -> None:
    async def story() -> None:
        async with world() as place:
            place.refuse()
            with pytest.raises(Refused) as caught:
                await place.prices.prices(HERE, ["c7g.xlarge"])
            assert caught.value.hint
            await place.prices.close()

    asyncio.run(story())


def test_silence_is_unreachable_and_never_half_an_answer(world: Opening) -> None:
    async def story() -> None:
        async with world() as place:
            place.fall_silent()
            with pytest.raises(Unreachable) as caught:
                await place.prices.prices(HERE, ["c7g.xlarge"])
            assert caught.value.hint
            await place.prices.close()

    asyncio.run(story())


def test_it_can_be_closed_without_having_been_asked(world: Opening) -> None:
    async def story() -> None:
        async with world() as place:
            await place.prices.close()

    asyncio.run(story())
