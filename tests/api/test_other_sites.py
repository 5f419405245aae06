"""What a page of another site cannot have a browser do, and where it cannot send anybody."""

import asyncio
from urllib.parse import quote

import pytest

from clusterra.api.app import make_app
from clusterra.api.cookies import REFRESH, SIGNING_IN
from clusterra.api.door import COOKIE
from clusterra.api.routes.auth import safe_path
from clusterra.settings import ServerSettings
from tests.api.asgi import Answer, ask
from tests.people import link_of, signed_in, somebody
from tests.world import World

HOST = "clusterra.lab.example"
TOKENS = "/v1/users/me/tokens"


async def makes_a_token(headers: dict[str, str], server: ServerSettings | None = None) -> Answer:
    """Have a browser in which somebody is signed in send what makes a token of theirs."""
    plane = World().plane(server)
    session = await signed_in(plane, "eva")
    sent = {"host": HOST, "cookie": f"{COOKIE}={session.access}"} | headers
    answer = await ask(make_app(plane), "POST", TOKENS, {"name": "t"}, token="", **sent)
    made = plane.people.directory.tokens_of(session.person.id)
    assert len(made) == (answer.status == 201)
    return answer


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": f"https://{HOST}.evil.example"},
        {"origin": f"https://evil.example/{HOST}"},
        {"origin": f"https://{HOST}@evil.example"},
        {"origin": f"https://{HOST}:8443"},
        {"origin": "https://evil.example", "sec_fetch_site": "same-origin"},
        {"origin": "null"},
        {"origin": "null", "host": ""},
        {"origin": ""},
        {"origin": "http://["},
        {"origin": "http://x:port"},
        {},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
        {"sec_fetch_site": "none"},
    ],
)
def test_a_cookie_alone_does_nothing_for_a_page_of_another_site(headers: dict[str, str]) -> None:
    answer = asyncio.run(makes_a_token(headers))

    assert (answer.status, answer.json["code"]) == (403, "cross-site")
    assert "Authorization: Bearer" in answer.json["hint"]


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": f"https://{HOST}"},
        {"origin": f"http://{HOST}"},
        {"origin": "http://[::1]:8420", "host": "[::1]:8420"},
        {"origin": "http://127.0.0.1:8420", "host": "127.0.0.1:8420"},
        {"sec_fetch_site": "same-origin"},
    ],
)
def test_our_own_pages_may_act_with_the_cookie(headers: dict[str, str]) -> None:
    assert asyncio.run(makes_a_token(headers)).status == 201


@pytest.mark.parametrize("url", [f"https://{HOST}", f"https://{HOST.upper()}:443/"])
def test_behind_a_proxy_the_address_of_the_settings_is_ours_and_the_hosts_name_is_not(
    url: str,
) -> None:
    server, inside = ServerSettings(url=url), "10.0.0.7:8420"

    ours = asyncio.run(makes_a_token({"origin": f"https://{HOST}", "host": inside}, server))
    theirs = asyncio.run(makes_a_token({"origin": f"http://{inside}", "host": inside}, server))

    assert (ours.status, theirs.status) == (201, 403)


def test_a_bearer_needs_no_origin_and_minds_none() -> None:
    async def story() -> None:
        plane = World().plane()
        access = (await signed_in(plane, "eva")).access
        app = make_app(plane)

        for headers in ({}, {"origin": "https://evil.example"}):
            answer = await ask(app, "POST", TOKENS, {"name": "t"}, token=access, **headers)
            assert answer.status == 201

    asyncio.run(story())


def test_reading_with_a_cookie_needs_no_origin() -> None:
    async def story() -> None:
        plane = World().plane()
        shown = f'prefs={{"a": "b"}}; {COOKIE}={(await signed_in(plane, "eva")).access}; x'

        answer = await ask(make_app(plane), "GET", "/v1/users/me", token="", cookie=shown)

        assert answer.json["email"] == "eva@lab.example"

    asyncio.run(story())


@pytest.mark.parametrize("path", ["/v1/auth/link", "/auth/link"])
def test_a_page_of_another_site_cannot_sign_anybody_in(path: str) -> None:
    async def story() -> None:
        plane = World().plane()
        code = await link_of(plane, await somebody(plane, "mallory"))
        body = {"code": code} if path.startswith("/v1") else f"code={code}".encode()
        app = make_app(plane)

        theirs = await ask(app, "POST", path, body, token="", host=HOST, origin="https://e.example")
        ours = await ask(app, "POST", path, body, token="", host=HOST, origin=f"https://{HOST}")

        assert (theirs.status, theirs.json["code"], theirs.cookies) == (403, "cross-site", {})
        assert ours.cookies[COOKIE]

    asyncio.run(story())


