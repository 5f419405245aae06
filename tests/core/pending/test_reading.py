"""Host lists, and how long workers took, as the ledger tells it."""

from datetime import datetime, timedelta

from clusterra.core.hosts import expand
from clusterra.core.jobs.pending.starts import start_times
from tests.builders import NOON
from tests.core.pending.facts import row


def test_a_host_list_is_all_its_names() -> None:
    assert expand("w1") == {"w1"}
    assert expand("w[1-3,7]") == {"w1", "w2", "w3", "w7"}
    assert expand("gpu-a[01-02],w9") == {"gpu-a01", "gpu-a02", "w9"}
    assert expand("") == frozenset()


def test_an_absurd_host_list_is_cut_short() -> None:
    assert len(expand("w[1-999999999]")) == 10_000


def test_who_asked_first_is_served_first() -> None:
    def after(seconds: int) -> datetime:
        return NOON + timedelta(seconds=seconds)

    rows = [
        row("fleet.resized", shape="general-large", before=0, after=2, at=after(0)),
        row("node.registered", node="general-large-1", at=after(3)),
        row("node.registered", node="general-large-2", at=after(5)),
        row("node.registered", node="general-large-3", at=after(6)),
        row("node.registered", node="w9", at=after(7)),
    ]

    assert start_times(rows, {"general-large", "general"}) == {"general-large": (3.0, 5.0)}


def test_what_is_no_longer_wanted_is_not_waited_for() -> None:
    rows = [
        row("fleet.resized", shape="s", before=0, after=2),
        row("fleet.resized", shape="s", before=2, after=1),
        row("node.registered", node="s-1", at=NOON + timedelta(seconds=3)),
        row("node.registered", node="s-2", at=NOON + timedelta(seconds=4)),
    ]

    assert start_times(rows, {"s"}) == {"s": (3.0,)}
