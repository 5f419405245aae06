"""Signing in over HTTP: by the provider, by a link, by letting a terminal in. (Pages: `pages`.)"""

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from clusterra.api import body, cookies
from clusterra.api.admit import Guarded, guest_of
from clusterra.api.door import GUESSES, plane_of, visit_of
from clusterra.api.limits import Failures
from clusterra.api.openapi import takes
from clusterra.control.people.device import INTERVAL
from clusterra.control.people.doing import Visit
from clusterra.control.people.sessions import REFRESH, Opened
from clusterra.core.errors import ClusterraError, Unauthenticated, Unreachable
from clusterra.core.people.credentials import ACCESS_FOR, DEVICE_FOR, DeviceRequest, Session
from clusterra.wire.people import (
    AnswerTerminal,
    AskForTerminal,
    Callback,
    DeviceCode,
    Refresh,
    SignedIn,
    SignedOut,
    SignInOffer,
    TerminalAsked,
    TerminalView,
    UseLink,
)

router = APIRouter(prefix="/v1/auth", tags=["sign-in"], route_class=Guarded)

CALLBACK = "/auth/callback"
"""Where the provider sends people back to."""

_CODES_A_MINUTE = 10


@router.get("", response_model=SignInOffer)
async def offer(request: Request) -> Response:
    """Say how people sign in here."""
    provider = plane_of(request).people.provider
    return body.json(SignInOffer(provider=provider.name if provider else None))


@router.post("/callback", response_model=SignedIn, openapi_extra=takes(Callback))
async def callback(request: Request) -> Response:
    """Finish a sign-in with what the identity provider sent the browser back with."""
    given = body.decode(await body.read(request), Callback)
    opened = await finished(request, code=given.code, state=given.state)
    return _signed_in(request, opened)


async def finished(request: Request, *, code: str, state: str) -> Opened:
    with failures_counted(request):
        return await plane_of(request).people.sign_in.finish(
            code=code,
            state=state,
            kept=cookies.sent(request, cookies.SIGNING_IN),
            redirect_uri=cookies.public_url(request) + CALLBACK,
            visit=visit(request),
        )


@router.post("/link", response_model=SignedIn, openapi_extra=takes(UseLink))
async def use_link(request: Request) -> Response:
    """Sign in with the code of a one-time link."""
    given = body.decode(await body.read(request), UseLink)
    return _signed_in(request, await by_link(request, given.code))


async def by_link(request: Request, code: str) -> Opened:
    with failures_counted(request):
        return await plane_of(request).people.links.use(code, visit=visit(request))


@contextmanager
def failures_counted(request: Request) -> Iterator[None]:
    """Have an address that fails too often wait: strangers must not fill the ledger with it."""
    failures, address = limit(request, "sign-ins", most=GUESSES), visit(request).address
    failures.check(address)
    try:
        yield
    except Unreachable:
        raise  # not theirs, but the provider's failure
    except ClusterraError:
        failures.note(address)
        raise


@router.post("/refresh", response_model=SignedIn, openapi_extra=takes(Refresh))
async def refresh(request: Request) -> Response:
    """Go on being signed in: a refresh token is good once, and gives the next one.

    One that is used a second time ends the session, since two have it.
    """
    given = body.decode(await body.read(request) or b"{}", Refresh)
    token = given.refresh_token or cookies.sent(request, cookies.REFRESH)
    sessions = plane_of(request).people.sessions
    opened = await sessions.refresh(token, visit=visit(request))
    if given.refresh_token:
        return body.json(for_terminal(opened))
    return _signed_in(request, opened)


@router.get("/continue", response_class=Response, include_in_schema=False)
async def go_on(request: Request, to: str = "/") -> Response:
    """Refresh a browser's session on its way to a page, or send it to sign in."""
    people = plane_of(request).people
    to = safe_path(to)
    try:
        token = cookies.sent(request, cookies.REFRESH)
        opened = await people.sessions.refresh(token, visit=visit(request))
    except Unauthenticated:
        away = RedirectResponse(f"/login?{urlencode({'to': to})}", 303)
        cookies.forget(away)
        return away
    response = RedirectResponse(to, 303)
    cookies.remember(response, request, opened)
    return response


@router.post("/logout", response_model=SignedOut)
async def logout(request: Request) -> Response:
    """Sign out: the session ends here, and with `url` at the identity provider too."""
    url = await ended(request)
    response = body.json(SignedOut(url=url or None))
    cookies.forget(response)
    return response


async def ended(request: Request) -> str:
    """End the session that was shown, if any; return where to sign out at the provider."""
    people = plane_of(request).people
    session = _shown(request)
    person = people.directory.person(session.person) if session else None
    if session is None or person is None:
        return ""
    back_to = cookies.public_url(request) + "/signed-out"
    url = await people.sign_in.sign_out_url(session, back_to=back_to)
    await people.sessions.end(session, why="", actor=person.actor, visit=visit(request))
    return url


