"""Ports: chosen once, kept, and moved with a word about it."""

import os
import socket
from collections.abc import Iterator

import pytest

from clusterra.adapters.tcp import is_free
from clusterra.core.errors import Refused
from clusterra.local.tcp import PLANE, holder, settle

pytestmark = pytest.mark.enable_socket


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield int(listening.getsockname()[1])


def test_a_remembered_port_is_kept() -> None:
    first = settle(["slurmctld"], {}, asked=0)

    again = settle(["slurmctld"], first.numbers, asked=0)

    assert again.numbers == first.numbers
    assert again.moved == ()


def test_a_remembered_port_that_is_taken_moves_and_says_so(taken: int) -> None:
    ports = settle(["slurmctld"], {"slurmctld": taken}, asked=0)

    assert ports["slurmctld"] != taken
    assert f"port {taken} of the slurmctld is taken" in ports.moved[0]
    assert str(ports["slurmctld"]) in ports.moved[0]


def test_a_port_that_was_asked_for_is_never_replaced(taken: int) -> None:
    with pytest.raises(Refused, match=f"Port {taken} is taken by .*pid {os.getpid()}"):
        settle([PLANE], {}, asked=taken)


def test_names_never_share_a_port() -> None:
    ports = settle(["a", "b", "c"], {"a": 20_001, "b": 20_001}, asked=0)

    assert len(set(ports.numbers.values())) == 3


def test_asking_for_any_port_gives_a_free_one() -> None:
    ports = settle([PLANE], {}, asked=0)

    assert is_free(ports[PLANE])


def test_the_holder_of_a_free_port_is_nobody() -> None:
    port = settle(["a"], {}, asked=0)["a"]

    assert holder(port) == ""
