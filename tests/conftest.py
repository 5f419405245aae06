"""Fixtures every floor uses. A test that asks for a `store` runs on all of them."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from hypothesis import settings

from clusterra.adapters.memory import MemoryStore
from clusterra.adapters.sqlite.store import SqliteStore
from clusterra.ports import Store
from tests.browser import browser as browser
from tests.browser import chromium as chromium
from tests.cluster import land as land
from tests.cluster import needs_root as needs_root
from tests.cluster import running as running

# The suite tries the same examples every time, however slow the machine is, so that it passes or
# fails for a reason that is in the change. `make explore` looks for new ones.
settings.register_profile("suite", derandomize=True, deadline=None)
settings.register_profile("explore", max_examples=2_000, deadline=None, print_blob=True)
settings.load_profile("suite")


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "memory":
        yield MemoryStore()
        return
    made = SqliteStore(tmp_path / "clusterra.db")
    yield made
    made.close()


# A traceback as it is. With what every name stood for beside it, which is what is printed where the
# library `rich` happens to be installed, one of a control plane takes a minute to make.
structlog.configure(
    processors=[
        structlog.processors.add_log_level,
        structlog.dev.ConsoleRenderer(
            colors=False, exception_formatter=structlog.dev.plain_traceback
        ),
    ]
)


def pytest_configure() -> None:
    """Have Ctrl-C mean something: a shell's background jobs are started with it ignored, and what
    we start would inherit that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
