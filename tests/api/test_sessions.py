"""Sessions and the links that open them: how long they are good, how often, and for whom."""

import asyncio
from datetime import timedelta

import pytest

from clusterra.api.app import make_app
from clusterra.api.cookies import REFRESH
from clusterra.api.door import COOKIE
from clusterra.core.access import ALL_SCOPES, Scope
from clusterra.core.events.event import EventQuery
from clusterra.core.people.credentials import ACCESS_FOR, SESSION_FOR, TWO_TABS
from clusterra.core.people.person import ledger_of
from clusterra.ports import Store
from tests.api.asgi import Answer, ask
from tests.people import link_of, signed_in, somebody, token_of
from tests.world import World

SECOND = timedelta(seconds=1)
TYPED = {"sec_fetch_mode": "navigate", "sec_fetch_site": "none"}
"""What a browser says of an address that a person has typed or pasted."""


class Api:
    def __init__(self, store: Store | None = None) -> None:
        self.world = World(store=store) if store else World()
        self.plane = self.world.plane()
        self.app = make_app(self.plane)

    async def refresh(self, token: str) -> Answer:
        body = {"refresh_token": token}
        return await ask(self.app, "POST", "/v1/auth/refresh", body, token="")

    async def me(self, access: str) -> int:
        return (await ask(self.app, "GET", "/v1/users/me", token=access)).status

    async def use_link(self, code: str) -> Answer:
        return await ask(self.app, "POST", "/v1/auth/link", {"code": code}, token="")

    async def told(self) -> list[str]:
        events = await self.plane.store.events(ledger_of(self.plane.people.home), EventQuery())
        return [each.type for each in events]


def test_a_refresh_token_is_good_once_and_gives_the_next() -> None:
    async def story() -> None:
        api = Api()
        token = (await signed_in(api.plane, "eva")).refresh
        for _ in range(3):
            api.world.clock.advance(SESSION_FOR - SECOND)
            answer = await api.refresh(token)
            assert answer.json["refresh_token"] != token
            assert await api.me(answer.json["access_token"]) == 200
            token = answer.json["refresh_token"]
        api.world.clock.advance(SESSION_FOR)

        assert (await api.refresh(token)).status == 401

    asyncio.run(story())


def test_a_refresh_token_that_is_used_again_ends_the_session() -> None:
    async def story() -> None:
        api = Api()
        first = await signed_in(api.plane, "eva")
        second = (await api.refresh(first.refresh)).json
        api.world.clock.advance(TWO_TABS)

        stolen = await api.refresh(first.refresh)

        assert (stolen.status, stolen.json["code"]) == (401, "session-ended")
        assert await api.me(second["access_token"]) == await api.me(first.access) == 401
        assert (await api.refresh(second["refresh_token"])).status == 401
        assert (await api.told())[-1] == "user.logout"

    asyncio.run(story())


def test_two_tabs_that_refresh_one_after_the_other_stay_signed_in() -> None:
    async def story() -> None:
        api = Api()
        first = await signed_in(api.plane, "eva")
        second = (await api.refresh(first.refresh)).json
        api.world.clock.advance(TWO_TABS - SECOND)

        again = (await api.refresh(first.refresh)).json

        assert await api.me(again["access_token"]) == 200
        assert again["refresh_token"] is None
        assert (await api.refresh(second["refresh_token"])).status == 200

    asyncio.run(story())


def test_two_tabs_that_refresh_in_the_same_moment_stay_signed_in(store: Store) -> None:
    async def story() -> None:
        api = Api(store)
        session = await signed_in(api.plane, "eva")

        answers = await asyncio.gather(*(api.refresh(session.refresh) for _ in range(3)))

        assert [each.status for each in answers] == [200] * 3
        for each in answers:
            assert await api.me(each.json["access_token"]) == 200

    asyncio.run(story())


