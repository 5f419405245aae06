"""Taking the time of many calls, and saying what they were like."""

import time
from collections.abc import Callable, Sequence
from statistics import quantiles


def percentile(values: list[float], percent: int) -> float:
    return quantiles(values, n=100, method="inclusive")[percent - 1]


def seconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def paced(calls: Sequence[Callable[[], object]], *, every: float) -> list[float]:
    """Make the calls one after another, one due every so often; return the seconds each took.

    Time counts from when a call was due, not from when its turn came: a server that
    stands still for a moment keeps everybody waiting who arrives in that moment, and
    a client that patiently waits before it asks again would never notice.
    """
    taken = []
    begin = time.perf_counter()
    for number, call in enumerate(calls):
        due = begin + number * every
        time.sleep(max(0.0, due - time.perf_counter()))
        call()
        taken.append(time.perf_counter() - due)
    return taken
