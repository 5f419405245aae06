"""The commands about webhooks against the real door, from the first to the last of one."""

import json
import re
from pathlib import Path

import pytest

from clusterra.core.webhooks.sign import read_secret
from tests.builders import NOON
from tests.cli.conftest import Terminal
from tests.served import served
from tests.world import TOKEN


@pytest.mark.enable_socket
def test_a_webhook_lives_from_add_to_remove(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        terminal = Terminal({"CLUSTERRA_URL": server.url, "CLUSTERRA_TOKEN": TOKEN})
        terminal.watch.at = NOON

        def told(*words: str) -> str:
            result = terminal(*words)
            assert result.exit_code == 0, result.output
            return result.stdout

        assert told("webhooks", "list").startswith("No webhooks yet")
        added = json.loads(
            told(
                *("webhooks", "add", "https://ci.example/hook", "--types", "job.*"),
                *("--ed25519", "--name", "ci", "--json"),
            )
        )
        assert read_secret(added["secret"])
        assert "1 webhook; it is well." in told("webhooks", "list")
        assert re.search(r"public +whpk_\S{43}=", told("webhooks", "show", added["id"][:12]))
        assert "took a made-up job.failed" in told("webhooks", "test", "ci", "--type", "job.failed")
        assert "whsec_" in told("webhooks", "rotate", "ci", "--overlap", "1h")
        assert "2 secrets and Ed25519" in told("webhooks", "show", "ci")
        assert "job.* · of ana · error or worse from now on." in told(
            *("webhooks", "edit", "ci", "--person", "ana", "--severity", "error")
        )
        assert "is paused" in told("webhooks", "pause", "ci")
        assert "is active again" in told("webhooks", "resume", "ci", "--skip-kept")
        assert "has happened yet" in told("webhooks", "deliveries", "ci")
        dry = told("webhooks", "replay", "ci", "--missing-since", "2h", "--dry-run")
        assert dry.startswith("There is nothing to deliver to ci again.")
        assert terminal("webhooks", "deliveries", "ci", "0" * 36).exit_code == 4
        assert "ci is removed." in told("webhooks", "remove", "ci", "--yes")
        assert told("webhooks", "list").startswith("No webhooks yet")
