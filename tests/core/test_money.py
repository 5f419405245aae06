"""Amounts as people read and write them."""

import pytest

from clusterra.core.money import dollars, micros_of, per_hour


@pytest.mark.parametrize(
    ("micros", "text"),
    [
        (0, "$0.00"),
        (1, "$0.000001"),
        (999, "$0.000999"),
        (1_000, "$0.0010"),
        (99_999, "$0.1000"),
        (100_000, "$0.10"),
        (412_080_000, "$412.08"),
        (1_234_567_890_000, "$1,234,567.89"),
        (-2_500_000, "-$2.50"),
    ],
)
def test_small_amounts_have_as_many_digits_as_it_takes_to_tell_them_from_nothing(
    micros: int, text: str
) -> None:
    assert dollars(micros) == text


def test_a_price_that_is_not_known_is_a_dash_and_not_nothing() -> None:
    assert per_hour(None) == "–"
    assert per_hour(0) == "$0.00/h"


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("12.50", 12_500_000),
        (" $0.000001 ", 1),
        ("0.0000001", None),
        ("nan", None),
        ("inf", None),
        ("ten", None),
        ("", None),
    ],
)
def test_dollars_are_read_exactly_or_not_at_all(text: str, micros: int | None) -> None:
    assert micros_of(text) == micros
