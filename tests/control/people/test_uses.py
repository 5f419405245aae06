"""That something was used is noted without writing, and written now and then."""

import asyncio
from datetime import timedelta

from clusterra.adapters.memory import MemoryStore
from clusterra.control.people.doing import Visit
from clusterra.control.people.uses import OFTEN_ENOUGH
from clusterra.core.change import Change
from clusterra.core.people.credentials import Token
from clusterra.core.people.person import Person
from clusterra.ports import Store
from tests.control.people.server import BIO, CLUSTER, DESK, HOME, OWNER, Server

ANA = "ana@lab.example"
ELSEWHERE = Visit(address="203.0.113.9", agent="curl")


class CountingStore(MemoryStore):
    commits = 0

    async def commit(self, cluster: str, change: Change) -> int:
        self.commits += 1
        return await super().commit(cluster, change)


async def anas_token(server: Server) -> tuple[Person, Token]:
    ana = await server.invited(ANA)
    return ana, (await server.token_of(ana))[1]


def current(server: Server, token: Token) -> Token:
    found = server.directory.token(token.hash)
    assert found is not None
    return found


def test_noting_writes_nothing() -> None:
    async def story() -> None:
        store = CountingStore()
        server = await Server(store).open()
        _, token = await anas_token(server)
        opened = await server.signed_in(server.people.operator)
        before = store.commits

        for _ in range(100):
            server.people.uses.note(current(server, token), DESK)
            server.sessions.session_of(opened.access)
            server.clock.advance(timedelta(seconds=1))

        assert store.commits == before
        await server.people.uses.write()
        assert store.commits == before + 1

    asyncio.run(story())


def test_the_first_use_is_told_once_with_where_it_came_from(store: Store) -> None:
    async def story() -> None:
        server = await Server(store).open()
        _, token = await anas_token(server)
        woken: list[None] = []
        server.people.uses.wake = lambda: woken.append(None)

        server.people.uses.note(token, DESK)
        server.clock.advance(OFTEN_ENOUGH)
        server.people.uses.note(token, ELSEWHERE)
        await server.people.uses.write()
        server.clock.advance(OFTEN_ENOUGH)
        server.people.uses.note(current(server, token), ELSEWHERE)
        await server.people.uses.write()

        [told] = await server.told("admin.token.first_used")
        assert (told["id"], told["email"], told["actor"]) == (token.id, ANA, f"user:{ANA}")
        assert (told["address"], told["agent"]) == (DESK.address, DESK.agent)
        assert len(woken) == 1

    asyncio.run(story())


def test_the_first_use_is_told_in_every_workspace_that_the_token_reaches() -> None:
    async def story() -> None:
        server = await Server().open()
        await server.invited(ANA, workspace=BIO)
        _, token = await anas_token(server)

        server.people.uses.note(token, DESK)
        await server.people.uses.write()

        for ledger in (HOME, BIO):
            assert len(await server.events("admin.token.first_used", ledger=ledger)) == 1

    asyncio.run(story())


def test_when_it_was_last_used_is_known_to_within_a_minute_and_survives(store: Store) -> None:
    async def story() -> None:
        server = await Server(store).open()
        _, token = await anas_token(server)
        uses, first = server.people.uses, server.clock.now()
        uses.note(token, DESK)
        assert await uses.write()

        server.clock.advance(OFTEN_ENOUGH - timedelta(seconds=1))
        uses.note(current(server, token), DESK)
        assert not await uses.write()
        assert current(server, token).last_used_at == first
        server.clock.advance(timedelta(seconds=1))
        uses.note(current(server, token), DESK)
        assert await uses.write()

        reborn = await server.restarted()
        assert current(reborn, token).last_used_at == first + OFTEN_ENOUGH

    asyncio.run(story())


def test_what_was_revoked_meanwhile_does_not_come_back(store: Store) -> None:
    async def story() -> None:
        server = await Server(store).open()
        ana, token = await anas_token(server)
        server.people.uses.note(token, DESK)

        await server.people.tokens.revoke(ana, token.id, within="", by=OWNER)
        await server.people.uses.write()

        assert server.directory.token(token.hash) is None
        assert (await server.restarted()).directory.token(token.hash) is None
        assert await server.events("admin.token.first_used") == []

    asyncio.run(story())


def test_what_was_revoked_by_another_process_keeps_nothing_else_from_being_written(
    store: Store,
) -> None:
    async def story() -> None:
        server = await Server(store).open()
        ana, gone = await anas_token(server)
        _, kept = await server.token_of(ana)
        other = await server.restarted()
        for token in (gone, kept):
            server.people.uses.note(token, DESK)

        await other.people.tokens.revoke(ana, gone.id, within="", by=OWNER)
        await server.people.uses.write()

        assert server.directory.token(gone.hash) is None
        assert current(server, kept).last_used_at == server.clock.now()
        assert len(await server.events("admin.token.first_used")) == 1

    asyncio.run(story())


def test_the_first_use_of_a_clusters_key_is_told_as_the_clusters(store: Store) -> None:
    async def story() -> None:
        server = await Server(store).open()
        [key] = server.directory.keys_of(CLUSTER)

        server.people.uses.note(key, ELSEWHERE)
        await server.people.uses.write()

        [told] = await server.told("admin.key.first_used")
        assert (told["id"], told["cluster"], told["actor"]) == (
            key.id,
            CLUSTER,
            f"system:{CLUSTER}",
        )
        assert told["address"] == ELSEWHERE.address
        assert server.directory.keys_of(CLUSTER)[0].last_used_at == server.clock.now()

    asyncio.run(story())
