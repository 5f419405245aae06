import base64
import json
from pathlib import Path

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


ADDED = {
    "cluster": "clus9f3a",
    "agent_key": "clk_agent",
    "collector_key": "clk_collector",
    "name": "edge",
    "workspace": "lab",
    "warning": "",
}


def test_a_cluster_is_added_and_its_keys_are_shown(
    terminal: Terminal, api: FakeApi, tmp_path: Path
) -> None:
    key = tmp_path / "jwt_hs256.key"
    key.write_bytes(bytes(range(32)))
    api.routes["POST /v1/clusters"] = lambda _: ADDED | {"warning": "Slurm did not answer."}

    told = terminal("clusters", "add", "edge", "--slurm", "http://head:6820", "--jwt-key", str(key))

    assert api.asked[-1].body == {
        "name": "edge",
        "workspace": "lab",
        "slurm": "http://head:6820",
        "jwt_key": base64.b64encode(bytes(range(32))).decode(),
        "region": "",
    }
    assert told.stdout.splitlines()[:3] == [
        "edge is registered as clus9f3a, in lab.",
        "  agent key      clk_agent",
        "  collector key  clk_collector",
    ]
    assert told.stderr == "! Slurm did not answer.\n"
    assert told.exit_code == 0


def test_an_added_cluster_as_json_is_what_an_agent_needs(terminal: Terminal, api: FakeApi) -> None:
    api.routes["POST /v1/clusters"] = lambda _: ADDED

    told = json.loads(terminal("clusters", "add", "edge", "--json").stdout)

    assert (told["cluster"], told["agent_key"], told["collector_key"]) == (
        "clus9f3a",
        "clk_agent",
        "clk_collector",
    )


def test_a_key_that_cannot_be_read_adds_nothing(terminal: Terminal, api: FakeApi) -> None:
    refused = terminal("clusters", "add", "edge", "--slurm", "http://h:1", "--jwt-key", "/none")

    assert refused.exit_code == 2
    assert refused.stderr.startswith("Slurm's key /none cannot be read")
    assert [each for each in api.asked if each.method == "POST"] == []


def test_a_cluster_is_removed_only_by_who_means_it(terminal: Terminal, api: FakeApi) -> None:
    gone = {"cluster": "clus1a2b", "name": "dev", "workspace": "lab"}
    api.routes["DELETE /v1/clusters/clus1a2b"] = lambda _: gone

    refused = terminal("clusters", "remove", "dev")
    assert refused.exit_code != 0
    assert "add --yes" in refused.stderr
    assert [each for each in api.asked if each.method == "DELETE"] == []

    told = terminal("clusters", "remove", "dev", "--yes").stdout
    assert told.startswith("dev (clus1a2b) is no longer looked after. Its ledger is kept.\n")


def test_a_rotated_key_is_alone_on_stdout_and_the_old_one_named(
    terminal: Terminal, api: FakeApi
) -> None:
    made = {
        "key": "clk_new",
        "id": "key_2",
        "cluster": "clus1a2b",
        "use": "agent",
        "old": ["key_1"],
    }
    api.routes["POST rotate-key"] = lambda _: made

    told = terminal("clusters", "rotate-key", "dev")

    assert api.asked[-1].body == {"use": "agent"}
    assert told.stdout == "clk_new\n"
    assert "clusterra keys revoke key_1 --cluster clus1a2b" in told.stderr
    terminal("clusters", "rotate-key", "dev", "--for", "collector")
    assert api.asked[-1].body == {"use": "collector"}
