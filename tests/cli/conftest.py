"""A terminal in front of a pretended server."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from clusterra.cli.main import cli
from clusterra.cli.screen import Screen
from clusterra.cli.session import Session
from tests.cli.world import TOKEN, FakeApi, ManualWatch, serving


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nobody's own sessions take part."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return home


@pytest.fixture
def api() -> Iterator[FakeApi]:
    with serving(FakeApi()) as running:
        yield running


@dataclass
class Terminal:
    environ: dict[str, str]
    watch: ManualWatch = field(default_factory=ManualWatch)
    screen: Screen | None = None

    def __call__(self, *words: str, typed: str | bytes | None = None) -> Result:
        session = Session(environ=self.environ, watch=self.watch, fixed_screen=self.screen)
        result = CliRunner().invoke(
            cli, words, obj=session, input=typed, prog_name="clusterra", catch_exceptions=False
        )
        session.close()
        return result


@pytest.fixture
def terminal(api: FakeApi) -> Terminal:
    return Terminal({"CLUSTERRA_URL": api.url, "CLUSTERRA_TOKEN": TOKEN})


@pytest.fixture
def script(tmp_path: Path) -> Path:
    file = tmp_path / "align.sh"
    file.write_text("#!/bin/bash\nhostname\n")
    return file
