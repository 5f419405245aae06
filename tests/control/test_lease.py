"""Of several processes, one acts."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from clusterra.adapters.memory import ManualClock, MemoryStore
from clusterra.control.lease import GOOD_FOR, Tenure
from clusterra.core.change import Change
from clusterra.core.errors import Conflict
from clusterra.core.scaling.fleet import FLEET, Fleet
from clusterra.ports import Store
from tests.builders import NOON


def claims(store: Store, clock: ManualClock) -> tuple[Tenure, Tenure]:
    first, second = (
        Tenure(cluster="lab", what="scale", holder=holder, store=store, clock=clock)
        for holder in ("first", "second")
    )
    return first, second


def test_one_has_it_and_the_other_waits_until_it_has_run_out() -> None:
    async def story() -> None:
        clock = ManualClock(NOON)
        first, second = claims(MemoryStore(), clock)

        assert await first.held() is not None
        assert await second.held() is None

        clock.advance(GOOD_FOR + timedelta(seconds=1))
        assert await second.held() is not None
        assert await first.held() is None

    asyncio.run(story())


def test_whoever_goes_on_acting_keeps_it() -> None:
    async def story() -> None:
        clock = ManualClock(NOON)
        first, second = claims(MemoryStore(), clock)
        for _ in range(10):
            assert await first.held() is not None
            assert await second.held() is None
            clock.advance(GOOD_FOR / 3)

    asyncio.run(story())


def test_one_that_slept_through_its_time_cannot_commit_what_it_thought() -> None:
    async def story() -> None:
        clock, store = ManualClock(NOON), MemoryStore()
        first, second = claims(store, clock)
        mine = await first.held()
        assert mine is not None

        clock.advance(GOOD_FOR + timedelta(seconds=1))
        assert await second.held() is not None

        fleet = await store.get(FLEET, "lab", default=Fleet())
        wanted = replace(fleet, value=Fleet(version=1))
        with pytest.raises(Conflict):
            await store.commit("lab", Change(puts=[wanted, mine]))
        assert (await store.get(FLEET, "lab", default=Fleet())).version == 0

    asyncio.run(story())
