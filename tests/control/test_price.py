"""Which workers a request would get and what they cost, on a cluster as it is."""

import asyncio
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any

from clusterra.control.cost.meter import RATES
from clusterra.control.cost.price import priced
from clusterra.control.cost.rates import set_rates
from clusterra.control.people.doing import Doer
from clusterra.core.access import Role
from clusterra.core.change import Change, Record
from clusterra.core.cost.estimate.priced import Priced
from clusterra.core.cost.prices import Rates
from clusterra.core.jobs.request import JobRequest
from clusterra.core.scaling.policy import POLICY, Policy
from clusterra.core.scaling.shapes import Price, Purchase, table
from tests.builders import NOON
from tests.control.test_scale import Lab
from tests.world import LAB, World

PRICES = {
    "c7i.xlarge": Price(on_demand=178_500, spot=70_000),
    "m7i.xlarge": Price(on_demand=201_600, spot=80_000),
}


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(story)


def a_lab() -> Lab:
    lab = Lab()
    lab.scaler.nodes = lab.world.observer.nodes
    shapes = {name: each for name, each in table(PRICES).items() if each.arch == "amd64"}
    lab.world.site.shapes = lab.world.site.meter.shapes = shapes
    return lab


async def asked(world: World, **properties: Any) -> Priced:
    request = JobRequest(script="#!/bin/sh\n", properties=properties)
    return await priced(world.site, request, store=world.store)


def test_before_anything_was_planned_the_policy_of_the_store_counts() -> None:
    async def story() -> None:
        world = a_lab().world
        assert (await asked(world)).worker_usd_per_hour == 178_500

        policy = Policy(purchase=Purchase.SPOT)
        put = Record(kind=POLICY, id=LAB, value=policy)
        await world.store.commit(LAB, Change(puts=[put]))

        assert (await asked(world)).worker_usd_per_hour == 70_000

    run(story())


def test_a_worker_that_is_there_and_free_is_the_one_it_gets() -> None:
    async def story() -> None:
        lab = a_lab()
        name = await lab.with_one_worker()
        await lab.scaler.scale()

        found = await asked(lab.world)

        assert (found.node, found.starts) == (name, 0)
        assert found.usd_per_hour == 178_500 // 3

    run(story())


def test_own_rates_in_the_store_count_from_the_first_question_on() -> None:
    async def story() -> None:
        world = a_lab().world
        rates = Rates(cpu=10_000, since=NOON)
        put: Record[Rates | None] = Record(kind=RATES, id=LAB, value=rates)
        await world.store.commit(LAB, Change(puts=[put]))

        assert (await asked(world, cpus_per_task=2)).usd_per_hour == 20_000

    run(story())


def test_on_a_slurm_of_others_it_is_unknown_until_an_admin_says_what_machines_cost() -> None:
    async def story() -> None:
        world = World()
        await world.observer.look()
        assert "an admin can say" in (await asked(world)).why_unknown

        world.clock.advance(timedelta(minutes=1))
        await set_rates(
            world.site,
            Rates(cpu=10_000, since=world.clock.now()),
            by=Doer(actor="user:ana", role=Role.ADMIN),
            store=world.store,
            clock=world.clock,
        )

        found = await asked(world, cpus_per_task=2)
        assert (found.node, found.usd_per_hour) == ("w1", 20_000)

    run(story())


def test_asking_writes_nothing() -> None:
    async def story() -> None:
        world = a_lab().world
        before = await world.store.head(LAB)

        await asked(world, cpus_per_task=2)

        assert await world.store.head(LAB) == before

    run(story())