def _shown(request: Request) -> Session | None:
    """Return the session of a request; by its refresh token, if its access token has run out."""
    people = plane_of(request).people
    try:
        return people.directory.session(guest_of(request).credential)
    except Unauthenticated:
        pass
    try:
        return people.sessions.session_of(cookies.sent(request, cookies.REFRESH), REFRESH)
    except Unauthenticated:
        return None


# --- terminals


@router.post("/device", response_model=TerminalAsked, openapi_extra=takes(AskForTerminal))
async def ask_for_terminal(request: Request) -> Response:
    """Ask to be let in, from a terminal: somebody approves the code in a browser."""
    given = body.decode(await body.read(request) or b"{}", AskForTerminal)
    limit(request, "asked").check(visit(request).address)
    limit(request, "asked").note(visit(request).address)
    asked = await plane_of(request).people.devices.ask(
        agent=given.agent[:120], visit=visit(request)
    )
    page = f"{cookies.public_url(request)}/device"
    return body.json(
        TerminalAsked(
            device_code=asked.device_code,
            user_code=asked.request.code,
            verification_uri=page,
            verification_uri_complete=f"{page}?code={asked.request.code}",
            expires_in=int(DEVICE_FOR.total_seconds()),
            interval=int(INTERVAL.total_seconds()),
        )
    )


@router.post("/device/token", response_model=SignedIn, openapi_extra=takes(DeviceCode))
async def let_terminal_in(request: Request) -> Response:
    """Return the session of a terminal that was let in.

    Until then the refusal says what to do: `authorization-pending`, `slow-down`,
    `access-denied`, `device-code-expired`.
    """
    given = body.decode(await body.read(request), DeviceCode)
    opened = await plane_of(request).people.devices.redeem(given.device_code, visit=visit(request))
    return body.json(for_terminal(opened))


@router.get("/device/{code}", response_model=TerminalView)
async def show_terminal(request: Request, code: str) -> Response:
    """Say which terminal waits with this code."""
    return body.json(_terminal(await waiting(request, code)))


@router.post("/device/{code}", response_model=TerminalView, openapi_extra=takes(AnswerTerminal))
async def answer_terminal(request: Request, code: str) -> Response:
    """Let the terminal in, in one's own name; or do not."""
    given = body.decode(await body.read(request), AnswerTerminal)
    return body.json(_terminal(await answered(request, code, approve=given.approve)))


async def waiting(request: Request, code: str) -> DeviceRequest:
    """Return the terminal with this code; who guesses codes has to wait."""
    guesses, person = limit(request, "codes"), guest_of(request).person.id
    guesses.check(person)
    try:
        return await plane_of(request).people.devices.waiting(code)
    except ClusterraError:
        guesses.note(person)
        raise


async def answered(request: Request, code: str, *, approve: bool) -> DeviceRequest:
    found = await waiting(request, code)
    guest = guest_of(request)
    if approve:
        guest.check_may_open_session()
    await plane_of(request).people.devices.answer(
        found.code, guest.person, approve=approve, within=guest.within
    )
    return found


def visit(request: Request) -> Visit:
    behind_proxy = plane_of(request).settings.server.behind_proxy
    return visit_of(request.scope, behind_proxy=behind_proxy)


def limit(request: Request, what: str, *, most: int = _CODES_A_MINUTE) -> Failures:
    """Return the count of this server's attempts at something."""
    limits: dict[str, Failures] = request.app.state.limits
    if what not in limits:
        limits[what] = Failures(plane_of(request).clock, most=most)
    return limits[what]


def safe_path(to: str) -> str:
    """Return a path of ours, and never another site that looks like one."""
    odd = "\\" in to or any(ord(letter) < 33 for letter in to)
    return "/" if odd or not to.startswith("/") or to.startswith("//") else to


def for_terminal(opened: Opened) -> SignedIn:
    return SignedIn(
        email=opened.person.email,
        expires_in=int(ACCESS_FOR.total_seconds()),
        access_token=opened.access,
        refresh_token=opened.refresh or None,
    )


def _signed_in(request: Request, opened: Opened) -> Response:
    seconds = int(ACCESS_FOR.total_seconds())
    response = body.json(SignedIn(email=opened.person.email, expires_in=seconds))
    cookies.remember(response, request, opened)
    cookies.forget_leaving(response)
    return response


def _terminal(request: DeviceRequest) -> TerminalView:
    return TerminalView(
        user_code=request.code,
        agent=request.agent,
        address=request.address,
        asked_at=request.asked_at,
        expires_at=request.expires_at,
    )
