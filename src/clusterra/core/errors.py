"""Everything that can be refused, and what to say about it.

    ClusterraError
    ├── Invalid               the request itself is wrong; `at` says where
    │   ├── Malformed         it cannot even be read
    │   └── TooLarge          it is right in form and too big
    ├── Unauthenticated       we do not know who is asking
    ├── Forbidden             we know, and they may not
    ├── NotFound              the thing does not exist, or not for you
    ├── Conflict              somebody else changed it first, or its state does not allow this
    ├── Refused               understood, and not possible on this cluster
    └── Unreachable           something we depend on did not answer; trying again may help
        ├── Unanswered        it was asked and went silent: the act may or may not have happened
        └── Busy              too much is waiting already; the same request is taken later

An error knows its code, what happened in the user's numbers, and what to do
next. It does not know about HTTP: `api/problems.py` holds the one table from
error to status, and the terminal prints the same two sentences.
"""


class ClusterraError(Exception):
    code = "error"

    def __init__(self, detail: str, *, hint: str = "", code: str = "", at: str = "") -> None:
        super().__init__(detail)
        self.detail = detail
        self.hint = hint
        self.at = at
        """Where in the request: a field (`memory`), a line (`line 3`) or a column (`column 12`)."""
        if code:
            self.code = code


class Invalid(ClusterraError):
    code = "invalid"


class Malformed(Invalid):
    code = "malformed"


class TooLarge(Invalid):
    code = "too-large"


class Unauthenticated(ClusterraError):
    code = "unauthenticated"


class Forbidden(ClusterraError):
    code = "forbidden"


class NotFound(ClusterraError):
    code = "not-found"


class Conflict(ClusterraError):
    code = "conflict"


class Refused(ClusterraError):
    code = "refused"


class Unreachable(ClusterraError):
    code = "unreachable"

    retry_after: int = 5
    """Seconds after which asking again is worth it."""


class Unanswered(Unreachable):
    code = "unanswered"


class Busy(Unreachable):
    code = "busy"
