"""What a machine costs, who is believed, and what is said where nobody knows."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from clusterra.core.clusters import Node
from clusterra.core.cost.own_rates import differences, own_rates
from clusterra.core.cost.prices import (
    STALE_AFTER,
    Book,
    Heard,
    Quote,
    Rates,
    Source,
    heard,
    is_stale,
)
from clusterra.core.errors import Invalid
from clusterra.core.scaling.edge import Machine, Offering
from clusterra.core.scaling.shapes import Family, Price, Purchase, Shape
from clusterra.core.seen import Seen, Unseen
from tests.builders import NOON

NODE = Node(name="w1", state="IDLE", cpus=8, memory_mib=32 * 1024, gpus=1)
SPOT = Machine(name="m1", instance_type="m7i.2xlarge", lifecycle="spot", zone="us-east-1a")
ON_DEMAND = replace(SPOT, lifecycle="on-demand")
SHAPE = Shape(
    name="general-small",
    family=Family.GENERAL,
    size="small",
    arch="amd64",
    vcpus=8,
    memory_gib=32,
    cpus=7,
    memory_mib=31_440,
    types=("m7i.2xlarge", "m6i.2xlarge"),
    price=Price(on_demand=400_000, spot=160_000),
)
RATES = Rates(cpu=40_000, gib=5_000, gpu=1_200_000, since=NOON)
EDGE = {("m7i.2xlarge", "spot", "us-east-1a"): Heard(usd_per_hour=111_000, at=NOON)}
NONE = Unseen("No agent has told prices.")


def a_book(**known: Any) -> Book:
    everything: dict[str, Any] = {
        "table": {"m7i.2xlarge": Price(on_demand=403_200, spot=150_000)},
        "table_at": NOON,
        "cloud": {"m7i.2xlarge": Price(on_demand=410_000, spot=140_000)},
        "cloud_at": NOON,
        "edge": EDGE,
        "rates": RATES,
    }
    return Book(**(everything | known))


def quote(book: Book, machine: Machine | None = SPOT, shape: Shape | None = None) -> Quote:
    found = book.quote(NODE, machine, shape, Purchase.ON_DEMAND)
    assert isinstance(found, Quote), found
    return found


def test_own_rates_come_before_the_edge_the_edge_before_the_cloud_and_that_before_the_table() -> (
    None
):
    book = a_book()
    said = []
    without: tuple[dict[str, Any], ...] = ({}, {"rates": None}, {"edge": {}}, {"cloud": {}})
    for gone in without:
        book = replace(book, **gone)
        said.append((quote(book).source, quote(book).usd_per_hour))

    assert said == [
        (Source.RATES, 8 * 40_000 + 32 * 5_000 + 1_200_000),
        (Source.EDGE, 111_000),
        (Source.CLOUD, 140_000),
        (Source.TABLE, 150_000),
    ]


def test_every_price_says_what_was_priced_and_since_when() -> None:
    assert quote(a_book(rates=None)).basis == "m7i.2xlarge spot in us-east-1a"
    assert quote(a_book()).basis == "8 CPUs at $0.0400, 32 GiB at $0.0050, 1 GPUs at $1.20"
    assert quote(a_book()).at == NOON


def test_a_spot_machine_without_a_price_from_the_edge_has_the_lists_spot_price() -> None:
    book = a_book(rates=None, edge={}, cloud={})

    assert quote(book, SPOT).usd_per_hour == 150_000
    assert quote(book, ON_DEMAND).usd_per_hour == 403_200


def test_the_edge_is_believed_only_of_that_type_lifecycle_and_zone() -> None:
    book = a_book(rates=None)

    assert quote(book, ON_DEMAND).source is Source.CLOUD
    assert quote(book, replace(SPOT, zone="us-east-1b")).source is Source.CLOUD


def test_a_type_that_nobody_knows_says_so_and_is_never_nothing() -> None:
    strange = replace(SPOT, instance_type="z9.huge")

    said = a_book(rates=None).quote(NODE, strange, None, Purchase.SPOT)

    assert said == "No price is known for z9.huge spot in us-east-1a."


def test_a_node_of_which_nothing_is_known_says_what_an_admin_can_do() -> None:
    said = a_book(rates=None).quote(NODE, None, None, Purchase.SPOT)

    assert said == (
        "It is not known what kind of machine w1 is; an admin can say what a CPU, a GiB and a GPU "
        "cost here."
    )


def test_a_worker_of_this_machine_is_priced_as_what_it_stands_for_and_marked() -> None:
    found = quote(a_book(rates=None), None, SHAPE)

    assert (found.usd_per_hour, found.estimate) == (400_000, True)
    assert found.basis == "m7i.2xlarge on-demand"


def test_a_shape_without_a_price_has_none() -> None:
    said = a_book(rates=None).quote(NODE, None, replace(SHAPE, price=Price()), Purchase.SPOT)

    assert said == "No price is known for the shape general-small."


# --- a worker that would be started


def of_shape(book: Book, *offered: tuple[str, str, str, int], shape: Shape = SHAPE) -> Quote | str:
    sight = Seen(tuple(_offering(each) for each in offered), NOON) if offered else NONE
    return book.of_shape(shape, Purchase.SPOT, sight)


def _offering(each: tuple[str, str, str, int]) -> Offering:
    kind, lifecycle, zone, price = each
    return Offering(instance_type=kind, lifecycle=lifecycle, zone=zone, usd_per_hour=price)


def test_where_the_edge_tells_prices_a_new_worker_is_the_cheapest_it_offers_of_that_shape() -> None:
    found = of_shape(
        a_book(rates=None),
        ("m7i.2xlarge", "spot", "us-east-1a", 120_000),
        ("m6i.2xlarge", "spot", "us-east-1b", 90_000),
        ("m6i.2xlarge", "on-demand", "us-east-1b", 80_000),
        ("c7i.2xlarge", "spot", "us-east-1b", 10_000),
    )

    assert isinstance(found, Quote)
    assert (found.usd_per_hour, found.source, found.estimate) == (90_000, Source.EDGE, False)
    assert found.basis == "m6i.2xlarge spot in us-east-1b"


def test_what_the_edge_does_not_offer_is_priced_by_the_lists() -> None:
    other = ("c7i.2xlarge", "spot", "us-east-1b", 10_000)

    found = of_shape(a_book(rates=None), other)
    assert isinstance(found, Quote)
    assert (found.usd_per_hour, found.source) == (140_000, Source.CLOUD)

    nobody = of_shape(a_book(rates=None, cloud={}, table={}), other)
    assert nobody == "No price is known for the shape general-small."


def test_own_rates_count_for_workers_that_would_be_started_too() -> None:
    found = of_shape(a_book(), ("m7i.2xlarge", "spot", "us-east-1a", 120_000))

    assert isinstance(found, Quote)
    assert found.usd_per_hour == 7 * 40_000 + 31_440 * 5_000 // 1024
    assert found.source is Source.RATES


# --- what the edge tells


def test_a_price_told_again_keeps_since_when_it_has_been_so() -> None:
    later = NOON + timedelta(minutes=5)
    same = Offering(
        instance_type="m7i.2xlarge", lifecycle="spot", zone="us-east-1a", usd_per_hour=111_000
    )

    assert heard(EDGE, (same,), (SPOT,), later) == EDGE
    other = heard(EDGE, (replace(same, usd_per_hour=99_000),), (SPOT,), later)
    assert other == {("m7i.2xlarge", "spot", "us-east-1a"): Heard(usd_per_hour=99_000, at=later)}


def test_prices_of_machines_that_are_not_there_are_not_kept() -> None:
    strange = Offering(instance_type="p5.48xlarge", lifecycle="spot", zone="x", usd_per_hour=1)

    assert heard({}, (strange,), (SPOT,), NOON) == {}


def test_what_the_edge_said_is_old_after_ninety_seconds_and_not_before() -> None:
    said = quote(a_book(rates=None))
    told: Seen[tuple[Offering, ...]] = Seen((), NOON)

    assert not is_stale(said, told, NOON + STALE_AFTER)
    assert is_stale(said, told, NOON + STALE_AFTER + timedelta(seconds=1))
    assert is_stale(said, NONE, NOON)
    assert not is_stale(quote(a_book()), NONE, NOON)


# --- what an admin may say


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"cpu": -1}, "rate-negative"),
        ({"gpu": 1_000_000_001}, "rate-absurd"),
        ({}, "rates-zero"),
        ({"cpu": 1, "currency": "EUR"}, "unknown-currency"),
    ],
)
def test_rates_that_nobody_can_mean_are_refused_in_words(wrong: dict[str, Any], code: str) -> None:
    known: dict[str, Any] = {"cpu": 0, "gib": 0, "gpu": 0, "currency": "USD", "since": NOON}

    with pytest.raises(Invalid) as refused:
        own_rates(**(known | wrong))

    assert refused.value.code == code
    assert refused.value.hint


def test_the_highest_rate_is_taken_and_so_is_usd_in_small_letters() -> None:
    rates = own_rates(cpu=0, gib=0, gpu=1_000_000_000, currency="usd", since=NOON)

    assert rates.gpu == 1_000_000_000


def test_a_change_of_rates_is_told_rate_by_rate() -> None:
    assert differences(None, RATES)[0] == "CPU: list prices → $0.0400/h"
    assert differences(RATES, replace(RATES, gpu=0)) == ("GPU: $1.20/h → $0.00/h",)
    assert differences(RATES, replace(RATES, since=NOON + timedelta(days=1))) == ()
