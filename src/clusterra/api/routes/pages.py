"""The few pages that people need to sign in, and to let a terminal in.

They do what the routes of `auth` do, for a browser without a script: forms come in,
pages and redirects go out, and every refusal is a page that says what to do.
"""

from collections.abc import Callable, Coroutine
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from clusterra.api import body, cookies, pages, problems
from clusterra.api.admit import Guarded, guest_of
from clusterra.api.door import plane_of
from clusterra.api.guest import Guest
from clusterra.api.routes import auth
from clusterra.api.routes.users import login_of
from clusterra.control.plane import Plane
from clusterra.core.errors import ClusterraError, Invalid, NotFound, Unauthenticated

HEADERS = {
    "content-security-policy": pages.CSP,
    # With `no-referrer` a browser would send its forms with `Origin: null`.
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}
_TITLES = {401: "You are not signed in", 403: "You are not let in", 404: "There is no such page"}
"""What people would say; for the rest HTTP's own words will do."""

_OF_THIS_ACCOUNT = frozenset(
    {"not-invited", "email-of-another", "email-not-verified", "no-email", "email"}
)
"""Refusals that the same account would meet again."""

FOR_EVER = {"cache-control": "public, max-age=31536000, immutable"}


class Page(Guarded):
    """A route whose refusals are pages too."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                return await handle(request)
            except ClusterraError as error:
                return _trouble(error)

        return answer


router = APIRouter(include_in_schema=False, route_class=Page)


@router.get("/")
async def home(request: Request) -> Response:
    guest = _signed_in(request)
    if guest is None:
        return _to_sign_in("/")
    plane = plane_of(request)
    where = [
        (plane.people.directory.workspace(id).name, str(role), _clusters(plane, id))
        for id, role in guest.workspaces(plane.people).items()
    ]
    person = guest.person
    return _page(
        pages.home(
            name=person.name,
            email=person.email,
            login=(login := login_of(plane, guest)),
            uid=plane.people.directory.uid_of(login),
            workspaces=where,
        ),
        csp=await _csp_of_leaving(plane),
    )


@router.get("/login")
async def login(request: Request, to: str = "/") -> Response:
    provider = plane_of(request).people.provider
    where = urlsplit(cookies.public_url(request)).netloc
    return _page(
        pages.sign_in(
            provider=provider.name if provider else "",
            to=auth.safe_path(to),
            where=where,
            problem=None,
        )
    )


@router.get("/auth/start")
async def start(request: Request, to: str = "/", another: bool = False) -> Response:
    """Send the browser to the provider, with what binds it to this browser.

    Whoever was refused comes with `another`: the provider would otherwise send them back at
    once, as the same person, to be refused again.
    """
    redirect_uri = cookies.public_url(request) + auth.CALLBACK
    sign_in = plane_of(request).people.sign_in
    away = await sign_in.begin(to=auth.safe_path(to), redirect_uri=redirect_uri, another=another)
    response = RedirectResponse(away.url, 303)
    cookies.remember_leaving(response, request, away)
    return response


@router.get("/auth/callback")
async def come_back(
    request: Request, code: str = "", state: str = "", error: str = "", error_description: str = ""
) -> Response:
    """Take the browser back from the provider."""
    if error:
        with auth.failures_counted(request):
            await plane_of(request).people.sign_in.turned_back(
                error=error,
                description=error_description,
                state=state,
                kept=cookies.sent(request, cookies.SIGNING_IN),
                visit=auth.visit(request),
            )
    opened = await auth.finished(request, code=code, state=state)
    response = RedirectResponse(opened.to, 303)
    cookies.remember(response, request, opened)
    cookies.forget_leaving(response)
    return response


@router.get("/auth/link/{code}")
async def open_link(request: Request, code: str) -> Response:
    """Sign in by a one-time link, if a person opens it; ask, if that is not sure.

    Programs that look at links in messages must not use them up, and a page elsewhere must
    not sign somebody in as somebody else. Browsers say when the address was typed, pasted
    or opened from outside.
    """
    navigates = request.headers.get("sec-fetch-mode") == "navigate"
    if navigates and request.headers.get("sec-fetch-site") in ("none", "same-origin"):
        return await _by_link(request, code)
    try:
        person = await plane_of(request).people.links.owner(code)
    except Unauthenticated as error:
        return _page(pages.link(code="", email="", workspace="", problem=error), status=401)
    workspace = plane_of(request).people.directory.workspace(plane_of(request).people.home)
    return _page(pages.link(code=code, email=person.email, workspace=workspace.name, problem=None))


@router.post("/auth/link")
async def use_link(request: Request) -> Response:
    return await _by_link(request, (await _form(request)).get("code", ""))


async def _by_link(request: Request, code: str) -> Response:
    try:
        opened = await auth.by_link(request, code)
    except Unauthenticated as error:
        return _page(pages.link(code="", email="", workspace="", problem=error), status=401)
    response = RedirectResponse("/", 303)
    cookies.remember(response, request, opened)
    return response


@router.post("/auth/logout")
async def sign_out(request: Request) -> Response:
    url = await auth.ended(request)
    response = RedirectResponse(url or "/signed-out", 303)
    cookies.forget(response)
    return response


@router.get("/signed-out")
async def signed_out(request: Request) -> Response:
    provider_too = plane_of(request).people.provider is not None
    return _page(pages.signed_out(provider_too=provider_too))


@router.get("/device")
async def device(request: Request, code: str = "") -> Response:
    """Ask for the code that a terminal shows, or show which terminal waits with it."""
    guest = _signed_in(request)
    if guest is None:
        return _to_sign_in(f"/device?{urlencode({'code': code})}" if code else "/device")
    if not code:
        return _page(pages.device(person=guest.person.email))
    return await _asking(request, guest, code)


@router.post("/device")
async def answer_device(request: Request) -> Response:
    guest = guest_of(request)
    form = await _form(request)
    code, answer = form.get("code", ""), form.get("answer", "")
    if answer not in ("approve", "deny"):
        return await _asking(request, guest, code)
    try:
        found = await auth.answered(request, code, approve=answer == "approve")
    except NotFound as error:
        return _page(pages.device(person=guest.person.email, code=code, problem=error), status=404)
    return _page(pages.device_done(approved=answer == "approve", asking=found.agent))


async def _asking(request: Request, guest: Guest, code: str) -> Response:
    try:
        found = await auth.waiting(request, code)
    except NotFound as error:
        return _page(pages.device(person=guest.person.email, code=code, problem=error), status=404)
    return _page(
        pages.device_request(
            person=guest.person.email,
            code=found.code,
            asking=found.agent,
            address=found.address,
            when=f"{found.asked_at:%H:%M:%S} UTC",
        )
    )


@router.get("/assets/{name}")
async def asset(name: str) -> Response:
    if f"/assets/{name}" != pages.CSS_PATH:
        raise NotFound(f"There is no {name[:64]!r} here.", hint="Load the page again.")
    return Response(pages.CSS, media_type="text/css; charset=utf-8", headers=FOR_EVER)


def _signed_in(request: Request) -> Guest | None:
    try:
        return guest_of(request)
    except Unauthenticated:
        return None


def _to_sign_in(to: str) -> Response:
    """Send a stranger to sign in, by way of where a session that rests is taken up again."""
    return RedirectResponse(f"/v1/auth/continue?{urlencode({'to': to})}", 303)


async def _csp_of_leaving(plane: Plane) -> str:
    """Let the form that signs out be sent on to the provider: browsers watch where it ends."""
    provider = plane.people.provider
    if provider is None:
        return pages.CSP
    try:
        url = urlsplit(await provider.sign_out_url(id_token="", back_to=""))
    except ClusterraError:
        return pages.CSP
    return pages.csp(f"{url.scheme}://{url.netloc}") if url.netloc else pages.CSP


def _clusters(plane: Plane, workspace: str) -> list[str]:
    return [each.cluster.name for each in plane.sites.values() if each.workspace == workspace]


async def _form(request: Request) -> dict[str, str]:
    raw = await body.read(request)
    try:
        return {name: values[0] for name, values in parse_qs(raw.decode()).items()}
    except UnicodeDecodeError:
        raise Invalid("This form cannot be read.", hint="Load the page again.") from None


def _page(text: str, *, status: int = 200, csp: str = pages.CSP) -> Response:
    return HTMLResponse(text, status, {**HEADERS, "content-security-policy": csp})


def _trouble(error: ClusterraError) -> Response:
    status = problems.status_of(error)
    title = _TITLES.get(status) or HTTPStatus(status).phrase
    again, words = "/login", "Try again"
    if error.code in _OF_THIS_ACCOUNT:
        again, words = "/auth/start?another=true", "Use another account"
    page = pages.trouble(
        title=title, detail=error.detail, hint=error.hint, again=again, words=words
    )
    return _page(page, status=status)
