"""What the terminal says when something is refused, and the exit code that tells scripts why."""

import re

from clusterra.cli.screen import say, tame
from clusterra.core.errors import (
    ClusterraError,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    Refused,
    Unauthenticated,
    Unreachable,
)

EXIT_CODES: dict[int, str] = {
    0: "It worked. After `--wait`, `watch` and `run`: the job completed.",
    1: "Something else went wrong. After `--wait`, `watch` and `run`: the job did not complete "
    "(timeout, cancelled, node lost, …) and left no code of its own.",
    2: "Something in the command or the request is wrong; the message says what.",
    3: "Understood and refused: not allowed, not possible here, or in conflict with its state.",
    4: "The thing asked for does not exist.",
    5: "Clusterra, or the Slurm behind it, cannot be reached.",
    130: "Stopped by Ctrl-C. A job that was being watched goes on.",
}

_CODES: tuple[tuple[type[ClusterraError], int], ...] = (
    (Invalid, 2),
    (Unauthenticated, 3),
    (Forbidden, 3),
    (Conflict, 3),
    (Refused, 3),
    (NotFound, 4),
    (Unreachable, 5),
)


def exit_code(error: ClusterraError) -> int:
    return next((code for kind, code in _CODES if isinstance(error, kind)), 1)


def complain(error: ClusterraError) -> None:
    """Print an error in the words it came with: what happened, then what to do."""
    for sentence in (error.detail, error.hint):
        for line in sentence.splitlines():
            say(tame(line), error=True)


def pointed(error: ClusterraError, query: str) -> ClusterraError:
    """Return the error with the query under it and a mark below the column it is about."""
    column = re.fullmatch(r"column (\d+)", error.at)
    if column is None or int(column[1]) > len(query) + 1:
        return error
    mark = " " * (int(column[1]) - 1) + "^"
    kind = type(error)
    detail = f"{error.detail}\n  {query}\n  {mark}"
    return kind(detail, hint=error.hint, code=error.code, at=error.at)
