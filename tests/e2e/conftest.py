"""Everything in this directory runs on a real cluster; `tests/cluster.py` starts it."""

from collections.abc import Sequence
from pathlib import Path

import pytest


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.e2e)
            item.add_marker(pytest.mark.enable_socket)
