"""A clock that stands at noon, and a provider that says what a test wants."""

import pytest

from clusterra.adapters.memory import ManualClock
from tests.adapters.oidc.stage import NOON
from tests.provider.evil import Evil


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOON)


@pytest.fixture
def evil(clock: ManualClock) -> Evil:
    return Evil(clock)
