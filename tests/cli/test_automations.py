"""The commands about automations against the real door, from the first to the last of one."""

import json
from pathlib import Path

import pytest

from tests.builders import NOON
from tests.cli.conftest import Terminal
from tests.served import served
from tests.world import TOKEN


@pytest.mark.enable_socket
def test_an_automation_lives_from_add_to_remove(tmp_path: Path) -> None:
    script, rule = tmp_path / "next.sh", tmp_path / "rule.json"
    script.write_text("#!/bin/sh\n./report {{job.id}}\n")
    rule.write_text(json.dumps({"when": "job.timeout", "do": ["retry"], "name": "longer"}))
    with served(tmp_path) as server:
        terminal = Terminal({"CLUSTERRA_URL": server.url, "CLUSTERRA_TOKEN": TOKEN})
        terminal.watch.at = NOON

        def told(*words: str) -> str:
            result = terminal(*words)
            assert result.exit_code == 0, result.output
            return result.stdout

        def refused(*words: str) -> str:
            result = terminal(*words)
            assert result.exit_code != 0, result.output
            return result.output

        assert told("automations", "list").startswith("No automations yet")
        tried = told("automations", "dry-run", "--when", "job.out_of_memory", "--retry")
        assert tried.startswith("Since 2026-01-31 it would have done nothing, of 0 events read.")
        said = told(
            *("automations", "add", "--when", "job.out_of_memory", "--retry", "--most", "2"),
            *("--name", "more-memory", "--backoff", "5m", "--most-memory", "64G"),
        )
        assert "when job.out_of_memory, retry (memory × 1.5, time × 2)." in said
        assert "at most 2 times for one job" in said
        assert "waits 5m 00s, twice as long each time" in said
        made = json.loads(
            told(
                *("automations", "add", "--when", "job.completed", "--job-name", "align-*"),
                *("--submit", str(script), "--option", "cpus=2", "--json"),
            )
        )
        assert made["do"][0]["submit"]["options"] == {"cpus": 2}
        assert made["name"] == "submit-completed"
        assert "longer" in told("automations", "add", "--file", str(rule), "--try-out")

        listed = told("automations", "list")
        assert "3 automations; 1 does not act." in listed
        assert "more-memory" in listed
        assert "longer acts from now on" in told("automations", "on", "longer")
        assert "was on already" in told("automations", "on", "longer")
        assert "does nothing from now on" in told("automations", "off", "longer")
        shown = told("automations", "show", made["id"][:20])
        assert "job.completed · named align-*" in shown
        assert "./report {{job.id}}" in shown
        edited = told("automations", "edit", "more-memory", "--most", "3")
        assert "at most 3 times" in edited
        assert "has had nothing to do yet" in told("automations", "firings", "more-memory")
        assert "Nothing was done." in told("automations", "dry-run", "more-memory", "--since", "7d")

        assert "Say when" in refused("automations", "add", "--retry")
        assert "Say what to do" in refused("automations", "add", "--when", "job.failed")
        assert "retried only if you say so" in refused(
            "automations", "add", "--when", "job.failed", "--retry"
        )
        assert "There is no event" in refused("automations", "add", "--when", "job.oom", "--retry")
        assert terminal("automations", "show", "nothing").exit_code == 4

        assert "more-memory is removed." in told("automations", "remove", "more-memory", "--yes")
        assert "2 automations" in told("automations", "list")


@pytest.mark.enable_socket
def test_what_is_to_follow_is_said_with_the_submission(tmp_path: Path) -> None:
    script, after = tmp_path / "align.sh", tmp_path / "report.sh"
    script.write_text("#!/bin/sh\n./align\n")
    after.write_text("#!/bin/sh\n./report {{job.id}}\n")
    with served(tmp_path) as server:
        terminal = Terminal({"CLUSTERRA_URL": server.url, "CLUSTERRA_TOKEN": TOKEN})
        done = terminal(
            "jobs", "submit", str(script), "--retry", "2", "--then", str(after), "--json"
        )
        assert done.exit_code == 0, done.output
        run_id = json.loads(done.stdout)["run_id"]
        bound = server.plane.automations.rules.bound(run_id)
        assert [each.most for each in bound] == [2, 1]
        assert bound[1].actions[0].submit.options == {"name": "report"}
        assert all(each.once and each.operator for each in bound)

        after.write_text("#!/bin/sh\n./report {{job.nmae}}\n")
        wrong = terminal("jobs", "submit", str(script), "--then", str(after))
        assert wrong.exit_code == 2, wrong.output
        assert "There is no value" in wrong.output
        assert terminal("automations", "list").stdout.startswith("No automations yet")
