"""Sign in, stay signed in, sign out; and what is told when somebody may not."""

import asyncio
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest

from clusterra.control.people.doing import SYSTEM, Visit
from clusterra.control.people.sessions import Opened
from clusterra.control.people.sign_in import Away
from clusterra.core.access import Role
from clusterra.core.errors import ClusterraError, NotFound, Unauthenticated, Unreachable
from clusterra.core.people.credentials import ACCESS_FOR, LINK_FOR, SESSION_FOR, TWO_TABS
from clusterra.ports import Claims, Store
from tests.control.people.server import (
    BIO,
    DESK,
    ISSUER,
    MemoryProvider,
    Server,
    claims,
)

ANA = "ana@lab.example"
BACK = "https://clusterra.example/auth/callback"
SECOND = timedelta(seconds=1)


async def away(server: Server, who: Claims, code: str = "code-1", to: str = "/jobs") -> Away:
    """Send a browser to the provider, where `who` signs in and is given a code."""
    assert server.provider is not None
    left = await server.sign_in.begin(to=to, redirect_uri=BACK)
    server.provider.coming[code] = who
    return left


def state_of(left: Away) -> str:
    return parse_qs(urlsplit(left.url).query)["state"][0]


async def back(
    server: Server, left: Away, *, code: str = "code-1", state: str = "", kept: str | None = None
) -> Opened:
    return await server.sign_in.finish(
        code=code,
        state=state or state_of(left),
        kept=left.kept if kept is None else kept,
        redirect_uri=BACK,
        visit=DESK,
    )


async def refused(server: Server, left: Away, **shown: str) -> str:
    with pytest.raises(ClusterraError) as error:
        await back(server, left, **shown)
    return error.value.code


def test_who_comes_back_from_the_provider_is_signed_in_and_it_is_told(store: Store) -> None:
    async def story() -> None:
        server = await Server(store).open()
        ana = await server.invited(ANA)

        opened = await back(server, await away(server, claims(ANA)))

        assert (opened.person.id, opened.to) == (ana.id, "/jobs")
        assert server.sessions.session_of(opened.access) == opened.session
        [told] = await server.told("user.login")
        assert told["actor"] == f"user:{ANA}"
        assert (told["email"], told["how"]) == (ANA, "oidc")
        assert (told["address"], told["agent"]) == (DESK.address, DESK.agent)

    asyncio.run(story())


def test_a_sign_in_is_finished_by_the_browser_that_began_it_and_no_other() -> None:
    async def story() -> None:
        server = await Server().open()
        await server.invited(ANA)
        left, other = await away(server, claims(ANA)), await away(server, claims(ANA), "code-2")

        assert await refused(server, left, state="made-up") == "bad-state"
        assert await refused(server, left, state="stäte") == "bad-state"
        assert await refused(server, left, state=state_of(other)) == "bad-state"
        assert await refused(server, left, kept=other.kept) == "bad-state"
        assert await refused(server, left, kept="") == "bad-state"
        assert await refused(server, left, kept="garbage") == "bad-state"
        opened = await back(server, left)
        assert await refused(server, left, kept=opened.refresh) == "bad-state"
        failures = await server.told("user.login_failed")
        assert {each["why"] for each in failures} == {"bad-state"}
        assert len(failures) == 7

    asyncio.run(story())


def test_a_sign_in_is_finished_within_ten_minutes_or_begun_again() -> None:
    async def story() -> None:
        server = await Server().open()
        await server.invited(ANA)
        left = await away(server, claims(ANA))

        server.clock.advance(LINK_FOR)

        assert await refused(server, left) == "bad-state"
        assert server.directory.sessions_of(server.people.operator.id) == []

    asyncio.run(story())


def test_a_code_lets_in_once() -> None:
    async def story() -> None:
        server = await Server().open()
        await server.invited(ANA)
        left = await away(server, claims(ANA))
        await back(server, left)

        assert await refused(server, left) == "code-refused"
        [told] = await server.told("user.login_failed")
        assert told["why"] == "code-refused"

    asyncio.run(story())


def test_without_a_provider_nobody_begins_or_finishes() -> None:
    async def story() -> None:
        server = await Server(provider=None).open()

        with pytest.raises(NotFound) as begun:
            await server.sign_in.begin(to="/", redirect_uri=BACK)
        with pytest.raises(NotFound) as finished:
            await back(server, Away(url="", kept=""), state="s")

        assert begun.value.code == finished.value.code == "no-provider"

    asyncio.run(story())


