"""The collector in front of the real door: everything arrives, once, in order, whatever dies."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from clusterra.agent.collect import Collector, Happened
from clusterra.agent.note import spelled
from clusterra.agent.spool import Spool
from clusterra.core.errors import NotFound, Unauthenticated, Unreachable
from tests.agent.hooks import AT_END, a_spool, call
from tests.served import KEY, Served, served
from tests.world import LAB

pytestmark = pytest.mark.enable_socket

SECOND = 10**9


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return a_spool(tmp_path / "spool")


@pytest.fixture
def key(tmp_path: Path) -> Path:
    file = tmp_path / "lab.key"
    file.write_text(f"{KEY}\n")
    return file


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as running:
        yield running


def put(spool: Spool, jobs: range, *, hook: str = "prolog_slurmctld", name: str = "x") -> None:
    for job in jobs:
        file = spool.tmp / f"{job}.0.{hook}..{job}"
        file.write_bytes(spelled({"HOOK": hook, "JOB": job, "NAME": name}))
        os.utime(file, ns=(job * SECOND, job * SECOND))
        file.rename(spool.new / file.name)


def collector(spool: Spool, url: str, key: Path, cluster: str = LAB) -> Collector:
    return Collector(spool=spool, url=url, cluster=cluster, key_file=key, tell=said.append)


said: list[Happened] = []


def until(true: Callable[[], bool], seconds: float = 30) -> None:
    give_up = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < give_up, "nothing came of it"
        time.sleep(0.01)


def test_what_hooks_wrote_is_with_the_server_and_gone_from_the_spool(
    spool: Spool, server: Served, key: Path
) -> None:
    call(spool.path, **AT_END)

    shipping = collector(spool, server.url, key)
    shipping.round()
    shipping.close()

    [heard] = server.heard()
    assert (heard.what, heard.job_id, heard.array_id, heard.array_task) == ("completed", 41, 40, 3)
    assert (spool.notes(), shipping.shipped) == ([], 1)


def test_thousands_are_sent_in_order(spool: Spool, server: Served, key: Path) -> None:
    put(spool, range(1, 1201))

    shipping = collector(spool, server.url, key)
    shipping.round()
    shipping.close()

    assert [heard.job_id for heard in server.heard()] == list(range(1, 1201))
    assert sorted(server.nudged) == list(range(1, 1201))
    firsts = [server.nudged.index(job) // 500 for job in (1, 501, 1001)]
    assert firsts == [0, 1, 2]


def test_what_the_server_will_never_take_is_put_aside_and_holds_up_nobody(
    spool: Spool, server: Served, key: Path
) -> None:
    put(spool, range(1, 4))
    (spool.new / "0.0.jobcomp..1").write_bytes(spelled({"HOOK": "jobcomp", "JOB": "none"}))
    put(spool, range(5, 6), name="y" * 2_000_000)

    shipping = collector(spool, server.url, key)
    shipping.round()
    shipping.close()

    assert [heard.job_id for heard in server.heard()] == [1, 2, 3, 5]
    assert spool.notes() == []
    assert "which-job" in (spool.bad / "0.0.jobcomp..1.why").read_text()
    assert (shipping.shipped, shipping.refused) == (4, 1)


def test_one_alone_that_the_server_will_never_take_is_put_aside_too(
    spool: Spool, server: Served, key: Path
) -> None:
    (spool.new / "0.0.jobcomp..1").write_bytes(spelled({"HOOK": "jobcomp", "JOB": "none"}))

    shipping = collector(spool, server.url, key)
    shipping.round()
    shipping.close()

    assert (spool.notes(), shipping.refused) == ([], 1)


@pytest.mark.parametrize(
    ("cluster", "secret", "error"),
    [
        ("clusnone", KEY, NotFound),
        (LAB, "wrong", Unauthenticated),
        (LAB, "", Unauthenticated),
        (LAB, "né", Unauthenticated),
    ],
)
def test_a_wrong_key_or_cluster_costs_nothing_but_time(
    spool: Spool, server: Served, key: Path, cluster: str, secret: str, error: type[Exception]
) -> None:
    put(spool, range(1, 3))
    key.write_text(secret)
    shipping = collector(spool, server.url, key, cluster)

    with pytest.raises(error):
        shipping.round()

    shipping.close()
    assert len(spool.notes()) == 2
    assert list(spool.bad.iterdir()) == []


def test_a_server_that_has_enough_for_now_is_asked_again_later(
    spool: Spool, server: Served, key: Path
) -> None:
    server.plane.inboxes[LAB].most = 1
    put(spool, range(1, 3))
    shipping = collector(spool, server.url, key)

    with pytest.raises(Unreachable) as busy:
        shipping.round()

    shipping.close()
    assert busy.value.code == "busy"
    assert len(spool.notes()) == 2


def test_a_gap_is_shipped_like_everything_else(spool: Spool, server: Served, key: Path) -> None:
    (spool.path / "full").touch()
    for _ in range(3):
        call(spool.path, **AT_END)

    shipping = collector(spool, server.url, key)
    shipping.round()
    shipping.close()

    [gap] = server.events()
    assert gap.type == "collector.gap"
    assert json.loads(gap.body)["data"]["lost"] == 3


# --- as a process of its own


@contextmanager
def collecting(spool: Spool, url: str, key: Path) -> Iterator[subprocess.Popen[bytes]]:
    ready = spool.path / "ready"
    child = subprocess.Popen(
        [
            *(sys.executable, "-m", "clusterra", "collect", "--spool", str(spool.path)),
            *("--url", url, "--cluster", LAB, "--key-file", str(key), "--ready-file", str(ready)),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until(ready.exists)
        yield child
    finally:
        child.kill()
        child.wait()
        ready.unlink(missing_ok=True)


def test_a_fact_arrives_a_moment_after_the_hook_and_stopping_is_orderly(
    spool: Spool, server: Served, key: Path
) -> None:
    with collecting(spool, server.url, key) as child:
        call(spool.path, **AT_END)
        until(lambda: server.nudged == [41], seconds=3)

        child.send_signal(signal.SIGTERM)
        assert child.wait(10) == 0
        assert not (spool.path / "ready").exists()


def test_what_happens_while_the_server_is_away_arrives_when_it_is_back(
    spool: Spool, key: Path, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with collecting(spool, f"http://127.0.0.1:{port}", key):
        put(spool, range(1, 1001))
        with served(tmp_path, port=port) as first:
            until(lambda: len(first.nudged) > 0)
        put(spool, range(1001, 1201))
        with served(tmp_path, port=port) as second:
            until(lambda: spool.notes() == [])
            assert [heard.job_id for heard in second.heard()] == list(range(1, 1201))


def test_a_collector_killed_again_and_again_loses_nothing_and_sends_nothing_twice(
    spool: Spool, server: Served, key: Path
) -> None:
    chance = random.Random(5)
    for part in range(6):
        put(spool, range(1 + part * 400, 1 + (part + 1) * 400))
        with collecting(spool, server.url, key):
            time.sleep(chance.uniform(0, 0.05))
    with collecting(spool, server.url, key):
        until(lambda: spool.notes() == [])

    assert [heard.job_id for heard in server.heard()] == list(range(1, 2401))
    assert len(server.nudged) == len(set(server.nudged)) == 2400
