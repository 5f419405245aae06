"""API tokens: shown once, kept as hashes, good until revoked."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from clusterra.core.access import Scope
from clusterra.core.change import Kind
from clusterra.core.errors import NotFound
from clusterra.core.people.credentials import SESSION, TOKEN, TOKEN_PREFIX, hash_of
from clusterra.core.people.person import EMAIL, LOGIN, MEMBERSHIP, PERSON
from clusterra.ports import Store
from tests.control.people.server import BIO, DESK, HOME, OWNER, OWNER_EMAIL, Server

ANA = "ana@lab.example"


def test_a_token_is_shown_once_and_nowhere_kept(store: Store) -> None:
    async def story() -> None:
        server = await Server(store).open()
        ana = await server.invited(ANA)

        secret, token = await server.token_of(ana)

        assert secret.startswith(TOKEN_PREFIX)
        assert len(secret) > 40
        assert server.directory.token(hash_of(secret)) == token
        kinds: tuple[Kind[Any], ...] = (TOKEN, SESSION, PERSON, MEMBERSHIP, EMAIL, LOGIN)
        records = [repr(record) for kind in kinds for record in await store.list(kind)]
        bodies = [event.body.decode() for event in await server.events()]
        kept = "\n".join(records + bodies)
        assert token.id in kept
        assert secret not in kept
        assert secret.removeprefix(TOKEN_PREFIX) not in kept
        assert hash_of(secret) not in "\n".join(bodies)

    asyncio.run(story())


def test_a_token_keeps_its_scopes_end_and_workspace_over_a_restart(store: Store) -> None:
    async def story() -> None:
        server = await Server(store).open()
        ana = await server.invited(ANA)
        until = server.clock.now() + timedelta(days=1)

        secret, token = await server.people.tokens.make(
            ana, name="ci", scopes=frozenset({Scope.READ}), within=HOME, until=until, by=OWNER
        )

        reborn = await server.restarted()
        assert reborn.directory.token(hash_of(secret)) == token
        assert (token.scopes, token.within, token.expires_at) == (
            frozenset({Scope.READ}),
            HOME,
            until,
        )
        assert token.created_by == OWNER_EMAIL

    asyncio.run(story())


def test_it_is_told_whose_token_was_made_by_whom_with_which_scopes() -> None:
    async def story() -> None:
        server = await Server().open()
        ana = await server.invited(ANA)

        _, token = await server.people.tokens.make(
            ana,
            name="ci",
            scopes=frozenset({Scope.READ, Scope.JOBS}),
            within=HOME,
            until=None,
            by=OWNER,
        )

        [told] = await server.told("admin.token.created")
        assert (told["id"], told["name"], told["email"]) == (token.id, "ci", ANA)
        assert told["scopes"] == ["jobs", "read"]
        assert (told["actor"], told["address"]) == (OWNER.actor, DESK.address)

    asyncio.run(story())


def test_a_token_is_told_of_in_every_workspace_that_it_reaches() -> None:
    async def story() -> None:
        server = await Server().open()
        ana = await server.invited(ANA)
        await server.invited(ANA, workspace=BIO)

        await server.token_of(ana)
        await server.token_of(ana, within=BIO)

        assert len(await server.events("admin.token.created")) == 1
        assert len(await server.events("admin.token.created", ledger=BIO)) == 2

    asyncio.run(story())


def test_a_revoked_token_is_gone_at_once_and_for_good_and_the_others_stay(store: Store) -> None:
    async def story() -> None:
        server = await Server(store).open()
        ana = await server.invited(ANA)
        secret, token = await server.token_of(ana)
        other, _ = await server.token_of(ana)

        await server.people.tokens.revoke(ana, token.id, within="", by=OWNER)

        for each in (server, await server.restarted()):
            assert each.directory.token(hash_of(secret)) is None
            assert each.directory.token(hash_of(other)) is not None
        [told] = await server.told("admin.token.revoked")
        assert (told["id"], told["email"], told["actor"]) == (token.id, ANA, OWNER.actor)

    asyncio.run(story())


def test_nobody_revokes_what_is_not_theirs_or_not_of_the_workspace_they_were_let_into() -> None:
    async def story() -> None:
        server = await Server().open()
        ana, bo = await server.invited(ANA), await server.invited("bo@lab.example")
        _, everywhere = await server.token_of(ana)
        _, here = await server.token_of(ana, within=HOME)

        for person, id, within in [
            (bo, everywhere.id, ""),
            (ana, "tok_made-up", ""),
            (ana, everywhere.id, HOME),
            (ana, here.id, BIO),
        ]:
            with pytest.raises(NotFound) as refused:
                await server.people.tokens.revoke(person, id, within=within, by=OWNER)
            assert refused.value.code == "token-not-found"
        assert await server.people.tokens.revoke(ana, here.id, within=HOME, by=OWNER) == here

    asyncio.run(story())


def test_a_token_is_revoked_even_in_the_moment_in_which_its_use_is_written(store: Store) -> None:
    async def story() -> None:
        server = await Server(store).open()
        ana = await server.invited(ANA)
        _, token = await server.token_of(ana)
        server.people.uses.note(token, DESK)

        await asyncio.gather(
            server.people.uses.write(),
            server.people.tokens.revoke(ana, token.id, within="", by=OWNER),
        )

        assert server.directory.tokens_of(ana.id) == []
        assert await store.list(TOKEN) == []

    asyncio.run(story())
