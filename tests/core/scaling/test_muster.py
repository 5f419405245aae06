"""Who is counted as a worker, and who as gone."""

from dataclasses import replace
from datetime import timedelta

from clusterra.core.clusters import Node
from clusterra.core.scaling.edge import EdgeReport, EdgeWorker
from clusterra.core.scaling.fleet import Fleet, Phase, Worker
from clusterra.core.scaling.muster import Muster, muster
from clusterra.core.scaling.shapes import table
from tests.builders import NOON

SHAPES = table()
SMALL = SHAPES["general-small"]
LATER = NOON + timedelta(minutes=1)


def a_node(name: str = "general-small-1", **facts: object) -> Node:
    node = Node(
        name=name,
        state="IDLE",
        flags=("DYNAMIC_NORM",),
        cpus=SMALL.cpus,
        memory_mib=SMALL.memory_mib,
        last_busy=NOON,
    )
    return replace(node, **facts)  # type: ignore[arg-type]  # a test's own words


def a_report(*names: str, **facts: object) -> EdgeReport:
    report = EdgeReport(
        at=LATER,
        agent="a",
        version="ours",
        nodes=frozenset(names),
        workers=tuple(
            EdgeWorker(name=name, shape=name.rpartition("-")[0], since=NOON) for name in names
        ),
    )
    return replace(report, **facts)  # type: ignore[arg-type]  # a test's own words


def mustered(
    report: EdgeReport,
    *nodes: Node,
    fleet: Fleet | None = None,
    missed: frozenset[str] = frozenset(),
) -> Muster:
    return muster(report, nodes, fleet or Fleet(), SHAPES, missed=missed, now=LATER)


def only(found: Muster) -> Worker:
    (worker,) = found.workers
    return worker


def test_a_worker_that_slurm_does_not_know_yet_warms_and_has_all_its_room() -> None:
    worker = only(mustered(a_report("general-small-1")))

    assert worker.phase is Phase.WARMING
    assert worker.since == NOON
    assert (worker.cpus, worker.memory_mib) == (SMALL.cpus, SMALL.memory_mib)


def test_a_worker_that_works_has_the_room_that_is_left_and_is_busy() -> None:
    node = a_node(state="MIXED", cpus_used=3, memory_used_mib=1000)

    worker = only(mustered(a_report("general-small-1"), node))

    assert worker.phase is Phase.READY
    assert worker.busy
    assert worker.cpus == SMALL.cpus - 3
    assert worker.memory_mib == SMALL.memory_mib - 1000


def test_an_idle_worker_has_been_idle_since_its_last_job_ended() -> None:
    ended = NOON + timedelta(seconds=20)

    worker = only(mustered(a_report("general-small-1"), a_node(last_busy=ended)))

    assert not worker.busy
    assert worker.since == ended


def test_one_that_we_drained_leaves_and_one_that_an_admin_drained_is_not_ours_to_touch() -> None:
    flags = ("DRAIN", "DYNAMIC_NORM")
    ours = a_node(flags=flags, reason="clusterra: nothing to do")
    theirs = a_node(flags=flags, reason="new disk")

    report = a_report("general-small-1")
    assert only(mustered(report, ours)).phase is Phase.LEAVING
    closed = only(mustered(report, theirs))
    assert closed.phase is Phase.CLOSED
    assert closed.cpus == 0


def test_one_that_is_down_has_no_room() -> None:
    worker = only(mustered(a_report("general-small-1"), a_node(state="DOWN")))

    assert worker.phase is Phase.CLOSED
    assert worker.cpus == 0


def test_one_that_was_let_in_again_a_moment_ago_still_counts() -> None:
    node = a_node(flags=("NOT_RESPONDING", "DYNAMIC_NORM"))

    assert only(mustered(a_report("general-small-1"), node)).phase is Phase.READY


def test_what_was_asked_for_and_nobody_has_seen_is_awaited() -> None:
    fleet = Fleet(desired={"general-small": 2}, asked={"general-small": (NOON,)}, decided_at=NOON)

    found = mustered(a_report("general-small-1"), a_node(), fleet=fleet)

    assert [worker.phase for worker in found.workers] == [Phase.WARMING, Phase.READY]
    assert [worker.name for worker in found.workers] == ["", "general-small-1"]


def test_one_that_was_told_to_go_is_counted_out_until_another_has_its_name() -> None:
    decided = NOON + timedelta(seconds=30)
    fleet = Fleet(retire=("general-small-1",), decided_at=decided)
    report = a_report("general-small-1")

    assert mustered(report, a_node(), fleet=fleet).workers == ()

    (worker,) = report.workers or ()
    anew = replace(report, workers=(replace(worker, since=decided + timedelta(seconds=1)),))
    assert only(mustered(anew, a_node(), fleet=fleet)).phase is Phase.READY


def test_a_node_whose_machine_went_as_told_departs_at_once() -> None:
    fleet = Fleet(retire=("general-small-1",), decided_at=NOON)

    found = mustered(a_report(), a_node(), fleet=fleet)

    assert found.departed == ("general-small-1",)
    assert found.vanished == ()


def test_a_node_that_the_edge_does_not_name_vanishes_only_if_it_should_have_known_it() -> None:
    assert mustered(a_report(), a_node()).vanished == ()

    known = frozenset({"general-small-1"})
    assert mustered(a_report(), a_node(), missed=known).vanished == ("general-small-1",)


def test_nothing_is_gone_where_the_edge_could_not_list_and_nothing_of_slurm_conf_ever_is() -> None:
    known = frozenset({"general-small-1"})
    unlisted = a_report(nodes=None)
    assert mustered(unlisted, a_node(), missed=known).vanished == ()

    configured = a_node(flags=())
    assert mustered(a_report(), configured, missed=known).vanished == ()


def test_an_edge_that_tells_only_of_machines_has_its_workers_known_by_their_size() -> None:
    report = a_report("ip-10-0-1-9", workers=None)
    fleet = Fleet(desired={"general-small": 1}, decided_at=NOON)

    machine = a_node("ip-10-0-1-9", cpus=SMALL.cpus + 1, memory_mib=SMALL.memory_mib + 500)
    found = mustered(report, machine, fleet=fleet)

    assert [(worker.name, worker.shape) for worker in found.workers] == [
        ("ip-10-0-1-9", "general-small")
    ]


def test_a_machine_with_gpus_is_never_taken_for_one_without() -> None:
    report = a_report("ip-10-0-1-9", workers=None)
    gpu = SHAPES["gpu-a10g-x1"]
    machine = a_node("ip-10-0-1-9", cpus=gpu.cpus, memory_mib=gpu.memory_mib, gpus=1)

    assert SHAPES[only(mustered(report, machine)).shape].gpus == 1
