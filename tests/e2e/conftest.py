"""Everything in this directory runs on a real cluster; `tests/cluster.py` starts it."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.cluster import Land, Running


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.e2e)
            item.add_marker(pytest.mark.enable_socket)


@pytest.fixture
def one(land: Land, tmp_path: Path) -> Iterator[Running]:
    """Start a cluster that no other test meets."""
    made = land.up(land.home / f"up-{tmp_path.name}")
    yield made
    made.down()
    shutil.rmtree(made.path)  # 80 MB each
