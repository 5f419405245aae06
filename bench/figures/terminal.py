"""What a person at a terminal waits for beside the answer itself."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from bench.figure import Goal, Row
from bench.processes import clean_environment
from bench.stage import Stage
from bench.timing import seconds

TIMES = 12


def cli_list(stage: Stage) -> Iterator[Row]:
    plane = stage.small.plane
    # The command that `make setup` leaves beside this Python.
    command = [str(Path(sys.executable).with_name("clusterra")), "jobs", "list"]
    command += ["--state", str(plane.state)]
    bare = [sys.executable, "-c", "pass"]
    _run(command)  # once for nothing: it may have to compile what it imports
    wall, request, python = [], [], []
    for _ in range(TIMES):
        wall.append(seconds(lambda: _run(command)))
        request.append(seconds(lambda: _ask(stage)))
        python.append(seconds(lambda: _run(bare)))
    yield Row(
        name="cli-list",
        what="`clusterra jobs list` without the request it makes",
        ours=(median(wall) - median(request)) * 1e3,
        unit="ms",
        beside=median(python) * 1e3,
        beside_what="`python -c pass`",
        goal=Goal(bound=150),
    )


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, capture_output=True, env=clean_environment())


def _ask(stage: Stage) -> None:
    plane = stage.small.plane
    with plane.client() as client:
        client.get(f"{plane.jobs}?limit=50")
