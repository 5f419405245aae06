"""The history of nodes and prices that the meter keeps: each change once, and nothing lost."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from clusterra.control.cost.meter import KEPT, RATES, Meter
from clusterra.core.change import Change, Record
from clusterra.core.clusters import Node
from clusterra.core.cost.prices import Book, Rates, Source
from clusterra.core.cost.stints import STINTS, Stints
from clusterra.core.jobs.job import JobState
from clusterra.core.scaling.edge import EdgeReport, Machine, Offering
from clusterra.core.scaling.fleet import Phase
from clusterra.core.scaling.shapes import Price, Purchase
from clusterra.core.seen import Seen, Sight, Unseen
from tests.builders import NOON, a_job
from tests.world import LAB, World

NODE = Node(name="w1", state="IDLE", cpus=8, memory_mib=32_000)
MACHINE = Machine(
    name="m1", instance_type="m7i.2xlarge", lifecycle="spot", zone="us-east-1a", node="w1"
)
SILENT = Unseen("No agent has been heard.")


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(story)


@dataclass
class Watched:
    """A meter, and whoever tells it how things are."""

    world: World = field(default_factory=World)
    book: Book = field(
        default_factory=lambda: Book(
            table={"m7i.2xlarge": Price(on_demand=403_200, spot=150_000)}, table_at=NOON
        )
    )

    def __post_init__(self) -> None:
        self.meter = self.another()

    def another(self) -> Meter:
        """Return the meter of another server, or of this one started again."""
        return Meter(cluster=LAB, store=self.world.store, clock=self.world.clock, book=self.book)

    async def note(
        self,
        *nodes: Node,
        price: int | None = None,
        heard: bool = True,
        meter: Meter | None = None,
    ) -> Stints:
        now = self.world.clock.now()
        report: Sight[EdgeReport] = SILENT
        offerings: Sight[tuple[Offering, ...]] = SILENT
        if heard:
            report = Seen(EdgeReport(at=now, agent="edge", version="1", machines=(MACHINE,)), now)
        if price is not None:
            said = Offering(
                instance_type="m7i.2xlarge",
                lifecycle="spot",
                zone="us-east-1a",
                usd_per_hour=price,
            )
            offerings = Seen((said,), now)
        chosen = meter or self.meter
        await chosen.note(nodes, report=report, offerings=offerings, purchase=Purchase.SPOT, at=now)
        return chosen.stints.get("w1", ())

    def later(self, **span: int) -> None:
        self.world.clock.advance(timedelta(**span))

    async def written(self) -> Stints:
        record = await self.world.store.get(STINTS, f"{LAB}/w1", default=())
        return record.value


def test_looking_again_without_news_writes_nothing() -> None:
    async def story() -> None:
        watched = Watched()
        first = await watched.note(NODE, price=100_000)
        for _ in range(5):
            watched.later(seconds=20)
            assert await watched.note(NODE, price=100_000) == first
        record = await watched.world.store.get(STINTS, f"{LAB}/w1", default=())
        assert record.version == 1

    run(story())


def test_another_price_begins_another_stint_at_that_moment() -> None:
    async def story() -> None:
        watched = Watched()
        await watched.note(NODE, price=100_000)
        watched.later(minutes=10)

        old, new = await watched.note(NODE, price=120_000)

        assert old.until == new.since == NOON + timedelta(minutes=10)
        assert [each.quote.usd_per_hour for each in (old, new) if each.quote] == [100_000, 120_000]
        assert await watched.written() == (old, new)

    run(story())


def test_own_rates_said_in_the_middle_of_a_job_count_from_then_on() -> None:
    async def story() -> None:
        watched = Watched()
        await watched.note(NODE, price=100_000)
        job = a_job(state=JobState.RUNNING, started_at=NOON, nodes="w1", cpus=8, memory_mib=0)
        watched.later(minutes=30)

        rates = Rates(cpu=50_000, since=watched.world.clock.now())
        said = Record(kind=RATES, id=watched.meter.cluster, value=rates)
        await watched.world.store.commit(watched.meter.cluster, Change(puts=[said]))
        await watched.note(NODE, price=100_000)
        watched.later(minutes=30)

        made = watched.meter.bill(job, watched.world.clock.now())
        assert [each.usd_per_hour for each in made.charges] == [100_000, 400_000]
        assert made.micros == 50_000 + 200_000

    run(story())


def test_an_edge_that_falls_silent_keeps_its_last_price() -> None:
    async def story() -> None:
        watched = Watched()
        await watched.note(NODE, price=100_000)
        watched.later(hours=2)

        (stint,) = await watched.note(NODE, heard=False)

        assert stint.quote is not None
        assert (stint.quote.usd_per_hour, stint.quote.source) == (100_000, Source.EDGE)

    run(story())


def test_an_edge_that_tells_no_price_has_that_of_the_list_until_it_does() -> None:
    async def story() -> None:
        watched = Watched()
        (listed,) = await watched.note(NODE)
        assert listed.quote is not None
        assert (listed.quote.usd_per_hour, listed.quote.source) == (150_000, Source.TABLE)
        watched.later(seconds=20)

        _, told = await watched.note(NODE, price=99_000)
        assert told.quote is not None
        assert told.quote.source is Source.EDGE

    run(story())


def test_a_node_that_goes_ends_its_stint_and_one_that_comes_back_begins_another() -> None:
    async def story() -> None:
        watched = Watched()
        await watched.note(NODE, price=100_000)
        watched.later(minutes=1)
        (gone,) = await watched.note(price=100_000)
        assert gone.until == NOON + timedelta(minutes=1)
        watched.later(minutes=1)

        *_, back = await watched.note(NODE, price=100_000)
        assert (back.since, back.until) == (NOON + timedelta(minutes=2), None)

    run(story())


def test_a_node_that_is_drained_is_another_stint_for_the_sake_of_waste() -> None:
    async def story() -> None:
        watched = Watched()
        await watched.note(NODE, price=100_000)
        watched.later(minutes=1)

        *_, closed = await watched.note(replace(NODE, flags=("DRAIN",)), price=100_000)

        assert closed.phase is Phase.CLOSED

    run(story())


def test_a_server_that_starts_again_goes_on_with_what_was_written() -> None:
    async def story() -> None:
        watched = Watched()
        before = await watched.note(NODE, price=100_000)
        watched.later(hours=1)

        again = watched.another()
        assert await watched.note(NODE, heard=False, meter=again) == before

    run(story())


def test_of_two_servers_that_look_at_once_the_slower_takes_over_what_the_quicker_wrote() -> None:
    async def story() -> None:
        watched = Watched()
        other = watched.another()
        await watched.note(NODE, price=100_000)
        await watched.note(NODE, price=100_000, meter=other)
        watched.later(minutes=1)

        quick = await watched.note(NODE, price=120_000)
        slow = await watched.note(NODE, price=120_000, meter=other)

        assert slow == quick == await watched.written()

    run(story())


def test_what_nobody_can_need_any_more_is_forgotten_and_what_a_running_job_needs_is_not() -> None:
    async def story() -> None:
        watched = Watched()
        await watched.note(NODE, price=100_000)
        watched.later(minutes=1)
        await watched.note(NODE, price=120_000)
        watched.later(days=KEPT.days + 1)

        running = a_job(state=JobState.RUNNING, started_at=NOON, nodes="w1")
        watched.meter.running = {1: running}
        assert len(await watched.note(NODE, price=120_000)) == 2

        watched.meter.running = {}
        assert len(await watched.note(NODE, price=120_000)) == 1

    run(story())
