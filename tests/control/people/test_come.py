"""Who comes from the provider: somebody invited, somebody by a rule, or nobody we let in."""

import asyncio
from dataclasses import replace

import pytest

from clusterra.core.access import Role
from clusterra.core.change import Change
from clusterra.core.errors import Forbidden, Invalid
from clusterra.core.people.person import Identity, Person
from clusterra.core.people.rules import Rules
from clusterra.ports import Claims, Store
from tests.builders import a_job
from tests.control.people.server import BIO, CLUSTER, HOME, ISSUER, OWNER, Server, claims

ANA = "ana@lab.example"
RULES = (
    Rules(workspace=HOME, domains=frozenset({"lab.example"}), domain_role=Role.VIEWER),
    Rules(workspace=BIO, groups={"bio": Role.MEMBER, "bio-admins": Role.ADMIN}),
)


async def come(server: Server, who: Claims) -> Person:
    return await server.roster.come(who, server.rules)


def roles(server: Server, person: Person) -> dict[str, Role]:
    return {each.workspace: each.role for each in server.directory.workspaces_of(person.id)}


def test_the_first_who_comes_with_an_invited_address_is_that_person_from_then_on(
    store: Store,
) -> None:
    async def story() -> None:
        server = await Server(store).open()
        ana = await server.invited(ANA)

        came = await come(server, claims("Ana@LAB.example", "subject-1"))

        assert (came.id, came.identity) == (
            ana.id,
            Identity(issuer=ISSUER, subject="subject-1"),
        )
        reborn = await server.restarted()
        assert (await come(reborn, claims(ANA, "subject-1"))).id == ana.id

    asyncio.run(story())


def test_another_with_that_address_is_refused(store: Store) -> None:
    async def story() -> None:
        server = await Server(store).open()
        await server.invited(ANA)
        await come(server, claims(ANA, "subject-1"))

        with pytest.raises(Forbidden) as refused:
            await come(server, claims(ANA, "subject-2"))

        assert refused.value.code == "email-of-another"

    asyncio.run(story())


def test_people_stay_themselves_when_the_server_is_given_another_provider() -> None:
    async def story() -> None:
        server = await Server().open()
        ana = await server.invited(ANA)
        await come(server, claims(ANA, "subject-1"))

        elsewhere = replace(claims(ANA, "subject-9"), issuer="https://other.example")

        assert (await come(server, elsewhere)).id == ana.id
        with pytest.raises(Forbidden):
            await come(server, replace(elsewhere, subject="subject-10"))

    asyncio.run(story())


def test_another_has_the_address_once_it_was_removed_and_invited_again() -> None:
    async def story() -> None:
        server = await Server().open()
        await server.invited(ANA)
        await come(server, claims(ANA, "subject-1"))
        await server.roster.remove(HOME, ANA, by=OWNER)
        await server.invited(ANA)

        came = await come(server, claims(ANA, "subject-2"))

        assert came.identity == Identity(issuer=ISSUER, subject="subject-2")
        with pytest.raises(Forbidden):
            await come(server, claims(ANA, "subject-1"))

    asyncio.run(story())


def test_who_was_not_invited_is_refused_and_not_made() -> None:
    async def story() -> None:
        server = await Server().open()

        with pytest.raises(Forbidden) as refused:
            await come(server, claims("eve@evil.example"))

        assert refused.value.code == "not-invited"
        assert "clusterra people invite eve@evil.example" in refused.value.hint
        assert server.directory.by_email("eve@evil.example") is None

    asyncio.run(story())


def test_who_was_removed_everywhere_is_refused_like_anybody() -> None:
    async def story() -> None:
        server = await Server().open()
        await server.invited(ANA)
        await come(server, claims(ANA))
        await server.roster.remove(HOME, ANA, by=OWNER)

        with pytest.raises(Forbidden) as refused:
            await come(server, claims(ANA))

        assert refused.value.code == "not-invited"

    asyncio.run(story())


def test_an_address_that_could_be_mistaken_for_another_is_refused() -> None:
    async def story() -> None:
        server = await Server(rules=RULES).open()

        with pytest.raises(Invalid) as refused:
            await come(server, claims("\u0430na@lab.example"))

        assert refused.value.code == "email"

    asyncio.run(story())


def test_an_address_that_changed_at_the_provider_keeps_the_person() -> None:
    async def story() -> None:
        server = await Server().open()
        ana = await server.invited(ANA)
        await come(server, claims(ANA, "subject-1"))

        came = await come(server, claims("ana@married.example", "subject-1"))

        assert (came.id, came.email, came.login) == (ana.id, ANA, ana.login)
        assert server.directory.by_email("ana@married.example") is None

    asyncio.run(story())


