"""The cookies of a browser that is signed in, or on its way to be.

All are httpOnly: no script ever sees one. The refresh token travels only to where it is
used.
"""

from starlette.requests import Request
from starlette.responses import Response

from clusterra.api.door import COOKIE, cookie, plane_of
from clusterra.control.people.sessions import Opened
from clusterra.control.people.sign_in import Away
from clusterra.core.people.credentials import ACCESS_FOR, LINK_FOR, SESSION_FOR

REFRESH = "clusterra_refresh"
SIGNING_IN = "clusterra_signing_in"
REFRESHED_AT = "/v1/auth"


def public_url(request: Request) -> str:
    """Return the address people reach us by, without a slash at its end."""
    configured = plane_of(request).settings.server.url
    return (configured or f"{request.url.scheme}://{request.url.netloc}").rstrip("/")


def sent(request: Request, name: str) -> str:
    return cookie(request.headers, name)


def remember(response: Response, request: Request, opened: Opened) -> None:
    """Let a browser be signed in."""
    _set(response, request, COOKIE, opened.access, seconds=int(ACCESS_FOR.total_seconds()))
    if opened.refresh:
        seconds = int(SESSION_FOR.total_seconds())
        _set(response, request, REFRESH, opened.refresh, seconds=seconds, path=REFRESHED_AT)


def remember_leaving(response: Response, request: Request, away: Away) -> None:
    seconds = int(LINK_FOR.total_seconds())
    _set(response, request, SIGNING_IN, away.kept, seconds=seconds)


def forget(response: Response) -> None:
    response.delete_cookie(COOKIE, path="/")
    response.delete_cookie(REFRESH, path=REFRESHED_AT)


def forget_leaving(response: Response) -> None:
    response.delete_cookie(SIGNING_IN, path="/")


def _set(
    response: Response, request: Request, name: str, value: str, *, seconds: int, path: str = "/"
) -> None:
    response.set_cookie(
        name,
        value,
        max_age=seconds,
        path=path,
        httponly=True,
        # Lax and not strict: whoever comes from the provider, or by a link in a message,
        # comes from elsewhere. What they do here is guarded by where it was asked from.
        samesite="lax",
        secure=public_url(request).startswith("https://"),
    )