def test_a_session_that_was_planted_is_not_the_one_that_is_signed_in() -> None:
    async def story() -> None:
        plane = World().plane()
        mallory = await signed_in(plane, "mallory")
        code = await link_of(plane, await somebody(plane, "eva"))
        app = make_app(plane)
        planted = f"{COOKIE}={mallory.access}; {REFRESH}={mallory.refresh}; {SIGNING_IN}=x"

        sent = {"cookie": planted, "host": HOST, "origin": f"https://{HOST}"}
        answer = await ask(app, "POST", "/v1/auth/link", {"code": code}, token="", **sent)

        assert answer.cookies.keys() >= {COOKIE, REFRESH}
        assert mallory.access != answer.cookies[COOKIE]
        assert mallory.refresh != answer.cookies[REFRESH]
        for access, email in (
            (mallory.access, "mallory@lab.example"),
            (answer.cookies[COOKIE], "eva@lab.example"),
        ):
            me = await ask(app, "GET", "/v1/users/me", token="", cookie=f"{COOKIE}={access}")
            assert me.json["email"] == email
        [session] = plane.people.directory.sessions_of((await somebody(plane, "eva")).id)
        assert session.id != mallory.session.id

    asyncio.run(story())


def test_cookies_are_out_of_reach_of_scripts_and_of_other_sites() -> None:
    async def story() -> None:
        for url, secure in (("", False), (f"https://{HOST}", True)):
            plane = World().plane(ServerSettings(url=url))
            code = await link_of(plane, await somebody(plane, "eva"))
            answer = await ask(make_app(plane), "POST", "/v1/auth/link", {"code": code}, token="")

            kept = [each for each in answer.set_cookies if not each.startswith(SIGNING_IN)]
            assert len(kept) == 2
            for each in kept:
                assert "HttpOnly" in each
                assert "SameSite=lax" in each
                assert ("Secure" in each) == secure
            assert answer.cookies[COOKIE].encode() not in answer.body

    asyncio.run(story())


@pytest.mark.parametrize(
    "query",
    ["access_token=x", "token=x", "a=b&token=x", "api_key=x", "refresh_token=x", "q=clt_abc"],
)
@pytest.mark.parametrize("path", ["/v1/users/me", "/", "/v1/auth/continue", "/login"])
def test_a_token_in_an_address_is_refused_before_anything_happens(path: str, query: str) -> None:
    async def story() -> None:
        plane = World().plane()
        session = await signed_in(plane, "eva")

        answer = await ask(make_app(plane), "GET", f"{path}?{query}", token=session.access)

        assert (answer.status, answer.json["code"]) == (400, "token-in-url")
        assert answer.cookies == {}

    asyncio.run(story())


def test_an_act_with_a_token_in_its_address_is_not_done() -> None:
    async def story() -> None:
        plane = World().plane()
        code = await link_of(plane, await somebody(plane, "eva"))
        app = make_app(plane)

        for path in ("/v1/auth/link?token=x", "/v1/internal/events?key=clk_x"):
            answer = await ask(app, "POST", path, {"code": code}, token="")
            assert (answer.status, answer.json["code"]) == (400, "token-in-url")
        assert (await ask(app, "POST", "/v1/auth/link", {"code": code}, token="")).status == 200

    asyncio.run(story())


ELSEWHERE = [
    "//evil.example",
    "///evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "https:evil.example",
    "https://evil.example",
    "javascript:alert(1)",
    "/\t/evil.example",
    "/\n/evil.example",
    "\t//evil.example",
    " //evil.example",
    "evil.example",
    "@evil.example",
    "",
]


@pytest.mark.parametrize("to", ELSEWHERE)
def test_nobody_is_sent_to_another_site(to: str) -> None:
    async def story() -> None:
        plane = World().plane()
        session = await signed_in(plane, "eva")
        app = make_app(plane)

        path, kept = f"/v1/auth/continue?to={quote(to)}", f"{REFRESH}={session.refresh}"
        answer = await ask(app, "GET", path, token="", cookie=kept)
        stranger = await ask(app, "GET", path, token="")
        login = await ask(app, "GET", f"/login?to={quote(to)}", token="")

        assert (answer.status, answer.headers["location"]) == (303, "/")
        assert (stranger.status, stranger.headers["location"]) == (303, "/login?to=%2F")
        assert b"evil" not in login.body
        assert safe_path(to) == "/"

    asyncio.run(story())


@pytest.mark.parametrize("to", ["/", "/device?code=WDJB-MJHT", "/a//b", "/?to=https://x.example"])
def test_a_page_of_ours_is_gone_on_to(to: str) -> None:
    assert safe_path(to) == to
