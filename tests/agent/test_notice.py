"""Being told of a new file, and doing without."""

import os
import threading
import time
from pathlib import Path

import pytest

from clusterra.agent.notice import WITHOUT, Notice


@pytest.fixture
def pipe() -> tuple[int, int]:
    return os.pipe()


def test_a_file_that_is_renamed_into_the_directory_is_told_of(
    tmp_path: Path, pipe: tuple[int, int]
) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "file").touch()
    with Notice(tmp_path / "new", stop=pipe[0]) as notice:
        assert notice.is_told
        (tmp_path / "file").rename(tmp_path / "new/file")
        began = time.monotonic()

        assert notice.wait(60) is False
        assert time.monotonic() - began < 5


def test_what_came_while_nobody_waited_is_told_of_at_once(
    tmp_path: Path, pipe: tuple[int, int]
) -> None:
    with Notice(tmp_path, stop=pipe[0]) as notice:
        for name in ("one", "two"):
            (tmp_path / name).touch()
        assert notice.wait(60) is False

        began = time.monotonic()
        assert notice.wait(0.01) is False
        assert time.monotonic() - began < 5


def test_a_directory_that_cannot_be_watched_is_looked_at_every_second(
    tmp_path: Path, pipe: tuple[int, int]
) -> None:
    with Notice(tmp_path / "nowhere", stop=pipe[0]) as notice:
        began = time.monotonic()

        assert not notice.is_told
        assert notice.wait(60) is False
        assert time.monotonic() - began < WITHOUT + 5


def test_waiting_ends_when_asked_to_stop(tmp_path: Path, pipe: tuple[int, int]) -> None:
    with Notice(tmp_path, stop=pipe[0]) as notice:
        threading.Timer(0.01, os.write, (pipe[1], b".")).start()

        assert notice.wait(60, only_stop=True) is True
