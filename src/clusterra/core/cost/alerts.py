"""What about money is worth telling although nobody set a limit: unusual days, jobs past their estimate.

Usual is the middle of the days before on which anything was spent. It takes five of them to
know what is usual, and a dollar before it matters.
"""

from collections.abc import Iterable

from clusterra.core.cost.open import Open
from clusterra.core.money import MICROS

DAYS_BEFORE = 14
LEAST_DAYS = 5
TIMES = 3
LEAST = 1 * MICROS


def usual(days: Iterable[int]) -> int | None:
    """Return what is usually spent in a day; None while too little is known."""
    spent = sorted(each for each in days if each > 0)
    if len(spent) < LEAST_DAYS:
        return None
    half = len(spent) // 2
    return spent[half] if len(spent) % 2 else (spent[half - 1] + spent[half]) // 2


def is_unusual(today: int, usually: int | None) -> bool:
    return usually is not None and today >= LEAST and today >= TIMES * usually


def over_estimate(each: Open) -> int | None:
    """Return what the present run has cost, if that is more than was estimated when it began.

    Of a job that was queued again, what earlier runs cost is left out; and with it the part of
    this run before its nodes changed, if they did, which cannot be told from that any more.
    """
    cost = each.bill.micros if each.job.restarts else each.micros
    estimated = each.job.estimated_micros
    return cost if cost is not None and estimated is not None and cost > estimated else None
