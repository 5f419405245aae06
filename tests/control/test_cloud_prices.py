"""What the cloud charges counts as soon as it is known, and until it is asked again."""

import asyncio
from datetime import timedelta

from clusterra.adapters.memory_prices import MemoryPrices
from clusterra.control.cost.cloud_prices import GOOD_FOR, CloudPrices
from clusterra.core.errors import Unreachable
from clusterra.core.scaling.edge import EdgeReport, Machine
from clusterra.core.scaling.shapes import Price
from clusterra.core.seen import Seen
from tests.costs import SMALL, Priced, a_node

REGION = "eu-central-1"


class OnAws(Priced):
    """Its machines are known to be m6i.xlarge of eu-central-1."""

    def __init__(self) -> None:
        super().__init__()
        site = self.world.site
        site.region, site.shapes = REGION, {SMALL.name: SMALL}
        self.list = MemoryPrices({REGION: {"m6i.xlarge": Price(on_demand=230_000)}})
        self.prices = CloudPrices(
            price_list=self.list, sites=lambda: [site], clock=self.world.clock
        )
        machine = Machine(name="m1", instance_type="m6i.xlarge", lifecycle="on-demand", node="w1")
        now = self.world.clock.now()
        report = EdgeReport(at=now, agent="edge", version="1", machines=(machine,))
        site.edge.report = Seen(report, now)

    def quoted(self) -> tuple[int | None, str]:
        quote = self.world.site.meter.stints["w1"][-1].quote
        return (quote.usd_per_hour, quote.source) if quote else (None, "")


def test_what_the_cloud_says_counts_from_the_next_look_on() -> None:
    async def story() -> None:
        here = OnAws()
        assert not await here.prices.refresh()
        await here.look()

        assert here.quoted() == (230_000, "cloud")

    asyncio.run(story())


def test_a_cloud_that_cannot_be_asked_leaves_what_was_known() -> None:
    async def story() -> None:
        here = OnAws()
        await here.prices.refresh()
        here.list.failing = Unreachable("AWS does not answer.")
        here.world.clock.advance(GOOD_FOR + timedelta(seconds=1))

        assert await here.prices.refresh()
        await here.look()
        assert here.quoted() == (230_000, "cloud")

    asyncio.run(story())


def test_it_is_asked_again_only_when_it_is_old_or_another_machine_has_come() -> None:
    async def story() -> None:
        here = OnAws()
        await here.prices.refresh()
        here.list.failing = Unreachable("AWS does not answer.")
        assert not await here.prices.refresh()

        other = Machine(name="m2", instance_type="c7g.large", lifecycle="spot", node="w2")
        now = here.world.clock.now()
        report = EdgeReport(at=now, agent="edge", version="1", machines=(other,))
        here.world.site.edge.report = Seen(report, now)
        here.world.slurm.join(a_node("w2"))
        assert await here.prices.refresh()

    asyncio.run(story())
