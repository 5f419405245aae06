"""Times are taken so that a server that stands still cannot hide it."""

from functools import partial

import pytest

from bench import timing
from bench.timing import paced, percentile


class Watch:
    """Time that passes only when somebody sleeps or works."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_a_call_that_had_to_wait_for_a_slow_one_counts_from_when_it_was_due(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watch = Watch()
    monkeypatch.setattr(timing, "time", watch)
    calls = [partial(watch.sleep, work) for work in (1, 35, 1, 1)]

    taken = paced(calls, every=10)

    assert taken == [1, 35, 26, 17]


def test_a_percentile_lies_among_the_values() -> None:
    assert percentile([float(n) for n in range(101)], 95) == 95
    assert percentile([3.0, 3.0, 3.0], 50) == 3.0