@pytest.mark.parametrize(
    ("who", "code"),
    [
        (claims("eve@evil.example"), "not-invited"),
        (claims(ANA, "another"), "email-of-another"),
        (claims("\u0430na@lab.example"), "email"),
    ],
)
def test_a_refusal_is_told_with_its_code_and_where_it_came_from(
    store: Store, who: Claims, code: str
) -> None:
    async def story() -> None:
        server = await Server(store).open()
        await server.invited(ANA)
        await back(server, await away(server, claims(ANA, "herself")))

        assert await refused(server, await away(server, who)) == code

        [told] = await server.told("user.login_failed")
        assert (told["email"], told["why"], told["how"]) == (who.email, code, "oidc")
        assert (told["address"], told["agent"]) == (DESK.address, DESK.agent)
        assert told["actor"] == SYSTEM

    asyncio.run(story())


def test_a_refusal_of_somebody_known_is_told_where_they_are_and_of_a_stranger_at_home(
    store: Store,
) -> None:
    async def story() -> None:
        server = await Server(store).open()
        await server.invited(ANA, workspace=BIO)
        # As after any restart, and after the home's settings were changed last.
        server = await server.restarted()
        error = Unauthenticated("No.", code="bad-nonce")

        await server.sessions.failed(error, DESK, how="oidc", email="Ana@lab.example")
        await server.sessions.failed(error, DESK, how="oidc", email="eve@evil.example")
        await server.sessions.failed(error, DESK, how="oidc")

        here = await server.events("user.login_failed")
        there = await server.events("user.login_failed", ledger=BIO)
        assert [each.subject for each in here] == ["sign-in", "sign-in"]
        assert [each.subject for each in there] == [f"user/{ANA}"]

    asyncio.run(story())


def test_a_provider_that_does_not_answer_is_nobodys_failed_sign_in() -> None:
    async def story() -> None:
        server = await Server().open()

        await server.sessions.failed(Unreachable("Down."), DESK, how="oidc")

        assert await server.events("user.login_failed") == []

    asyncio.run(story())


def test_an_access_token_is_good_for_its_minutes_and_while_the_session_lives() -> None:
    async def story() -> None:
        server = await Server().open()
        opened = await server.signed_in(await server.invited(ANA))

        server.clock.advance(ACCESS_FOR - SECOND)
        assert server.sessions.session_of(opened.access)
        server.clock.advance(SECOND)
        with pytest.raises(Unauthenticated) as over:
            server.sessions.session_of(opened.access)
        again = await server.sessions.refresh(opened.refresh, visit=DESK)
        await server.sessions.end(again.session, why="", actor="user:x", visit=DESK)
        with pytest.raises(Unauthenticated) as ended:
            server.sessions.session_of(again.access)

        assert (over.value.code, ended.value.code) == ("token-expired", "session-ended")

    asyncio.run(story())


def test_neither_token_of_a_session_is_good_for_the_other() -> None:
    async def story() -> None:
        server = await Server().open()
        opened = await server.signed_in(await server.invited(ANA))

        with pytest.raises(Unauthenticated):
            server.sessions.session_of(opened.refresh)
        with pytest.raises(Unauthenticated):
            await server.sessions.refresh(opened.access, visit=DESK)

    asyncio.run(story())


def test_a_session_that_is_refreshed_lives_on_and_one_that_is_not_ends(store: Store) -> None:
    async def story() -> None:
        server = await Server(store).open()
        opened = await server.signed_in(await server.invited(ANA))
        left = opened
        for _ in range(3):
            server.clock.advance(SESSION_FOR - SECOND)
            left = await (await server.restarted()).sessions.refresh(left.refresh, visit=DESK)

        server.clock.advance(SESSION_FOR)
        with pytest.raises(Unauthenticated) as over:
            await (await server.restarted()).sessions.refresh(left.refresh, visit=DESK)

        assert left.session.id == opened.session.id
        assert left.session.generation == 4
        assert over.value.code == "token-expired"

    asyncio.run(story())


def test_a_refresh_token_that_comes_again_ends_the_session_for_whoever_has_it(
    store: Store,
) -> None:
    async def story() -> None:
        server = await Server(store).open()
        ana = await server.invited(ANA)
        stolen = await server.signed_in(ana)
        newer = await server.sessions.refresh(stolen.refresh, visit=DESK)
        server.clock.advance(TWO_TABS)
        thief = Visit(address="203.0.113.9", agent="curl")

        with pytest.raises(Unauthenticated) as reused:
            await server.sessions.refresh(stolen.refresh, visit=thief)
        with pytest.raises(Unauthenticated):
            await server.sessions.refresh(newer.refresh, visit=DESK)
        with pytest.raises(Unauthenticated):
            server.sessions.session_of(newer.access)

        assert reused.value.code == "session-ended"
        [told] = await server.told("user.logout")
        assert (told["email"], told["why"]) == (ANA, "refresh-token-reused")
        assert told["address"] == thief.address

    asyncio.run(story())


