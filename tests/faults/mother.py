"""A process that has imported everything once, and whose children live and die.

Each life is asked for with one line of JSON, and told of with two: its process, and how it ended.
"""

import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

KILLED = -9


def bear(live: Callable[..., None]) -> None:
    """Have a child live whenever one is asked for. This is the mother's own part."""
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            os.dup2(2, 1)  # what it logs is no answer of ours
            try:
                live(**json.loads(line))
            except BaseException:  # noqa: BLE001 - the child ends here, whatever it was
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        sys.stdout.write(f"{child}\n")
        sys.stdout.flush()
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


class Mother:
    """Seen from the test."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._in, self._out = process.stdin, process.stdout

    def live(self, *, born: Callable[[int], None] = lambda _: None, **asked: Any) -> int:
        """Have a child live; say who it is once it is born, and return how it ended."""
        self._in.write(json.dumps(asked) + "\n")
        self._in.flush()
        born(int(self._out.readline()))
        return int(self._out.readline())


@contextmanager
def mother(module: str) -> Iterator[Mother]:
    process = subprocess.Popen(
        [sys.executable, "-m", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": ":".join(sys.path)},
    )
    with process:
        yield Mother(process)
        assert process.stdin is not None
        process.stdin.close()
        process.wait(timeout=30)
