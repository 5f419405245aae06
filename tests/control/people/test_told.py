"""Whatever is done with people is in the ledger under somebody's e-mail."""

import asyncio

import pytest

from clusterra.control.people.doing import SYSTEM, Doer
from clusterra.core.access import ALL_SCOPES, Role
from clusterra.core.errors import Unauthenticated
from clusterra.core.events.catalogue import CATALOGUE
from clusterra.core.people.person import ledger_of
from clusterra.ports import Store
from tests.control.people.server import CLUSTER, DESK, HOME, Server

ANA, BO = "ana@lab.example", "bo@lab.example"

ABOUT_PEOPLE = {
    type
    for type in CATALOGUE
    if type.startswith(("user.", "admin.token.", "admin.key."))
    and not type.startswith(("user.quota.", "user.cost."))
}


async def everything_happens(server: Server) -> None:
    """Ana does all that an admin does with people, and her own things."""
    people = server.people
    ana = await server.invited(ANA, Role.OWNER)
    by = Doer(actor=ana.actor, role=Role.OWNER, visit=DESK)
    bo = await server.roster.invite(HOME, BO, Role.MEMBER, by=by)
    until = server.clock.now()
    code = await server.links.make(bo, within=HOME, made_by=ANA, until=until)
    with pytest.raises(Unauthenticated):
        await server.links.use(code, visit=DESK)
    opened = await server.signed_in(ana)
    await server.sessions.end(opened.session, why="", actor=ana.actor, visit=DESK)
    _, token = await people.tokens.make(
        ana, name="ci", scopes=ALL_SCOPES, within="", until=None, by=by
    )
    _, key = await people.keys.make(CLUSTER, HOME, name="new", by=by)
    for used in (token, key):
        people.uses.note(used, DESK)
    await people.uses.write()
    await people.tokens.revoke(ana, token.id, within="", by=by)
    await people.keys.revoke(CLUSTER, HOME, key.id, by=by)
    await server.roster.remove(HOME, BO, by=by)


def test_every_event_about_people_is_told_by_the_one_who_did_it(store: Store) -> None:
    async def story() -> None:
        server = await Server(store).open()
        before = (await store.head(ledger_of(HOME))).size

        await everything_happens(server)

        told = (await server.told())[before:]
        anas = {each["type"] for each in told if each["actor"] == f"user:{ANA}"}
        nobodys = {each["type"] for each in told if not each["actor"].startswith("user:")}
        assert {each["type"] for each in told} == ABOUT_PEOPLE
        # Nobody was let in, and a key is shown by a machine.
        assert nobodys == {"user.login_failed", "admin.key.first_used"}
        assert anas == ABOUT_PEOPLE - nobodys
        assert {each["actor"] for each in told if each["type"] == "user.login_failed"} == {SYSTEM}

    asyncio.run(story())


def test_every_one_of_them_says_where_it_came_from(store: Store) -> None:
    async def story() -> None:
        server = await Server(store).open()
        before = (await store.head(ledger_of(HOME))).size

        await everything_happens(server)

        for each in (await server.told())[before:]:
            assert (each["address"], each["agent"]) == (DESK.address, DESK.agent)

    asyncio.run(story())
