"""Ports: chosen once, kept, and moved with a word about it."""

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from clusterra.adapters.tcp import is_free
from clusterra.core.errors import Refused
from clusterra.local.tcp import APART, DAEMON_PORTS, PLANE, SLURMD, WORKER_PORTS, holder, settle

pytestmark = pytest.mark.enable_socket


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield int(listening.getsockname()[1])


@pytest.fixture
def claims() -> Iterator[ExitStack]:
    with ExitStack() as held:
        yield held


def test_a_remembered_port_is_kept(claims: ExitStack) -> None:
    first = settle(["slurmctld"], {}, asked=0, claims=claims)
    claims.close()

    again = settle(["slurmctld"], first.numbers, asked=0, claims=claims)

    assert again.numbers == first.numbers
    assert again.moved == ()


def test_a_remembered_port_that_is_taken_moves_and_says_so(taken: int, claims: ExitStack) -> None:
    ports = settle(["slurmctld"], {"slurmctld": taken}, asked=0, claims=claims)

    assert ports["slurmctld"] != taken
    assert f"port {taken} of the slurmctld is taken" in ports.moved[0]
    assert str(ports["slurmctld"]) in ports.moved[0]


def test_a_port_that_was_asked_for_is_never_replaced(taken: int, claims: ExitStack) -> None:
    with pytest.raises(Refused, match=f"Port {taken} is taken by .*pid {os.getpid()}"):
        settle([PLANE], {}, asked=taken, claims=claims)


def test_names_never_share_a_port(claims: ExitStack) -> None:
    ports = settle(["a", "b", "c"], {"a": 20_001, "b": 20_001}, asked=0, claims=claims)

    assert len(set(ports.numbers.values())) == 3


def test_asking_for_any_port_gives_a_free_one(claims: ExitStack) -> None:
    ports = settle([PLANE], {}, asked=0, claims=claims)

    assert is_free(ports[PLANE])


def test_the_holder_of_a_free_port_is_nobody(claims: ExitStack) -> None:
    port = settle(["a"], {}, asked=0, claims=claims)["a"]

    assert holder(port) == ""


def test_a_port_is_kept_from_other_clusters_before_anybody_listens_there(claims: ExitStack) -> None:
    first = settle(["slurmctld"], {}, asked=0, claims=claims)

    other = settle(["slurmctld"], first.numbers, asked=0, claims=claims)

    assert is_free(first["slurmctld"])
    assert other["slurmctld"] != first["slurmctld"]
    assert "is taken; using" in other.moved[0]


def test_a_port_another_cluster_is_about_to_use_is_refused_to_who_asks_for_it(
    claims: ExitStack,
) -> None:
    first = settle([PLANE], {}, asked=0, claims=claims)

    with pytest.raises(Refused, match=f"Port {first[PLANE]} is taken"):
        settle([PLANE], {}, asked=first[PLANE], claims=claims)


def test_workers_never_begin_where_daemons_are(claims: ExitStack) -> None:
    ports = settle(["slurmctld", SLURMD], {}, asked=0, claims=claims)

    assert ports["slurmctld"] in DAEMON_PORTS
    assert ports[SLURMD] in WORKER_PORTS
    assert max(DAEMON_PORTS) < min(WORKER_PORTS)


def test_workers_are_elsewhere_at_each_start(claims: ExitStack) -> None:
    first = settle([SLURMD], {}, asked=0, claims=claims)
    claims.close()

    again = settle([SLURMD], first.numbers, asked=0, claims=claims)

    assert abs(again[SLURMD] - first[SLURMD]) > APART
    assert again.moved == ()
