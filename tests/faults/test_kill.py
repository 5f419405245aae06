"""Whenever it is killed, the ledger has what it acknowledged, once, in order, and can prove it.

`make faults` kills more often; CLUSTERRA_KILLS says how often.
"""

import asyncio
import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import pytest

from clusterra.adapters.archive_local import LocalArchive
from clusterra.adapters.clock import SystemClock
from clusterra.adapters.ledger_key import open_key
from clusterra.adapters.sqlite.store import SqliteStore
from clusterra.control.checkpoint import Checkpointer
from clusterra.control.export import export
from clusterra.core.events.reading import Verdict
from clusterra.core.events.verify import Memory, verify
from tests.faults.dying import FIRST, POINTS
from tests.ledger import LAB

KILLS = int(os.environ.get("CLUSTERRA_KILLS", "45"))
GENERATION = 3 * len(POINTS)
"""Lives of one ledger before the next begins with an empty directory."""

KILLED = -9


@pytest.fixture
def mother() -> Iterator["subprocess.Popen[str]"]:
    """A process that has imported everything, and whose children die."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.dying"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": ":".join(sys.path)},
    )
    yield process
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    process.wait(timeout=30)
    process.stdout.close()


def live(mother: "subprocess.Popen[str]", state: Path, point: str, nth: int) -> int:
    assert mother.stdin is not None
    assert mother.stdout is not None
    asked = {"state": str(state), "point": point, "nth": nth}
    mother.stdin.write(json.dumps(asked) + "\n")
    mother.stdin.flush()
    return int(mother.stdout.readline())


async def lines_of(state: Path) -> list[list[bytes]]:
    """Open what a death left behind as the next start would, and return all of the ledger."""
    clock, archive = SystemClock(), LocalArchive(state / "ledger")
    store = SqliteStore(state / "clusterra.db", clock=clock)
    try:
        signer = open_key(state / "ledger.key")
        ledger = Checkpointer(cluster=LAB, store=store, archive=archive, signer=signer, clock=clock)
        await ledger.open()
        assert ledger.why_held == ""
        await ledger.sign()
        cut = (await store.cut(LAB)).size
        parts = [
            b"".join([part async for part in archive.segment(LAB, first)])
            for first in await archive.segments(LAB)
            if first <= cut  # one that begins later was not finished, and will be replaced
        ]
        rest = await export(LAB, signed=ledger.signed, key=ledger.key, store=store, archive=archive)
        parts.append(b"".join([part async for part in rest]))
        return [part.removesuffix(b"\n").split(b"\n") for part in parts]
    finally:
        store.close()


def check(state: Path) -> None:
    """Hold the ledger to its promises."""
    parts = asyncio.run(lines_of(state))
    ids: list[str] = []
    chain = bytes(32).hex().encode()
    key = None
    for lines in parts:
        report = verify(lines, memory=Memory(key=key))
        assert report.verdict is Verdict.INTACT, report.findings
        assert report.first == len(ids) + 1
        assert json.loads(lines[0])["chain"].encode() == chain
        events = [line for line in lines if not line.startswith(b"{")]
        ids += [json.loads(line[65:])["id"] for line in events]
        chain = events[-1][:64] if events else chain
    assert len(set(ids)) == len(ids)
    told = state / "acknowledged"
    acknowledged = told.read_text().splitlines() if told.exists() else []
    assert not [line for line in acknowledged if line.startswith("held")]
    assert set(acknowledged) <= set(ids)


def test_nothing_acknowledged_is_lost_or_doubled_however_often_it_is_killed(
    mother: "subprocess.Popen[str]", tmp_path: Path
) -> None:
    chance = random.Random(1)
    killed: Counter[str] = Counter()
    for number, point in enumerate(cycle(POINTS)):
        state = tmp_path / (str(number) if point in FIRST else f"life {number // GENERATION}")
        state.mkdir(exist_ok=True)
        often = 1 if point in FIRST else 6
        ended = live(mother, state, point, chance.randint(1, often))
        assert ended in {0, KILLED}
        killed[point] += ended == KILLED
        check(state)
        if killed.total() >= KILLS and len(+killed) == len(POINTS):
            break
        assert number < 3 * KILLS + 3 * len(POINTS), set(POINTS) - set(+killed)
