"""Another agent in the place of ours: it speaks as the public one does, in plain HTTP."""

import json
import urllib.error
import urllib.request
from typing import Any

from tests.cluster import Land, Running, eventually


def beat(running: Running, key: str, **said: Any) -> tuple[int, dict[str, Any]]:
    """Send one heartbeat, with nothing of ours in it."""
    body = {
        "cluster_id": running.cluster,
        "agent_version": "5.0.0",
        "capacity_pods": {},
        "last_applied_version": 0,
        "agent_ip": "10.0.0.5",
        "k8s_nodes": [],
        "nodeclaims": [],
        **said,
    }
    request = urllib.request.Request(
        f"{running.url}/v1/internal/agent/heartbeat",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json", "X-Agent-Key": key},
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code, json.load(refusal)


def test_an_agent_of_somebody_else_is_told_what_the_queue_needs(land: Land) -> None:
    made = land.up(land.home / "elsewhere", "--no-agent", workers=None)
    try:
        assert beat(made, "not-the-key")[0] == 401
        eventually("Slurm is seen", lambda: beat(made, made.agent_key)[0] == 200)
        assert beat(made, made.agent_key)[1]["scaling_commands"] == []

        job = made.submit("true", cpus=3, memory="14G")

        def commands() -> list[dict[str, Any]]:
            found: list[dict[str, Any]] = beat(made, made.agent_key)[1]["scaling_commands"]
            return found

        eventually("a worker is asked for", lambda: bool(commands()))
        [command] = commands()
        assert command["name"] == "general-xs"
        assert command["replicas"] == 1
        # What jobs get of a machine with 4 CPUs and 16 GiB.
        assert (command["shape"]["vcpus"], command["shape"]["mem_gib"]) == (3, 14)
        assert command["shape"]["arch"]
        why = made.cli("jobs", "why", str(job)).stdout
        assert "1 general-xs worker" in why

        status, answer = beat(made, made.agent_key, k8s_nodes=None, nodeclaims=None)
        assert status == 200
        assert answer["scaling_commands"] == [command]
        assert answer["protected_nodes"] == []
    finally:
        made.down()