def test_one_that_is_older_by_two_ends_the_session_at_once() -> None:
    async def story() -> None:
        server = await Server().open()
        first = await server.signed_in(await server.invited(ANA))
        second = await server.sessions.refresh(first.refresh, visit=DESK)
        await server.sessions.refresh(second.refresh, visit=DESK)

        with pytest.raises(Unauthenticated):
            await server.sessions.refresh(first.refresh, visit=DESK)

        assert server.directory.session(first.session.id) is None

    asyncio.run(story())


def test_two_tabs_that_refresh_within_seconds_both_stay(store: Store) -> None:
    async def story() -> None:
        server = await Server(store).open()
        opened = await server.signed_in(await server.invited(ANA))
        newer = await server.sessions.refresh(opened.refresh, visit=DESK)
        server.clock.advance(TWO_TABS - SECOND)

        other = await server.sessions.refresh(opened.refresh, visit=DESK)

        assert other.refresh == ""
        assert server.sessions.session_of(other.access).generation == 2
        assert (await server.sessions.refresh(newer.refresh, visit=DESK)).session.generation == 3

    asyncio.run(story())


def test_tabs_that_refresh_in_the_very_same_moment_get_one_new_refresh_token(
    store: Store,
) -> None:
    async def story() -> None:
        server = await Server(store).open()
        opened = await server.signed_in(await server.invited(ANA))

        tabs = await asyncio.gather(
            *(server.sessions.refresh(opened.refresh, visit=DESK) for _ in range(4))
        )

        assert len([tab for tab in tabs if tab.refresh]) == 1
        for tab in tabs:
            assert server.sessions.session_of(tab.access).generation == 2

    asyncio.run(story())


def test_signing_out_ends_the_session_is_told_once_and_may_be_done_twice(store: Store) -> None:
    async def story() -> None:
        server = await Server(store).open()
        ana = await server.invited(ANA)
        opened = await server.signed_in(ana)
        other = await server.signed_in(ana)

        await asyncio.gather(
            *(
                server.sessions.end(opened.session, why="", actor=ana.actor, visit=DESK)
                for _ in range(3)
            )
        )

        assert [each.id for each in server.directory.sessions_of(ana.id)] == [other.session.id]
        [told] = await server.told("user.logout")
        assert (told["actor"], told["why"], told["how"]) == (f"user:{ANA}", "", "link")

    asyncio.run(story())


def test_who_signs_out_while_a_tab_refreshes_is_signed_out(store: Store) -> None:
    async def story() -> None:
        server = await Server(store).open()
        ana = await server.invited(ANA)
        opened = await server.signed_in(ana)

        await asyncio.gather(
            server.sessions.refresh(opened.refresh, visit=DESK),
            server.sessions.end(opened.session, why="", actor=ana.actor, visit=DESK),
        )

        assert server.directory.sessions_of(ana.id) == []
        assert (await server.restarted()).directory.sessions_of(ana.id) == []

    asyncio.run(story())


def test_who_is_in_two_workspaces_is_told_of_in_both_and_a_narrow_session_in_its_own() -> None:
    async def story() -> None:
        server = await Server().open()
        ana = await server.invited(ANA)
        await server.invited(ANA, Role.VIEWER, workspace=BIO)

        await server.signed_in(ana)
        await server.signed_in(ana, within=BIO)

        assert len(await server.events("user.login")) == 1
        assert len(await server.events("user.login", ledger=BIO)) == 2

    asyncio.run(story())


def test_signing_out_at_the_provider_is_offered_to_who_came_from_there() -> None:
    async def story() -> None:
        server = await Server().open()
        ana = await server.invited(ANA)
        opened = await back(server, await away(server, claims(ANA)))
        linked = await server.signed_in(ana)

        url = await server.sign_in.sign_out_url(opened.session, back_to="https://here.example")

        assert url.startswith(f"{ISSUER}/logout?id_token_hint=id-token-of-ana")
        assert await server.sign_in.sign_out_url(linked.session, back_to="/") == ""

    asyncio.run(story())


def test_a_provider_that_is_down_keeps_nobody_from_signing_out() -> None:
    class Down(MemoryProvider):
        async def sign_out_url(self, *, id_token: str, back_to: str) -> str:
            raise Unreachable("The provider does not answer.")

    async def story() -> None:
        server = await Server(provider=Down()).open()
        await server.invited(ANA)
        opened = await back(server, await away(server, claims(ANA)))

        assert await server.sign_in.sign_out_url(opened.session, back_to="/") == ""

    asyncio.run(story())
