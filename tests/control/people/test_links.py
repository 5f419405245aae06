"""One-time links: a way in for whoever has no provider to ask."""

import asyncio
from datetime import timedelta

import pytest

from clusterra.control.people.sessions import Opened
from clusterra.core.errors import ClusterraError, Unauthenticated
from clusterra.core.people.credentials import LINK, LINK_FOR, hash_of
from clusterra.ports import Store
from tests.control.people.server import DESK, HOME, OWNER, OWNER_EMAIL, Server

ANA = "ana@lab.example"
SECOND = timedelta(seconds=1)


async def link_of(server: Server, *, within: str = HOME) -> str:
    ana = await server.invited(ANA)
    until = server.clock.now() + LINK_FOR
    return await server.links.make(ana, within=within, made_by=OWNER_EMAIL, until=until)


async def not_let_in(server: Server, code: str) -> str:
    with pytest.raises(Unauthenticated) as error:
        await server.links.use(code, visit=DESK)
    return error.value.code


def test_a_link_lets_its_person_in_once(store: Store) -> None:
    async def story() -> None:
        server = await Server(store, provider=None).open()
        code = await link_of(server)
        assert (await server.links.owner(code)).email == ANA

        opened = await (await server.restarted(provider=None)).links.use(code, visit=DESK)

        assert (opened.person.email, opened.session.within) == (ANA, HOME)
        assert (opened.session.how, opened.session.address) == ("link", DESK.address)
        assert await not_let_in(server, code) == "link-used"
        [told] = await server.told("user.login_failed")
        assert (told["why"], told["how"], told["email"]) == ("link-used", "link", "")

    asyncio.run(story())


def test_of_many_who_use_a_link_in_one_moment_one_is_let_in(store: Store) -> None:
    async def story() -> None:
        server = await Server(store).open()
        code = await link_of(server)

        outcomes = await asyncio.gather(
            *(server.links.use(code, visit=DESK) for _ in range(4)), return_exceptions=True
        )

        late = [each for each in outcomes if isinstance(each, ClusterraError)]
        assert len([each for each in outcomes if isinstance(each, Opened)]) == 1
        assert [each.code for each in late] == ["link-used"] * 3
        assert len(await server.events("user.login_failed")) == 3

    asyncio.run(story())


def test_a_link_is_good_for_its_minutes_and_not_longer() -> None:
    async def story() -> None:
        server = await Server().open()
        code = await link_of(server)

        server.clock.advance(LINK_FOR - SECOND)
        assert await server.links.owner(code)
        server.clock.advance(SECOND)
        assert await not_let_in(server, code) == "link-used"
        assert await not_let_in(server, "made-up") == "link-used"
        assert await not_let_in(server, "") == "link-used"

    asyncio.run(story())


def test_a_link_is_kept_as_a_hash(store: Store) -> None:
    async def story() -> None:
        server = await Server(store).open()

        code = await link_of(server)

        [record] = await store.list(LINK)
        assert record.id == hash_of(code)
        assert code not in repr(record)

    asyncio.run(story())


def test_a_link_of_somebody_who_was_removed_from_elsewhere_too_lets_nobody_in() -> None:
    async def story() -> None:
        server = await Server().open()
        code = await link_of(server, within="")
        await server.roster.remove(HOME, ANA, by=OWNER)

        assert await not_let_in(server, code) == "link-used"
        with pytest.raises(Unauthenticated):
            await server.links.owner(code)

    asyncio.run(story())
