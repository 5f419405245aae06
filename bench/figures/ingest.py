"""Taking in what hooks say: the hook itself, and the server that keeps it.

Keeping is measured beside doing nothing and beside a sync to disk for each fact; all three
are asked of one server, in short turns, so that whatever else the machine does is shared.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median

from bench.figure import Goal, Row
from bench.ingest_server import CLUSTER, KEY
from bench.processes import REPOSITORY, clean_environment, scratch
from bench.stage import Stage
from bench.timing import percentile, seconds
from clusterra.agent.spool import Spool

ROUNDS = 5
TURN = 1.0
PATHS = ("/noop", "/v1/internal/events", "/alone")
JOBS_A_TURN = 1_000_000

HOOKS = 400
HOOK_VARIABLES = {
    "SLURM_SCRIPT_CONTEXT": "prolog_slurmctld",
    "SLURM_JOB_ID": "41",
    "SLURM_JOB_NAME": "align",
    "SLURM_JOB_USER": "ana",
    "SLURM_JOB_NODELIST": "w[1-2]",
}


def ingest(_: Stage) -> Iterator[Row]:
    with serving() as url:
        firsts = count(1, JOBS_A_TURN)
        rounds = [[rate(url + path, next(firsts)) for path in PATHS] for _ in range(ROUNDS)]
    noop, ours, alone = (median(each) for each in zip(*rounds, strict=True))
    yield Row(
        name="ingest-noop",
        what="facts a second over 32 connections, each on disk before its answer",
        ours=ours,
        unit="/s",
        beside=noop,
        beside_what="a Starlette endpoint behind the same door that decodes and keeps nothing",
        goal=Goal(bound=0.5, least=True, of_ratio=True),
    )
    yield Row(
        name="ingest-group",
        what="facts a second over 32 connections, each on disk before its answer",
        ours=ours,
        unit="/s",
        beside=alone,
        beside_what="the same with a commit for each",
        goal=Goal(bound=3, least=True, of_ratio=True),
    )


@contextmanager
def serving() -> Iterator[str]:
    server = subprocess.Popen(
        [sys.executable, "-m", "bench.ingest_server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
        env=clean_environment(),
    )
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        port = server.stdout.readline().strip()
        if not port:
            raise RuntimeError("The server did not start; what it said is above.")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.stdin.close()
        server.wait()
        server.stdout.close()


def rate(url: str, first: int) -> float:
    """Return how many requests a second are answered, each about a job of its own."""
    headers = [f"x-cluster-id: {CLUSTER}", f"authorization: Bearer {KEY}"]
    done = subprocess.run(
        [
            *(sys.executable, "-m", "bench.burst", url, "--first", str(first)),
            *("--seconds", str(TURN), *(f"--header={each}" for each in headers)),
        ],
        stdout=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
        check=True,
        timeout=30,
    )
    return float(done.stdout)


def hook(_: Stage) -> Iterator[Row]:
    with scratch() as place:
        spool = Spool(place / "spool")
        spool.open()
        script = spool.install()
        taken, beside = [], []
        for _number in range(HOOKS):
            taken.append(seconds(partial(_run, script, [str(script)], HOOK_VARIABLES)) * 1e3)
            beside.append(seconds(partial(_run, Path("/bin/sh"), ["sh", "-c", ":"], {})) * 1e3)
    yield Row(
        name="hook",
        what="p99 of the hook, from its call to its end",
        ours=percentile(taken, 99),
        unit="ms",
        beside=percentile(beside, 99),
        beside_what="p99 of a shell that does nothing",
        goal=Goal(bound=10),
    )


def _run(program: Path, arguments: list[str], variables: dict[str, str]) -> None:
    # Not `subprocess`, whose own work would be measured too.
    pid = os.posix_spawn(program, arguments, variables)
    _, status = os.waitpid(pid, 0)
    if status:
        raise RuntimeError(f"{program} ended with {status}.")
