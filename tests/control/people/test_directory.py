"""What is asked at every request is in memory, and never older than what was written."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import pytest

from clusterra.adapters.memory import MemoryStore
from clusterra.core.access import Role
from clusterra.core.change import Kind, Record
from clusterra.core.errors import ClusterraError, Conflict, NotFound
from clusterra.core.people.credentials import TOKEN
from clusterra.core.people.person import ledger_of
from clusterra.ports import Store
from tests.control.people.server import BIO, HOME, OWNER, Server

T = TypeVar("T")
ANA = "ana@lab.example"


class PausingStore(MemoryStore):
    """Lets something happen between the moment a list is read and the moment it arrives."""

    meanwhile: Callable[[], Awaitable[object]] | None = None

    async def list(self, kind: Kind[T], prefix: str = "") -> Sequence[Record[T]]:
        found = await super().list(kind, prefix)
        if kind.name == TOKEN.name and self.meanwhile:
            act, self.meanwhile = self.meanwhile, None
            await act()
        return found


def test_what_is_revoked_while_all_is_read_anew_stays_revoked() -> None:
    async def story() -> None:
        store = PausingStore()
        server = await Server(store).open()
        ana = await server.invited(ANA)
        _, token = await server.token_of(ana)
        store.meanwhile = lambda: server.people.tokens.revoke(ana, token.id, within="", by=OWNER)

        await server.directory.load()

        assert server.directory.token(token.hash) is None

    asyncio.run(story())


def test_whoever_comes_too_late_sees_what_the_other_did_and_can_go_on(store: Store) -> None:
    async def story() -> None:
        one = await Server(store).open()
        ana = await one.invited(ANA)
        two = await one.restarted()
        await two.roster.change_role(HOME, ANA, Role.VIEWER, by=OWNER)
        told: list[None] = []
        one.directory.watch(lambda: told.append(None))

        with pytest.raises(Conflict):
            await one.roster.change_role(HOME, ANA, Role.ADMIN, by=OWNER)
        seen = one.directory.membership(HOME, ana.id)
        await one.roster.change_role(HOME, ANA, Role.ADMIN, by=OWNER)

        assert seen is not None
        assert seen.role is Role.VIEWER
        assert len(told) == 2
        reborn = await one.restarted()
        assert set(reborn.directory.members(HOME)) == set(one.directory.members(HOME))

    asyncio.run(story())


def test_what_another_process_ended_is_forgotten_when_all_is_read_anew(store: Store) -> None:
    async def story() -> None:
        one = await Server(store).open()
        ana = await one.invited(ANA)
        _, token = await one.token_of(ana)
        opened = await one.signed_in(ana)
        two = await one.restarted()
        await two.roster.remove(HOME, ANA, by=OWNER)

        await one.directory.load()

        assert one.directory.token(token.hash) is None
        assert one.directory.session(opened.session.id) is None
        assert one.directory.workspaces_of(ana.id) == []
        assert one.directory.by_email(ANA) == one.directory.by_login("ana") == ana

    asyncio.run(story())


def test_a_change_that_was_refused_is_not_shown(store: Store) -> None:
    async def story() -> None:
        server = await Server(store).open()
        ana = await server.invited(ANA)
        store.hold(ledger_of(HOME), ClusterraError("The ledger is held."))

        with pytest.raises(ClusterraError):
            await server.token_of(ana)
        with pytest.raises(ClusterraError):
            await server.roster.remove(HOME, ANA, by=OWNER)

        assert server.directory.tokens_of(ana.id) == []
        assert server.directory.membership(HOME, ana.id) is not None

    asyncio.run(story())


def test_people_are_found_by_all_that_is_theirs() -> None:
    async def story() -> None:
        server = await Server().open()
        ana = await server.invited(ANA)
        directory = server.directory

        assert directory.person(ana.id) == directory.by_login("ana") == ana
        assert directory.actor_of("ana") == f"user:{ANA}"
        assert directory.actor_of("stranger") == "user:stranger"
        assert (directory.uid_of("ana"), directory.uid_of("stranger")) == (ana.uid, None)
        assert directory.is_in(ana.id, "")
        assert directory.is_in(ana.id, HOME)
        assert not directory.is_in(ana.id, BIO)
        with pytest.raises(NotFound):
            directory.workspace("nowhere")

    asyncio.run(story())
