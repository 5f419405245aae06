"""Prices in the terminal: what machines cost, who says so, and an admin's own rates."""

from datetime import timedelta
from typing import Any

import pytest

from clusterra.wire.prices import NodePrice, PricesView, PriceView, RatesView, ShapePrice
from tests.cli.conftest import Terminal
from tests.cli.world import NOON, FakeApi, problem

pytestmark = pytest.mark.enable_socket


def a_price(**known: Any) -> PriceView:
    fields: dict[str, Any] = {
        "usd_per_hour_micros": 403_200,
        "basis": "m7i.2xlarge on-demand in us-east-1a",
        "source": "edge",
        "at": NOON - timedelta(minutes=3),
        "stale": False,
        "estimate": False,
        "why_unknown": "",
    }
    return PriceView(**(fields | known))


UNKNOWN = a_price(
    usd_per_hour_micros=None, basis="", source="", at=None, why_unknown="Nobody knows w2."
)


def a_node(name: str = "w1", **known: Any) -> NodePrice:
    return NodePrice(
        node=name,
        phase="ready",
        cpus=8,
        memory_mib=32 * 1024,
        gpus=0,
        since=NOON,
        price=a_price(**known) if known.get("usd_per_hour_micros", 1) else UNKNOWN,
    )


def a_shape() -> ShapePrice:
    return ShapePrice(
        shape="general-small",
        arch="amd64",
        cpus=7,
        memory_mib=31_440,
        gpus=0,
        gpu_model="",
        types=["m7i.2xlarge"],
        price=a_price(source="table", estimate=True),
    )


def prices(**known: Any) -> PricesView:
    fields: dict[str, Any] = {
        "cluster": "clus1a2b",
        "currency": "USD",
        "purchase": "on-demand",
        "rates": None,
        "heard_at": NOON,
        "nodes": [a_node()],
        "shapes": [a_shape()],
        "at": NOON,
    }
    return PricesView(**(fields | known))


def test_each_machine_has_its_price_its_source_and_how_long_it_is_known(
    terminal: Terminal, api: FakeApi
) -> None:
    api.routes["GET prices"] = lambda _: prices()

    lines = terminal("prices", "show").stdout.splitlines()

    assert lines[0] == "1 machine · $0.40/h"
    assert lines[2].split() == [
        *("w1", "8c", "32G", "$0.40/h", "the", "agent", "3m", "00s"),
        *("m7i.2xlarge", "on-demand", "in", "us-east-1a"),
    ]
    assert lines[3] == "  1 shape more:  clusterra prices show --shapes"


def test_shapes_are_shown_when_asked_for_and_said_to_be_estimates(
    terminal: Terminal, api: FakeApi
) -> None:
    api.routes["GET prices"] = lambda _: prices()

    shown = terminal("prices", "show", "--shapes").stdout

    assert "general-small" in shown
    assert "shipped table, estimate" in shown


def test_a_price_that_nobody_knows_says_so_and_what_to_do(terminal: Terminal, api: FakeApi) -> None:
    api.routes["GET prices"] = lambda _: prices(
        nodes=[a_node(), a_node("w2", usd_per_hour_micros=None)]
    )

    lines = terminal("prices", "show").stdout.splitlines()

    assert lines[0] == "2 machines · $0.40/h · of 1 machine it is not known"
    assert "nobody" in lines[3]
    assert lines[-1] == "  Say what they cost:  clusterra prices set --cpu 0.04 --gib 0.005"


def test_an_agent_that_has_fallen_silent_is_said(terminal: Terminal, api: FakeApi) -> None:
    api.routes["GET prices"] = lambda _: prices(
        nodes=[a_node(stale=True)], heard_at=NOON - timedelta(minutes=4)
    )

    shown = terminal("prices", "show").stdout

    assert "has been silent for 4m 00s; these are its last." in shown
    assert "the agent, silent" in shown


def test_rates_travel_as_millionths_and_the_answer_says_what_counts(
    terminal: Terminal, api: FakeApi
) -> None:
    rates = RatesView(
        cpu_usd_per_hour_micros=40_000,
        gib_usd_per_hour_micros=5_000,
        gpu_usd_per_hour_micros=0,
        since=NOON,
    )
    api.routes["PUT prices/rates"] = lambda _: prices(rates=rates)

    result = terminal("prices", "set", "--cpu", "0.04", "--gib", "$0.005")

    assert api.asked[-1].body == {
        "cpu_usd_per_hour_micros": 40_000,
        "gib_usd_per_hour_micros": 5_000,
        "gpu_usd_per_hour_micros": 0,
        "currency": "USD",
    }
    assert result.stdout.splitlines()[0] == (
        "Own rates: a CPU $0.0400/h, a GiB $0.0050/h. What ran before keeps the price it had."
    )


def test_what_is_no_amount_is_refused_before_anybody_is_asked(
    terminal: Terminal, api: FakeApi
) -> None:
    result = terminal("prices", "set", "--cpu", "four cents")

    assert result.exit_code == 2
    assert "write 0.04" in result.stderr
    assert not api.asked


def test_a_refusal_is_in_the_words_of_the_server(terminal: Terminal, api: FakeApi) -> None:
    api.routes["PUT prices/rates"] = lambda _: problem(
        422, "unknown-currency", "Costs are counted in USD here.", "Convert them.", kind="invalid"
    )

    result = terminal("prices", "set", "--cpu", "1", "--currency", "EUR")

    assert result.exit_code == 2
    assert result.stderr.splitlines() == ["Costs are counted in USD here.", "Convert them."]


def test_clearing_says_that_list_prices_count_again(terminal: Terminal, api: FakeApi) -> None:
    api.routes["DELETE prices/rates"] = lambda _: prices()

    assert terminal("prices", "clear").stdout.startswith("List prices count again.")


def test_json_is_what_the_api_said(terminal: Terminal, api: FakeApi) -> None:
    api.routes["GET prices"] = lambda _: prices()

    assert '"usd_per_hour_micros":403200' in terminal("prices", "show", "--json").stdout


def test_no_machine_is_an_answer(terminal: Terminal, api: FakeApi) -> None:
    api.routes["GET prices"] = lambda _: prices(nodes=[], shapes=[])

    assert terminal("prices", "show").stdout == (
        "No machine is there now; workers are bought on-demand.\n"
    )
