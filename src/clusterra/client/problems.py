"""An answer that is not a success, as the error it stands for.

The server turned one of `core/errors.py` into a status and a body; here the
same class comes back out, with the same sentences. A body that is not ours (a
proxy's page, say) is told by its status.
"""

import msgspec

from clusterra.core.errors import (
    ClusterraError,
    Conflict,
    Forbidden,
    Invalid,
    Malformed,
    NotFound,
    Refused,
    TooLarge,
    Unanswered,
    Unauthenticated,
    Unreachable,
)
from clusterra.wire.problem import Problem

_BY_KIND: dict[str, type[ClusterraError]] = {
    kind.code: kind
    for kind in (
        Invalid,
        Malformed,
        TooLarge,
        Unauthenticated,
        Forbidden,
        NotFound,
        Conflict,
        Refused,
        Unreachable,
        Unanswered,
    )
}

_BY_STATUS: dict[int, type[ClusterraError]] = {
    400: Malformed,
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    405: NotFound,
    409: Conflict,
    410: NotFound,
    413: TooLarge,
    415: Invalid,
    416: Invalid,
    422: Refused,
    429: Unreachable,
    502: Unreachable,
    503: Unreachable,
    504: Unanswered,
}

_problem = msgspec.json.Decoder(Problem)


def as_error(url: str, status: str, body: bytes, retry_after: str | None) -> ClusterraError:
    """Return what the server meant, in its own words where it has any.

    `status` is the number and what the server calls it: `404 Not Found`.
    """
    by_status = _BY_STATUS.get(int(status[:3]), ClusterraError)
    try:
        problem = _problem.decode(body)
    except msgspec.DecodeError:
        return by_status(
            f"{url} answered {status}, and not in Clusterra's words.",
            hint="Check that the address is Clusterra's, without a path of the console.",
        )
    kind = _BY_KIND.get(problem.kind) or by_status
    error = kind(problem.detail, hint=problem.hint, code=problem.code, at=problem.at)
    if isinstance(error, Unreachable) and (retry_after or "").isdecimal():
        error.retry_after = int(retry_after or 0)
    return error
