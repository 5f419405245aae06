"""Who is asking: one admin token until people can sign in.

The admin may act as a person (`X-Clusterra-User: ana`), and then has that person's
rights and no more.
"""

import hmac
import re

from starlette.requests import HTTPConnection

from clusterra.core.access import Caller
from clusterra.core.errors import Invalid, Unauthenticated

ACT_AS = "x-clusterra-user"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,63}")


def check_token(connection: HTTPConnection, token: str) -> None:
    scheme, _, given = connection.headers.get("authorization", "").partition(" ")
    if not given or scheme.lower() != "bearer":
        raise Unauthenticated(
            "This call needs a token and came without one.",
            hint="Send `Authorization: Bearer <token>`; "
            "`clusterra status --json` names the file that holds it.",
        )
    if not hmac.compare_digest(given.strip().encode(), token.encode()):
        raise Unauthenticated(
            "This token is not valid here.",
            hint="Read it again from the token file that `clusterra status --json` names.",
            code="bad-token",
        )


def caller(connection: HTTPConnection, default_user: str) -> Caller:
    """Return who acts on a cluster, after the token has been checked."""
    person = connection.headers.get(ACT_AS)
    if person is None:
        return Caller(user=default_user, admin=True)
    if not _NAME.fullmatch(person):
        raise Invalid(
            f"{person!r} is not a user name.",
            hint="Use letters, digits, - and _.",
            at="X-Clusterra-User",
        )
    return Caller(user=person)
