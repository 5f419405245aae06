"""A schedule that is data, spread a little, and made later only by whoever is to be told."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterra.core.webhooks.bucket import Bucket
from clusterra.core.webhooks.retry import LONGEST_HINT, SCHEDULE, asked_to_wait, wait_before
from tests.builders import NOON


def test_eleven_attempts_over_some_seventy_six_hours_begin_at_once() -> None:
    waits = [wait_before(attempt, 0.5) for attempt in range(1, 13)]

    assert waits[0] == timedelta(0)
    assert waits[-1] is None
    whole = sum((wait for wait in waits if wait is not None), timedelta(0))
    assert timedelta(hours=75) < whole < timedelta(hours=77)


@given(st.integers(1, len(SCHEDULE)), st.floats(0, 1))
def test_a_wait_is_spread_by_a_fifth_either_way_and_no_more(attempt: int, chance: float) -> None:
    wait, planned = wait_before(attempt, chance), SCHEDULE[attempt - 1]

    assert wait is not None
    assert planned * 0.8 <= wait <= planned * 1.2


@pytest.mark.parametrize(
    ("text", "wait"),
    [
        ("120", timedelta(seconds=120)),
        (" 7 ", timedelta(seconds=7)),
        ("0", None),
        ("-5", None),
        ("soon", None),
        ("", None),
        ("1e3", None),
        ("٣", None),
        ("315360000", LONGEST_HINT),
        ("9" * 5000, LONGEST_HINT),
        ("Mon, 02 Mar 2026 12:02:00 GMT", timedelta(minutes=2)),
        ("Mon, 02 Mar 2026 11:02:00 GMT", None),
        ("Mon, 02 Mar 2036 12:02:00 GMT", LONGEST_HINT),
        ("Mon, 99 Mar 2026 12:02:00 GMT", None),
    ],
)
def test_what_retry_after_says(text: str, wait: timedelta | None) -> None:
    assert asked_to_wait(text, NOON) == wait


def test_a_bucket_gives_a_burst_and_then_one_at_a_time() -> None:
    bucket = Bucket(per_second=2, burst=2)

    assert bucket.take(NOON) is None
    assert bucket.take(NOON) is None
    free_at = bucket.take(NOON)
    assert free_at == NOON + timedelta(seconds=0.5)
    assert bucket.take(free_at) is None
    assert bucket.take(free_at) is not None


def test_a_bucket_is_not_filled_by_a_clock_that_goes_back() -> None:
    bucket = Bucket(per_second=1)
    assert bucket.take(NOON) is None

    assert bucket.take(NOON - timedelta(hours=1)) is not None
    assert bucket.take(datetime(2026, 3, 2, 11, 0, 2, tzinfo=UTC)) is None


def test_no_limit_never_waits() -> None:
    bucket = Bucket(per_second=0)

    assert [bucket.take(NOON) for _ in range(1000)] == [None] * 1000
