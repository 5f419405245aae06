from datetime import timedelta

from clusterra.core.budget import Budget
from tests.builders import NOON


def test_no_minute_ever_holds_more_calls_than_allowed() -> None:
    budget = Budget(3)

    assert [budget.take(NOON) for _ in range(4)] == [True, True, True, False]
    assert not budget.take(NOON + timedelta(seconds=59.9))
    assert budget.take(NOON + timedelta(seconds=60))
