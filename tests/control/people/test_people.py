"""A server begins with its workspaces, an owner and the key in the file; and only once."""

import asyncio
from dataclasses import replace

import pytest

from clusterra.core.access import Role
from clusterra.core.errors import Invalid
from clusterra.core.people.logins import FIRST_UID
from clusterra.core.people.person import MEMBERSHIP, PERSON, WORKSPACE, ledger_of
from clusterra.ports import Store
from tests.control.people.server import BIO, CLUSTER, HOME, OWNER, OWNER_EMAIL, Server


def test_the_first_time_every_workspace_gets_whoever_runs_the_server_as_owner(
    store: Store,
) -> None:
    async def story() -> None:
        server = await Server(store).open()

        olga = server.people.operator
        assert (olga.email, olga.login, olga.uid) == (OWNER_EMAIL, "olga", FIRST_UID)
        for workspace in (HOME, BIO):
            [owner] = server.directory.owners(workspace)
            assert owner.person == olga.id
            [told] = await server.told("user.access.granted", ledger=workspace)
            assert (told["email"], told["role"]) == (OWNER_EMAIL, "owner")

    asyncio.run(story())


def test_opening_again_and_from_many_sides_at_once_changes_nothing(store: Store) -> None:
    async def story() -> None:
        server = Server(store)
        await asyncio.gather(*(server.open() for _ in range(5)))
        before = {each: await store.head(ledger_of(each)) for each in (HOME, BIO)}
        people = await store.list(PERSON)

        await server.open()
        reborn = await server.restarted()

        assert {each: await store.head(ledger_of(each)) for each in (HOME, BIO)} == before
        assert await store.list(PERSON) == people
        assert reborn.people.operator == server.people.operator
        assert len(reborn.directory.keys_of(CLUSTER)) == 1

    asyncio.run(story())


@pytest.mark.parametrize("login", ["root", "slurm", "No Name", ""])
def test_an_operator_whose_login_no_person_can_have_gets_one_of_the_e_mail(login: str) -> None:
    async def story() -> None:
        server = await Server(operator_login=login).open()

        assert server.people.operator.login == "olga"

    asyncio.run(story())


def test_root_who_runs_a_server_without_more_is_a_person_with_another_user() -> None:
    async def story() -> None:
        server = await Server(operator_login="root", operator_email="root@localhost").open()

        assert server.people.operator.login == "root-2"

    asyncio.run(story())


def test_the_operator_is_known_in_one_spelling() -> None:
    async def story() -> None:
        server = await Server(operator_email=" Olga@LAB.example").open()

        assert server.people.operator.email == OWNER_EMAIL
        with pytest.raises(Invalid) as refused:
            await Server(operator_email="olga").open()
        assert refused.value.at == "server.owner"

    asyncio.run(story())


def test_another_operator_takes_no_workspace_that_has_an_owner(store: Store) -> None:
    async def story() -> None:
        server = await Server(store).open()

        other = await server.restarted(operator_email="ole@lab.example", operator_login="olga")

        ole = other.people.operator
        assert (ole.email, ole.login) == ("ole@lab.example", "ole")
        assert other.directory.workspaces_of(ole.id) == []

    asyncio.run(story())


def test_an_operator_who_is_somebody_else_in_a_workspace_without_owner_becomes_its_owner(
    store: Store,
) -> None:
    async def story() -> None:
        server = await Server(store).open()
        ana = await server.invited("ana@lab.example", Role.VIEWER)
        for workspace in (HOME, BIO):
            [owner] = server.directory.owners(workspace)
            record = server.directory.record(MEMBERSHIP, f"{workspace}/{owner.person}")
            await server.directory.commit(workspace, drops=[record])

        reborn = await server.restarted(operator_email="ana@lab.example")

        for workspace in (HOME, BIO):
            [owner] = reborn.directory.owners(workspace)
            assert owner.person == ana.id

    asyncio.run(story())


def test_what_was_changed_of_a_workspace_is_not_undone_by_the_settings(store: Store) -> None:
    async def story() -> None:
        server = await Server(store).open()
        record = server.directory.record(WORKSPACE, HOME)
        renamed = replace(record.value, name="Renamed")
        await server.directory.commit(HOME, puts=[replace(record, value=renamed)])

        reborn = await server.restarted()

        assert reborn.directory.workspace(HOME).name == "Renamed"
        assert reborn.directory.home == server.directory.home == HOME

    asyncio.run(story())


def test_somebody_of_no_workspace_any_more_is_told_of_at_home_whatever_its_name(
    store: Store,
) -> None:
    async def story() -> None:
        server = await (await Server(store).open()).restarted()
        ana = await server.invited("ana@lab.example")
        await server.roster.remove(HOME, ana.id, by=OWNER)

        await server.signed_in(ana)
        await server.token_of(ana)

        assert len(await server.events("user.login", "admin.token.created")) == 2
        assert await server.events("user.login", "admin.token.*", ledger=BIO) == []

    asyncio.run(story())
