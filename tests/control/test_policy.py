"""How a fleet may grow and shrink: who has the last word, and what is refused."""

import asyncio
import json
from typing import Any

import pytest

from clusterra.control.people.doing import Doer
from clusterra.control.policy import change_policy, load_policy
from clusterra.core.access import Role
from clusterra.core.errors import Invalid, Refused
from clusterra.core.events.event import EventQuery
from clusterra.core.scaling.edit import PolicyEdit
from clusterra.core.scaling.policy import Policy, Rule
from clusterra.core.scaling.shapes import Family, Price, Purchase, Shape
from clusterra.ports import Store
from tests.world import LAB, World

ADA = Doer(actor="user:ada@lab.example", role=Role.ADMIN)


def a_shape(name: str, usd_micros: int = 340_000) -> Shape:
    return Shape(
        name=name,
        family=Family.GENERAL,
        size="small",
        arch="amd64",
        vcpus=8,
        memory_gib=32,
        cpus=7,
        memory_mib=31_440,
        types=("m7i.2xlarge",),
        price=Price(on_demand=usd_micros),
    )


SHAPES = {name: a_shape(name) for name in ("general-small", "general-large")}


class Fleet:
    def __init__(self, store: Store | None = None) -> None:
        self.world = World(store=store) if store else World()
        self.site, self.store = self.world.site, self.world.store
        self.site.shapes = SHAPES
        self.planned = 0
        self.site.edge.heard = self._heard

    def _heard(self) -> None:
        self.planned += 1

    async def set(self, **edit: Any) -> Policy:
        return await change_policy(
            self.site, PolicyEdit(**edit), by=ADA, store=self.store, clock=self.world.clock
        )

    async def told(self) -> list[dict[str, Any]]:
        events = await self.store.events(LAB, EventQuery(types=("admin.policy.changed",)))
        return [json.loads(event.body) for event in events]


def test_until_an_admin_says_otherwise_the_settings_count() -> None:
    async def story() -> None:
        fleet = Fleet()
        fleet.site.policy = Policy(max_workers=12)
        assert await load_policy(fleet.site, fleet.store) == Policy(max_workers=12)

        await fleet.set(idle_seconds=30)
        fleet.site.policy = Policy(max_workers=99)

        assert await load_policy(fleet.site, fleet.store) == Policy(max_workers=12, idle_seconds=30)

    asyncio.run(story())


def test_a_change_is_told_in_the_ledger_with_who_and_what_and_wakes_the_planner(
    store: Store,
) -> None:
    async def story() -> None:
        fleet = Fleet(store)

        await fleet.set(max_workers=4, max_usd_per_hour=12_500_000, minimum={"general-small": 2})

        (event,) = await fleet.told()
        assert event["authid"] == "ada@lab.example"
        assert event["data"]["cluster"] == LAB
        assert event["data"]["changed"] == [
            "max_workers: 64 → 4",
            "max_usd_per_hour: no limit → $12.50",
            "minimum: none → 2 general-small",
        ]
        assert fleet.planned == 1

    asyncio.run(story())


def test_what_is_so_already_is_no_news() -> None:
    async def story() -> None:
        fleet = Fleet()

        await fleet.set(max_workers=64, rule="family")

        assert await fleet.told() == []
        assert fleet.planned == 0

    asyncio.run(story())


def test_everything_can_be_set_and_limits_can_be_lifted() -> None:
    async def story() -> None:
        fleet = Fleet()
        policy = await fleet.set(
            rule="Cheapest",
            purchase="spot",
            architectures=("arm64",),
            idle_seconds=0,
            max_usd_per_hour=5_000_000,
            minimum={"general-small": 1, "general-large": 2},
        )
        assert (policy.rule, policy.purchase) == (Rule.CHEAPEST, Purchase.SPOT)
        assert (policy.architectures, policy.idle_seconds) == (("arm64",), 0)

        policy = await fleet.set(max_usd_per_hour=0, minimum={"general-small": 0})

        assert policy.max_usd_per_hour is None
        assert policy.minimum == {"general-large": 2}

    asyncio.run(story())


@pytest.mark.parametrize(
    ("edit", "code", "says"),
    [
        ({}, "nothing-to-change", "Nothing is to be changed."),
        ({"rule": "dearest"}, "invalid", 'There is no rule "dearest".'),
        ({"purchase": "rent"}, "invalid", 'There is no purchase "rent".'),
        ({"architectures": ("mips",)}, "invalid", 'The architectures cannot be "mips".'),
        ({"architectures": ()}, "invalid", "The architectures cannot be none at all."),
        (
            {"architectures": ("arm64", "arm64")},
            "invalid",
            "The architectures cannot be one twice.",
        ),
        ({"max_workers": -1}, "invalid", "max_workers cannot be -1."),
        ({"max_workers": 10_001}, "invalid", "max_workers cannot be 10,001."),
        ({"idle_seconds": -5}, "invalid", "idle_seconds cannot be -5."),
        ({"idle_seconds": 10**9}, "invalid", "idle_seconds cannot be 1,000,000,000."),
        ({"max_usd_per_hour": -1_000_000}, "invalid", "max_usd_per_hour cannot be -$1.00."),
        ({"max_usd_per_hour": 10**13}, "invalid", "max_usd_per_hour cannot be $10,000,000.00."),
        (
            {"minimum": {"general-smal": 1}},
            "unknown-shape",
            'There is no shape "general-smal" here.',
        ),
        ({"minimum": {"general-small": -1}}, "invalid", "minimum cannot be -1."),
        (
            {"max_workers": 2, "minimum": {"general-small": 3}},
            "max-below-minimum",
            "At most 2 workers is less than the 3 that are always kept (3 general-small).",
        ),
        (
            {"max_usd_per_hour": 500_000, "minimum": {"general-small": 2}},
            "max-below-minimum",
            (
                "At most $0.50 per hour is less than the $0.68 of the workers that are always "
                "kept (2 general-small)."
            ),
        ),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused_and_changes_nothing(
    edit: dict[str, Any], code: str, says: str
) -> None:
    async def story() -> None:
        fleet = Fleet()

        with pytest.raises(Invalid) as refused:
            await fleet.set(**edit)

        assert (refused.value.code, refused.value.detail) == (code, says)
        assert refused.value.hint
        assert await load_policy(fleet.site, fleet.store) == Policy()
        assert await fleet.told() == []

    asyncio.run(story())


def test_a_limit_below_what_was_set_to_be_kept_earlier_is_refused_too() -> None:
    async def story() -> None:
        fleet = Fleet()
        await fleet.set(minimum={"general-small": 3})

        with pytest.raises(Invalid, match="less than the 3 that are always kept"):
            await fleet.set(max_workers=2)

    asyncio.run(story())


def test_an_unknown_shape_is_answered_with_the_nearest() -> None:
    async def story() -> None:
        with pytest.raises(Invalid) as refused:
            await Fleet().set(minimum={"general-smal": 1})

        assert refused.value.hint.startswith("Did you mean general-small")

    asyncio.run(story())


def test_a_cluster_whose_nodes_are_not_ours_has_no_policy_to_set() -> None:
    async def story() -> None:
        fleet = Fleet()
        fleet.site.shapes = {}

        with pytest.raises(Refused, match="lab is not scaled by Clusterra"):
            await fleet.set(max_workers=3)

    asyncio.run(story())
