import json

import pytest

from tests.cli.conftest import Terminal
from tests.cli.world import FakeApi, a_cluster, a_node

pytestmark = pytest.mark.enable_socket


def test_clusters_are_listed_with_what_they_run(terminal: Terminal) -> None:
    assert terminal("clusters", "list").stdout.splitlines() == [
        "  ID        NAME  STATE  SLURM    NODES  RUNNING  WAITING",
        "  clus1a2b  dev   ● up   26.05.5      2        2        1",
        "1 cluster · more of one: clusterra clusters show clus1a2b",
    ]


def test_one_cluster_is_shown_with_why_it_cannot_be_seen(terminal: Terminal, api: FakeApi) -> None:
    api.clusters = [
        a_cluster(state="unreachable", why="Connection refused.", stale=True, age_seconds=70)
    ]

    told = terminal("clusters", "show", "dev").stdout

    assert told.splitlines()[:2] == ["dev · clus1a2b · ✗ unreachable", "  Connection refused."]
    assert "Slurm was last seen 1m 10s ago" in told


def test_several_clusters_want_one_to_be_named(terminal: Terminal, api: FakeApi) -> None:
    api.clusters = [a_cluster("clus0001", name="dev"), a_cluster("clus0002", name="prod")]

    refused = terminal("jobs", "list")
    assert refused.exit_code == 2
    assert refused.stderr.startswith(
        "This server has 2 clusters: clus0001 (dev), clus0002 (prod).\n"
    )

    terminal("jobs", "list", "--cluster", "prod")
    assert api.asked[-1].path == "/v1/clusters/clus0002/jobs"

    terminal.environ["CLUSTERRA_CLUSTER"] = "clus0001"
    terminal("jobs", "list")
    assert api.asked[-1].path == "/v1/clusters/clus0001/jobs"

    assert terminal("jobs", "--cluster", "test", "list").exit_code == 4


def test_nodes_show_what_is_used_of_what_there_is(terminal: Terminal, api: FakeApi) -> None:
    api.nodes = [
        a_node("w1", state="MIXED", cpus_used=2, memory_used_mib=4096),
        a_node("w2", state="IDLE", flags=["DRAIN"], reason="disk is full"),
    ]

    assert terminal("nodes", "list").stdout.splitlines() == [
        "  NAME  STATE        CPUS  MEMORY  GPUS  PARTITIONS  FEATURES",
        "  w1    ◐ part busy   2/8  4G/16G     –  main        small",
        "  w2    ◌ drained     0/8  0M/16G     –  main        small     disk is full",
        "2 nodes · 6 CPUs free",
    ]


def test_no_nodes_is_said(terminal: Terminal, api: FakeApi) -> None:
    api.nodes = []

    assert terminal("nodes", "list").stdout == "No nodes: jobs wait until one joins.\n"


def test_partitions_say_which_is_the_default(terminal: Terminal) -> None:
    told = terminal("partitions", "list").stdout

    assert "jobs go here unless told otherwise" in told


@pytest.mark.parametrize("noun", ["clusters", "nodes", "partitions"])
def test_lists_as_json_have_the_noun_as_their_key(terminal: Terminal, noun: str) -> None:
    assert noun in json.loads(terminal(noun, "list", "--json").stdout)