def test_a_name_at_the_provider_is_taken_once_and_kept() -> None:
    async def story() -> None:
        server = await Server().open()
        await server.invited(ANA)

        for name in ("Ana López", "Another"):
            who = Claims(issuer=ISSUER, subject="1", email=ANA, name=name)
            assert (await come(server, who)).name == "Ana López"

    asyncio.run(story())


def test_rules_let_in_who_was_not_invited_and_say_which_rule_it_was(store: Store) -> None:
    async def story() -> None:
        server = await Server(store, rules=RULES).open()

        ana = await come(server, claims(ANA, "1", "bio", "bio-admins", "chess"))

        assert roles(server, ana) == {HOME: Role.VIEWER, BIO: Role.ADMIN}
        [*_, here] = await server.told("user.access.granted")
        [*_, there] = await server.told("user.access.granted", ledger=BIO)
        assert (here["by_rule"], there["by_rule"]) == ("domain lab.example", "group bio-admins")
        assert here["email"] == ANA
        assert here["actor"] == "system:clusterra"

    asyncio.run(story())


def test_what_rules_gave_follows_the_groups_and_says_nothing_while_they_stay() -> None:
    async def story() -> None:
        server = await Server(rules=RULES).open()
        ana = await come(server, claims(ANA, "1", "bio"))
        before = await server.events(ledger=BIO)
        await come(server, claims(ANA, "1", "bio"))
        assert await server.events(ledger=BIO) == before

        await come(server, claims(ANA, "1", "bio", "bio-admins"))
        assert roles(server, ana)[BIO] is Role.ADMIN
        await come(server, claims(ANA, "1"))
        assert roles(server, ana) == {HOME: Role.VIEWER}
        [told] = await server.told("user.access.revoked", ledger=BIO)
        assert (told["by_rule"], told["email"]) == ("group bio-admins", ANA)

    asyncio.run(story())


def test_what_a_rule_takes_away_tells_of_the_jobs_that_go_on() -> None:
    async def story() -> None:
        server = await Server(rules=RULES).open()
        ana = await come(server, claims(ANA, "subject-1", "bio"))
        await server.store.commit(CLUSTER, Change(jobs=[a_job(1, user=ana.login)]))

        await come(server, claims("ana@else.example", "subject-1", "bio"))

        [revoked] = await server.told("user.access.revoked")
        assert (revoked["by_rule"], revoked["left_live"]) == ("domain lab.example", 1)

    asyncio.run(story())


def test_who_loses_the_last_group_is_refused_and_what_let_them_in_ends() -> None:
    async def story() -> None:
        server = await Server(rules=RULES).open()
        bo = await come(server, claims("bo@other.example", "2", "bio"))
        _, token = await server.token_of(bo)
        opened = await server.signed_in(bo)

        with pytest.raises(Forbidden) as refused:
            await come(server, claims("bo@other.example", "2"))

        assert refused.value.code == "not-invited"
        assert server.directory.token(token.hash) is None
        assert server.directory.session(opened.session.id) is None

    asyncio.run(story())


def test_who_leaves_a_domain_leaves_what_it_gave_and_keeps_what_a_person_gave() -> None:
    async def story() -> None:
        server = await Server(rules=RULES).open()
        ana = await come(server, claims(ANA, "1"))
        await server.invited(ANA, Role.MEMBER, workspace=BIO)

        await come(server, claims("ana@elsewhere.example", "1"))

        assert roles(server, ana) == {BIO: Role.MEMBER}

    asyncio.run(story())


def test_a_rule_does_not_overrule_a_person(store: Store) -> None:
    async def story() -> None:
        server = await Server(store, rules=RULES).open()
        ana = await server.invited(ANA, Role.ADMIN)
        bo = await come(server, claims("bo@lab.example", "2", "bio"))
        await server.roster.change_role(BIO, bo.id, Role.VIEWER, by=OWNER)

        await come(server, claims(ANA, "1"))
        await come(server, claims("bo@lab.example", "2", "bio-admins"))
        await come(server, claims("bo@lab.example", "2"))

        assert roles(server, ana) == {HOME: Role.ADMIN}
        assert roles(server, bo) == {HOME: Role.VIEWER, BIO: Role.VIEWER}

    asyncio.run(story())


def test_two_who_come_in_one_moment_with_one_new_address_are_not_both_that_person() -> None:
    async def story() -> None:
        server = await Server(rules=RULES).open()

        outcomes = await asyncio.gather(
            come(server, claims(ANA, "1")), come(server, claims(ANA, "2")), return_exceptions=True
        )

        [came] = [each for each in outcomes if isinstance(each, Person)]
        [refused] = [each for each in outcomes if isinstance(each, Forbidden)]
        assert came.identity == Identity(issuer=ISSUER, subject="1")
        assert refused.code == "email-of-another"

    asyncio.run(story())
