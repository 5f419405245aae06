"""Whenever it is killed, the ledger has what it acknowledged, once, in order, and can prove it.

`make faults` kills more often; CLUSTERRA_KILLS says how often.
"""

import asyncio
import os
import random
from collections import Counter
from itertools import cycle
from pathlib import Path

from tests.faults.dying import FIRST, POINTS
from tests.faults.intact import ids_of
from tests.faults.mother import KILLED, mother
from tests.ledger import LAB

KILLS = int(os.environ.get("CLUSTERRA_KILLS", "45"))
GENERATION = 3 * len(POINTS)
"""Lives of one ledger before the next begins with an empty directory."""


def check(state: Path) -> None:
    """Hold the ledger to its promises."""
    ids = asyncio.run(ids_of(state, LAB))
    told = state / "acknowledged"
    acknowledged = told.read_text().splitlines() if told.exists() else []
    assert not [line for line in acknowledged if line.startswith("held")]
    assert set(acknowledged) <= set(ids)


def test_nothing_acknowledged_is_lost_or_doubled_however_often_it_is_killed(
    tmp_path: Path,
) -> None:
    chance = random.Random(1)
    killed: Counter[str] = Counter()
    with mother("tests.faults.dying") as dying:
        for number, point in enumerate(cycle(POINTS)):
            state = tmp_path / (str(number) if point in FIRST else f"life {number // GENERATION}")
            state.mkdir(exist_ok=True)
            often = 1 if point in FIRST else 6
            ended = dying.live(state=str(state), point=point, nth=chance.randint(1, often))
            assert ended in {0, KILLED}
            killed[point] += ended == KILLED
            check(state)
            if killed.total() >= KILLS and len(+killed) == len(POINTS):
                break
            assert number < 3 * KILLS + 3 * len(POINTS), set(POINTS) - set(+killed)
