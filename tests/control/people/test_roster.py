"""Who is in which workspace, as what; and the Linux user that each is for ever."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from clusterra.adapters.sqlite.store import SqliteStore
from clusterra.control.people.doing import Doer
from clusterra.core.access import Role
from clusterra.core.change import Change
from clusterra.core.errors import (
    ClusterraError,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    Unauthenticated,
)
from clusterra.core.jobs.job import JobState
from clusterra.core.people.credentials import LINK
from clusterra.core.people.logins import FIRST_UID
from clusterra.core.people.person import LOGIN, PERSON, Person
from clusterra.ports import Store
from tests.builders import a_job
from tests.control.people.server import ADMIN, BIO, CLUSTER, DESK, HOME, OWNER, OWNER_EMAIL, Server

ANA = "ana@lab.example"


def as_(person: Person, role: Role) -> Doer:
    return Doer(actor=person.actor, role=role, visit=DESK)


async def role_of(server: Server, person: Person, workspace: str = HOME) -> Role | None:
    member = server.directory.membership(workspace, person.id)
    return member.role if member else None


def test_somebody_invited_is_there_with_a_user_and_a_number_and_it_is_told(store: Store) -> None:
    async def story() -> None:
        server = await Server(store).open()

        ana = await server.invited(" Ana@Lab.Example", Role.MEMBER)

        assert (ana.email, ana.login, ana.uid) == (ANA, "ana", FIRST_UID + 1)
        assert await role_of(server, ana) is Role.MEMBER
        [*_, told] = await server.told("user.access.granted")
        assert told["actor"] == f"user:{OWNER_EMAIL}"
        assert (told["email"], told["role"], told["login"], told["uid"]) == (
            ANA,
            "member",
            "ana",
            ana.uid,
        )
        assert (told["address"], told["agent"]) == (DESK.address, DESK.agent)

    asyncio.run(story())


def test_who_is_there_already_is_invited_again_without_anything_happening(store: Store) -> None:
    async def story() -> None:
        server = await Server(store).open()
        ana = await server.invited(ANA)
        before = await server.events()

        assert await server.invited("ANA@lab.example") == ana
        assert await server.events() == before
        with pytest.raises(Conflict) as refused:
            await server.invited(ANA, Role.ADMIN)
        assert refused.value.code == "already-there"

    asyncio.run(story())


def test_many_invitations_of_one_address_in_one_moment_are_one(store: Store) -> None:
    async def story() -> None:
        server = await Server(store).open()

        invited = await asyncio.gather(*(server.invited(ANA) for _ in range(5)))

        assert len({person.id for person in invited}) == 1
        granted = await server.told("user.access.granted")
        assert [each["email"] for each in granted] == [OWNER_EMAIL, ANA]

    asyncio.run(story())


def test_a_login_that_was_asked_for_is_given_if_nobody_has_it(store: Store) -> None:
    async def story() -> None:
        server = await Server(store).open()

        bo = await server.roster.invite(HOME, "bo@lab.example", Role.MEMBER, by=OWNER, login="bob")

        assert bo.login == "bob"
        for email, login, code in [
            (ANA, "bob", "login-taken"),
            (ANA, "root", "user-name"),
            (ANA, "No Name", "user-name"),
            ("bo@lab.example", "other", "has-login"),
        ]:
            with pytest.raises(ClusterraError) as refused:
                await server.roster.invite(HOME, email, Role.MEMBER, by=OWNER, login=login)
            assert refused.value.code == code
        assert server.directory.by_email(ANA) is None

    asyncio.run(story())


def test_nobody_is_invited_into_a_workspace_that_is_not_there_or_by_what_is_no_address() -> None:
    async def story() -> None:
        server = await Server().open()

        with pytest.raises(NotFound):
            await server.invited(ANA, workspace="nowhere")
        with pytest.raises(Invalid):
            await server.invited("ana")

    asyncio.run(story())


def test_a_role_is_changed_and_told(store: Store) -> None:
    async def story() -> None:
        server = await Server(store).open()
        ana = await server.invited(ANA)

        await server.roster.change_role(HOME, ana.id, Role.ADMIN, by=OWNER)
        await server.roster.change_role(HOME, ANA, Role.ADMIN, by=OWNER)

        assert await role_of(server, ana) is Role.ADMIN
        roles = [each["role"] for each in await server.told("user.access.granted")]
        assert roles == ["owner", "member", "admin"]

    asyncio.run(story())


def test_an_admin_gives_and_takes_up_to_admin_and_nothing_of_an_owners() -> None:
    async def story() -> None:
        server = await Server().open()
        ana = await server.roster.invite(HOME, ANA, Role.ADMIN, by=ADMIN)
        acts = [
            server.roster.invite(HOME, "eve@lab.example", Role.OWNER, by=ADMIN),
            server.roster.change_role(HOME, ana.id, Role.OWNER, by=ADMIN),
            server.roster.change_role(HOME, OWNER_EMAIL, Role.MEMBER, by=ADMIN),
            server.roster.remove(HOME, OWNER_EMAIL, by=ADMIN),
        ]

        for act in acts:
            with pytest.raises(Forbidden) as refused:
                await act
            assert refused.value.code == "role"
        await server.roster.change_role(HOME, ana.id, Role.VIEWER, by=ADMIN)
        assert server.directory.by_email("eve@lab.example") is None

    asyncio.run(story())


def test_anybody_may_leave_whatever_they_are() -> None:
    async def story() -> None:
        server = await Server().open()
        ana = await server.invited(ANA, Role.VIEWER)

        await server.roster.remove(HOME, ANA, by=as_(ana, Role.VIEWER))

        assert await role_of(server, ana) is None
        [told] = await server.told("user.access.revoked")
        assert told["actor"] == f"user:{ANA}"

    asyncio.run(story())


def test_the_last_owner_stays_until_there_is_another() -> None:
    async def story() -> None:
        server = await Server().open()
        olga = server.people.operator
        for act in (
            server.roster.remove(HOME, olga.id, by=OWNER),
            server.roster.change_role(HOME, olga.id, Role.ADMIN, by=OWNER),
        ):
            with pytest.raises(Conflict) as refused:
                await act
            assert refused.value.code == "last-owner"

        await server.invited(ANA, Role.OWNER)
        await server.roster.remove(HOME, olga.id, by=OWNER)

        assert await role_of(server, olga) is None
        assert await role_of(server, olga, BIO) is Role.OWNER

    asyncio.run(story())


def test_two_owners_who_remove_each_other_in_one_moment_leave_one(store: Store) -> None:
    async def story() -> None:
        server = await Server(store).open()
        ana, olga = await server.invited(ANA, Role.OWNER), server.people.operator

        outcomes = await asyncio.gather(
            server.roster.remove(HOME, olga.id, by=as_(ana, Role.OWNER)),
            server.roster.change_role(HOME, ana.id, Role.MEMBER, by=OWNER),
            return_exceptions=True,
        )

        assert len(server.directory.owners(HOME)) == 1
        [refused] = [each for each in outcomes if isinstance(each, ClusterraError)]
        assert refused.code == "last-owner"

    asyncio.run(story())


def test_who_is_removed_is_let_in_by_nothing_any_more_and_all_of_it_is_told(store: Store) -> None:
    async def story() -> None:
        server = await Server(store).open()
        ana = await server.invited(ANA)
        secret, token = await server.token_of(ana)
        opened = await server.signed_in(ana)
        code = await server.links.make(
            ana, within=HOME, made_by="olga", until=server.clock.now() + timedelta(days=1)
        )
        jobs = [a_job(n, user=ana.login, state=JobState.RUNNING) for n in (1, 2, 3)]
        others = [
            a_job(4, user=ana.login, state=JobState.COMPLETED),
            a_job(5, user="bo", state=JobState.RUNNING),
        ]
        await store.commit(CLUSTER, Change(jobs=[*jobs, *others]))
        seen: list[int] = []
        server.directory.watch(lambda: seen.append(len(server.directory.sessions_of(ana.id))))

        assert await server.roster.remove(HOME, ANA, by=OWNER) == 3

        assert server.directory.token(token.hash) is None
        assert server.directory.session(opened.session.id) is None
        assert seen == [0]
        for showing in (
            server.sessions.refresh(opened.refresh, visit=DESK),
            server.links.use(code, visit=DESK),
        ):
            with pytest.raises(Unauthenticated):
                await showing
        revoked, tokens, logout = (
            await server.told("user.access.revoked"),
            await server.told("admin.token.revoked"),
            await server.told("user.logout"),
        )
        assert [(each["email"], each["left_live"]) for each in revoked] == [(ANA, 3)]
        assert [(each["id"], each["address"]) for each in tokens] == [(token.id, DESK.address)]
        assert [(each["email"], each["why"]) for each in logout] == [(ANA, "removed")]
        assert {each["actor"] for each in revoked + tokens + logout} == {OWNER.actor}
        assert secret not in str(await server.events())

    asyncio.run(story())


def test_an_old_link_is_not_good_for_whoever_is_invited_under_that_address_later() -> None:
    async def story() -> None:
        server = await Server().open()
        ana = await server.invited(ANA)
        until = server.clock.now() + timedelta(days=1)
        code = await server.links.make(ana, within=HOME, made_by="olga", until=until)

        await server.roster.remove(HOME, ANA, by=OWNER)
        await server.invited(ANA)

        assert await server.store.list(LINK) == []
        with pytest.raises(ClusterraError):
            await server.links.use(code, visit=DESK)

    asyncio.run(story())


def test_who_is_in_two_workspaces_keeps_the_other_and_what_lets_them_in_there(store: Store) -> None:
    async def story() -> None:
        server = await Server(store).open()
        ana = await server.invited(ANA)
        assert await server.invited(ANA, Role.ADMIN, workspace=BIO) == ana
        _, everywhere = await server.token_of(ana)
        _, here = await server.token_of(ana, within=HOME)
        _, there = await server.token_of(ana, within=BIO)
        browser = await server.signed_in(ana)
        narrow = await server.signed_in(ana, within=HOME)

        await server.roster.remove(HOME, ANA, by=OWNER)

        assert await role_of(server, ana, BIO) is Role.ADMIN
        assert {each.id for each in server.directory.tokens_of(ana.id)} == {
            everywhere.id,
            there.id,
        }
        assert here.id not in {each.id for each in server.directory.tokens_of(ana.id)}
        assert [each.id for each in server.directory.sessions_of(ana.id)] == [browser.session.id]
        assert server.directory.session(narrow.session.id) is None
        assert await server.told("user.access.revoked", ledger=BIO) == []

    asyncio.run(story())


def test_somebody_is_removed_even_while_their_token_is_used_and_session_refreshed(
    store: Store,
) -> None:
    async def story() -> None:
        server = await Server(store).open()
        ana = await server.invited(ANA)
        _, token = await server.token_of(ana)
        opened = await server.signed_in(ana)
        server.people.uses.note(token, DESK)

        outcomes = await asyncio.gather(
            server.people.uses.write(),
            server.sessions.refresh(opened.refresh, visit=DESK),
            server.roster.remove(HOME, ANA, by=OWNER),
            return_exceptions=True,
        )

        assert outcomes[2] == 0
        assert server.directory.tokens_of(ana.id) == []
        assert server.directory.sessions_of(ana.id) == []
        reborn = await server.restarted()
        assert reborn.directory.tokens_of(ana.id) == []
        assert reborn.directory.sessions_of(ana.id) == []

    asyncio.run(story())


def test_who_comes_back_is_the_same_person_with_the_same_user_and_number(store: Store) -> None:
    async def story() -> None:
        server = await Server(store).open()
        ana = await server.invited(ANA)
        await server.roster.remove(HOME, ANA, by=OWNER)
        reborn = await server.restarted()

        back = await reborn.invited(ANA, Role.VIEWER)

        assert (back.id, back.login, back.uid) == (ana.id, ana.login, ana.uid)
        with pytest.raises(NotFound):
            reborn.roster.find(BIO, ANA)

    asyncio.run(story())


def test_a_name_and_a_number_are_never_given_to_another_not_even_after_a_restart(
    store: Store,
) -> None:
    async def story() -> None:
        server = await Server(store).open()
        ana = await server.invited(ANA)
        await server.roster.remove(HOME, ANA, by=OWNER)
        reborn = await server.restarted()

        other = await reborn.invited("ana@other.example")
        third = await (await reborn.restarted()).invited("ana@third.example")

        assert [each.login for each in (ana, other, third)] == ["ana", "ana-2", "ana-3"]
        assert [each.uid for each in (ana, other, third)] == [ana.uid, ana.uid + 1, ana.uid + 2]
        assert (await store.list(LOGIN, "ana"))[0].value.person == ana.id

    asyncio.run(story())


def test_two_addresses_of_one_name_invited_in_one_moment_are_two_users(store: Store) -> None:
    async def story() -> None:
        server = await Server(store).open()

        invited = await asyncio.gather(*(server.invited(f"ana@lab{n}.example") for n in range(40)))

        assert len({each.login for each in invited}) == 40
        assert sorted(each.uid for each in invited) == list(range(FIRST_UID + 1, FIRST_UID + 41))

    asyncio.run(story())


def test_two_processes_that_invite_in_one_moment_give_no_name_or_number_twice(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        stores = [SqliteStore(tmp_path / "clusterra.db") for _ in range(2)]
        first, second = await Server(stores[0]).open(), await Server(stores[1]).open()

        invited = await asyncio.gather(
            *(
                server.invited(f"ana@{side}{n}.example")
                for n in range(5)
                for side, server in (("one", first), ("two", second))
            )
        )
        same = await asyncio.gather(first.invited(ANA), second.invited(ANA, workspace=BIO))

        people = [record.value for record in await stores[0].list(PERSON)]
        assert len({each.login for each in invited}) == len({each.uid for each in invited}) == 10
        assert same[0] == same[1]
        assert len(people) == len({each.uid for each in people}) == 12
        for store in stores:
            store.close()

    asyncio.run(story())


def test_nobody_is_found_in_a_workspace_they_are_not_in() -> None:
    async def story() -> None:
        server = await Server().open()
        ana = await server.invited(ANA)

        assert server.roster.find(HOME, " ANA@lab.example ")[0] == ana
        for who in (ana.id, ANA):
            with pytest.raises(NotFound) as refused:
                server.roster.find(BIO, who)
            assert refused.value.code == "person-not-found"

    asyncio.run(story())
