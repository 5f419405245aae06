"""The commands about recipes against the real door."""

import json
from pathlib import Path

import pytest

from tests.builders import NOON
from tests.cli.conftest import Terminal
from tests.recipes import YAML, a_workflow
from tests.served import served
from tests.world import TOKEN


@pytest.mark.enable_socket
def test_a_recipe_lives_from_import_to_remove(tmp_path: Path) -> None:
    catalogue = tmp_path / "catalogue"
    (catalogue / "deep").mkdir(parents=True)
    (catalogue / "a.yaml").write_text(YAML.format(id="say"))
    (catalogue / "deep/b.yml").write_text(
        YAML.format(id="bad").replace("widget: text", "widget: x")
    )
    (catalogue / "README.md").write_text("no template")
    steps = (
        {"step_id": "one", "template_id": "say"},
        {"step_id": "two", "template_id": "say", "depends_on": ["one"]},
    )
    (catalogue / "flow.yaml").write_text(json.dumps(a_workflow("flow", *steps)))
    empty = tmp_path / "empty"
    empty.mkdir()
    script = tmp_path / "word.txt"
    script.write_text("from a file")
    with served(tmp_path) as server:
        terminal = Terminal({"CLUSTERRA_URL": server.url, "CLUSTERRA_TOKEN": TOKEN})
        terminal.watch.at = NOON

        def told(*words: str, code: int = 0) -> str:
            result = terminal("templates", *words)
            assert result.exit_code == code, result.output
            return result.output

        assert told("list").startswith("No templates.")
        checked = told("validate", str(catalogue), code=1)
        assert "2 templates are fine." in checked
        assert 'deep/b.yml:17: parameters[0].widget cannot be "x".' in checked
        assert "There are no templates in" in told("import", str(empty), code=2)
        assert "2 templates are now there." in told("import", str(catalogue))
        assert "2 of them as before" in told("import", str(catalogue))
        assert json.loads(told("import", str(catalogue), "--json"))["loaded"] == 2
        listed = told("list", "recipe")
        assert "say" in listed
        assert "flow" in listed
        assert "No templates with zzz." in told("list", "zzz")
        shown = told("show", "say", "--text")
        assert "word" in shown
        assert "echo {{.params.word | quote}}" in shown
        assert told("render", "say", "-P", "word=$HOME") == (
            '#!/bin/bash\n#SBATCH --mem=100M\necho "\\$HOME"\n'
        )
        assert 'echo "from a file"' in told("render", "say", "-P", f"word=@{script}")
        assert "--mem=2G" in told("render", "say", "--override", "mem=2G")
        assert "is not KEY=VALUE" in told("render", "say", "-P", "word", code=2)
        assert "There is no template" in told("render", "sya", code=4)
        assert "Job 1 submitted as" in told("submit", "say", "-P", "word=x", "--memory", "1G")
        assert "There is no field" not in told("submit", "say", "--env", "A=b", "--name", "mine")
        assert "Again at 2026-" in told("submit", "say", "--schedule", "0 6 * * 1")
        assert "0 6 * * 1" in told("schedules")
        flow = told("submit", "flow")
        assert ": 2 jobs" in flow
        assert "flow  ana   pending" in told("workflows")
        assert "two" in told("workflows", flow.split()[1])
        id = json.loads(told("schedules", "--json"))["schedules"][0]["id"]
        assert "is not started by itself any more" in told("unschedule", id)
        assert "Nothing is started by itself." in told("schedules")
        assert "is gone" in told("remove", "say")
        assert "There is no template" in told("show", "say", code=4)
