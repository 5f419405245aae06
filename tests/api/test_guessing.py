"""How often one may guess: tokens, keys, links, codes. Who is right is let in meanwhile."""

import asyncio
from datetime import timedelta

import pytest

from clusterra.api.app import make_app
from clusterra.api.door import GUESSES
from clusterra.core.events.event import EventQuery
from clusterra.core.people.person import ledger_of
from clusterra.settings import ServerSettings
from tests.api.asgi import Answer, ask
from tests.people import link_of, signed_in, somebody, token_of
from tests.world import LAB, World

ME = "/v1/users/me"


def refused(answer: Answer) -> tuple[int, str]:
    return answer.status, answer.json["code"]


def test_after_thirty_wrong_tokens_in_a_minute_an_address_is_told_to_wait() -> None:
    async def story() -> None:
        world = World()
        plane = world.plane()
        right = await token_of(plane, "eva")
        app = make_app(plane)
        for number in range(GUESSES):
            assert (await ask(app, "GET", ME, token=f"clt_{number}")).status == 401
        world.clock.advance(timedelta(seconds=20))

        answer = await ask(app, "GET", ME, token="clt_31")

        assert refused(answer) == (429, "too-many-attempts")
        assert answer.headers["retry-after"] == "41"
        assert (await ask(app, "GET", ME, token=right)).status == 200
        assert (await ask(app, "GET", ME, token="clt_x", address="192.0.2.9")).status == 401
        assert (await ask(app, "GET", "/login", token="")).status == 200
        world.clock.advance(timedelta(seconds=41))
        assert (await ask(app, "GET", ME, token="clt_32")).status == 401

    asyncio.run(story())


@pytest.mark.parametrize("behind_proxy", [False, True])
def test_the_address_that_a_proxy_names_counts_only_where_there_is_one(behind_proxy: bool) -> None:
    async def story() -> None:
        app = make_app(World().plane(ServerSettings(behind_proxy=behind_proxy)))

        async def guess(forwarded: str) -> int:
            shown = {"x_forwarded_for": forwarded}
            return (await ask(app, "GET", ME, token="wrong", **shown)).status

        for number in range(GUESSES):
            # The last address is the proxy's word; what stands before it, the guesser's.
            assert await guess(f"198.51.100.{number}, 203.0.113.5") == 401

        assert await guess("198.51.100.99, 203.0.113.5") == 429
        assert await guess("203.0.113.6") == (401 if behind_proxy else 429)

    asyncio.run(story())


@pytest.mark.parametrize("path", ["/v1/auth/link", "/auth/link"])
def test_wrong_links_are_limited_and_do_not_fill_the_ledger(path: str) -> None:
    async def story() -> None:
        world = World()
        plane = world.plane()
        code = await link_of(plane, await somebody(plane, "eva"))
        app = make_app(plane)

        async def tried(code: str, address: str = "192.0.2.1") -> int:
            body = {"code": code} if path.startswith("/v1") else f"code={code}".encode()
            return (await ask(app, "POST", path, body, token="", address=address)).status

        assert [await tried("wrong") for _ in range(GUESSES)] == [401] * GUESSES
        told = await plane.store.events(ledger_of(plane.people.home), EventQuery())
        assert [await tried("wrong") for _ in range(5)] == [429] * 5
        assert len(await plane.store.events(ledger_of(plane.people.home), EventQuery())) == len(
            told
        )
        assert [each.type for each in told].count("user.login_failed") == GUESSES
        assert await tried(code, address="192.0.2.2") in (200, 303)

    asyncio.run(story())


def test_refusals_that_are_claimed_to_come_from_a_provider_do_not_fill_the_ledger() -> None:
    async def story() -> None:
        plane = World().plane()
        app = make_app(plane)

        for _ in range(GUESSES + 5):
            last = await ask(app, "GET", "/auth/callback?error=access_denied", token="")

        told = await plane.store.events(ledger_of(plane.people.home), EventQuery())
        assert [each.type for each in told].count("user.login_failed") == GUESSES
        assert last.status == 429

    asyncio.run(story())


def test_codes_of_terminals_are_guessed_ten_times_a_minute_by_each_person() -> None:
    async def story() -> None:
        plane = World().plane()
        eva, bo = await token_of(plane, "eva"), await token_of(plane, "bo")
        app = make_app(plane)
        asked = (await ask(app, "POST", "/v1/auth/device", {}, token="")).json["user_code"]
        for _ in range(5):
            assert (await ask(app, "GET", "/v1/auth/device/AAAA-AAAA", token=eva)).status == 404
            wrong = await ask(app, "POST", "/device", b"code=AAAA-AAAA&answer=approve", token=eva)
            assert wrong.status == 404

        answer = {"approve": True}
        late = await ask(app, "POST", f"/v1/auth/device/{asked}", answer, token=eva)
        assert refused(late) == (429, "too-many-attempts")
        assert (await ask(app, "POST", f"/v1/auth/device/{asked}", answer, token=bo)).status == 200

    asyncio.run(story())


def test_terminals_ask_ten_times_a_minute_from_one_address() -> None:
    async def story() -> None:
        app = make_app(World().plane())

        async def asked(address: str) -> int:
            path = "/v1/auth/device"
            return (await ask(app, "POST", path, {}, token="", address=address)).status

        assert [await asked("192.0.2.1") for _ in range(11)] == [200] * 10 + [429]
        assert await asked("192.0.2.2") == 200

    asyncio.run(story())


def test_wrong_keys_of_a_cluster_are_limited_too() -> None:
    async def story() -> None:
        app = make_app(World().plane())

        async def told() -> int:
            path = "/v1/internal/events"
            return (await ask(app, "POST", path, {}, token="wrong", x_cluster_id=LAB)).status

        assert [await told() for _ in range(GUESSES + 1)] == [401] * GUESSES + [429]

    asyncio.run(story())


def test_a_cookie_that_has_run_out_is_no_guess() -> None:
    async def story() -> None:
        world = World()
        plane = world.plane()
        session = await signed_in(plane, "eva")
        app = make_app(plane)
        world.clock.advance(timedelta(hours=1))

        for _ in range(GUESSES + 5):
            page = await ask(
                app, "GET", "/", token="", cookie=f"clusterra_session={session.access}"
            )
            assert page.headers["location"] == "/v1/auth/continue?to=%2F"

    asyncio.run(story())