def test_who_signs_out_is_out_at_once_with_everything_they_had() -> None:
    async def story() -> None:
        api = Api()
        session = await signed_in(api.plane, "eva")

        answer = await ask(api.app, "POST", "/v1/auth/logout", token=session.access)

        assert answer.cookies == {COOKIE: "", REFRESH: ""}
        assert await api.me(session.access) == 401
        assert (await api.refresh(session.refresh)).status == 401
        assert "user.logout" in await api.told()

    asyncio.run(story())


def test_a_browser_signs_out_also_after_its_access_token_has_run_out() -> None:
    async def story() -> None:
        api = Api()
        session = await signed_in(api.plane, "eva")
        api.world.clock.advance(ACCESS_FOR)

        cookie = f"clusterra_session={session.access}; clusterra_refresh={session.refresh}"
        answer = await ask(
            api.app,
            "POST",
            "/v1/auth/logout",
            token="",
            cookie=cookie,
            host="test",
            origin="http://test",
        )

        assert answer.status == 200
        assert (await api.refresh(session.refresh)).status == 401

    asyncio.run(story())


def test_access_ends_after_a_quarter_of_an_hour_and_a_refresh_token_is_no_access() -> None:
    async def story() -> None:
        api = Api()
        session = await signed_in(api.plane, "eva")
        assert await api.me(session.refresh) == 401
        assert (await api.refresh(session.access)).status == 401
        api.world.clock.advance(ACCESS_FOR - SECOND)
        assert await api.me(session.access) == 200
        api.world.clock.advance(SECOND)
        assert await api.me(session.access) == 401

    asyncio.run(story())


def test_somebody_ends_their_own_sessions_and_not_those_of_others() -> None:
    async def story() -> None:
        api = Api()
        eva, elsewhere = await signed_in(api.plane, "eva"), await signed_in(api.plane, "eva")
        bo = await signed_in(api.plane, "bo")
        path = "/v1/users/me/sessions/"

        mine = await ask(api.app, "DELETE", path + elsewhere.session.id, token=eva.access)
        theirs = await ask(api.app, "DELETE", path + bo.session.id, token=eva.access)

        assert (mine.status, theirs.status) == (200, 404)
        assert [await api.me(each.access) for each in (eva, elsewhere, bo)] == [200, 401, 200]

    asyncio.run(story())


# --- links


def test_a_link_lets_in_once() -> None:
    async def story() -> None:
        api = Api()
        code = await link_of(api.plane, await somebody(api.plane, "eva"))

        first, second = await api.use_link(code), await api.use_link(code)

        assert first.json["email"] == "eva@lab.example"
        assert (second.status, second.json["code"]) == (401, "link-used")
        assert second.cookies == {}

    asyncio.run(story())


def test_a_link_is_good_for_ten_minutes_and_not_longer() -> None:
    async def story() -> None:
        api = Api()
        eva = await somebody(api.plane, "eva")
        soon, late = await link_of(api.plane, eva), await link_of(api.plane, eva)
        api.world.clock.advance(timedelta(minutes=10) - SECOND)
        assert (await api.use_link(soon)).status == 200
        api.world.clock.advance(SECOND)
        assert (await api.use_link(late)).status == 401

    asyncio.run(story())


def test_of_two_who_use_a_link_in_the_same_moment_one_is_let_in(store: Store) -> None:
    async def story() -> None:
        api = Api(store)
        eva = await somebody(api.plane, "eva")
        code = await link_of(api.plane, eva)

        answers = await asyncio.gather(*(api.use_link(code) for _ in range(5)))

        assert sorted(each.status for each in answers)[:2] != [200, 200]
        assert len(api.plane.people.directory.sessions_of(eva.id)) == 1

    asyncio.run(story())


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"sec_fetch_mode": "navigate", "sec_fetch_site": "cross-site"},
        {"sec_fetch_mode": "navigate", "sec_fetch_site": "same-site"},
        {"sec_fetch_mode": "no-cors", "sec_fetch_site": "none"},
        {"sec_fetch_mode": "cors", "sec_fetch_site": "same-origin"},
    ],
)
def test_a_program_or_another_site_that_opens_a_link_does_not_use_it_up(
    headers: dict[str, str],
) -> None:
    async def story() -> None:
        api = Api()
        code = await link_of(api.plane, await somebody(api.plane, "eva"))
        path = f"/auth/link/{code}"

        looked = await ask(api.app, "GET", path, token="", **headers)
        opened = await ask(api.app, "GET", path, token="", **TYPED)
        again = await ask(api.app, "GET", path, token="", **headers)

        assert (looked.status, looked.cookies) == (200, {})
        assert b'action="/auth/link"' in looked.body
        assert b"eva@lab.example" in looked.body
        assert opened.status == 303
        assert opened.cookies.keys() == {COOKIE, REFRESH}
        assert again.status == 401
        assert b"<form" not in again.body

    asyncio.run(story())


# --- a session is all that its person may do, so only such a credential makes one


@pytest.mark.parametrize("lacking", sorted(Scope))
def test_a_token_with_fewer_scopes_cannot_make_itself_a_session(lacking: Scope) -> None:
    async def story() -> None:
        api = Api()
        narrow = await token_of(api.plane, "eva", scopes=ALL_SCOPES - {lacking})
        asked = (await ask(api.app, "POST", "/v1/auth/device", {}, token="")).json
        form = f"code={asked['user_code']}&answer=approve".encode()
        ways: list[tuple[str, object]] = [
            ("/v1/users/me/link", {}),
            (f"/v1/auth/device/{asked['user_code']}", {"approve": True}),
            ("/device", form),
        ]
        for path, body in ways:
            assert (await ask(api.app, "POST", path, body, token=narrow)).status == 403, path

        redeemed = {"device_code": asked["device_code"]}
        answer = await ask(api.app, "POST", "/v1/auth/device/token", redeemed, token="")
        assert answer.json["code"] == "slow-down"
        eva = await somebody(api.plane, "eva")
        assert api.plane.people.directory.sessions_of(eva.id) == []

    asyncio.run(story())


def test_a_terminal_is_let_in_once_by_the_person_who_approves_it() -> None:
    async def story() -> None:
        api = Api()
        eva = await signed_in(api.plane, "eva")
        asked = (await ask(api.app, "POST", "/v1/auth/device", {}, token="")).json
        redeemed = {"device_code": asked["device_code"]}

        async def ask_again() -> Answer:
            api.world.clock.advance(timedelta(seconds=asked["interval"]))
            return await ask(api.app, "POST", "/v1/auth/device/token", redeemed, token="")

        assert (await ask_again()).json["code"] == "authorization-pending"
        approved = f"/v1/auth/device/{asked['user_code'].lower().replace('-', ' ')}"
        await ask(api.app, "POST", approved, {"approve": True}, token=eva.access)
        let_in, again = await ask_again(), await ask_again()

        assert let_in.json["email"] == "eva@lab.example"
        assert await api.me(let_in.json["access_token"]) == 200
        assert again.json["code"] == "device-code-expired"

    asyncio.run(story())


def test_a_terminal_that_is_denied_gets_nothing() -> None:
    async def story() -> None:
        api = Api()
        eva = await token_of(api.plane, "eva", scopes=frozenset({Scope.SELF}))
        asked = (await ask(api.app, "POST", "/v1/auth/device", {}, token="")).json
        path = f"/v1/auth/device/{asked['user_code']}"
        assert (await ask(api.app, "POST", path, {"approve": False}, token=eva)).status == 200

        redeemed = {"device_code": asked["device_code"]}
        answer = await ask(api.app, "POST", "/v1/auth/device/token", redeemed, token="")

        assert answer.json["code"] == "access-denied"

    asyncio.run(story())
