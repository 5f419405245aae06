"""A terminal asks, a person who is signed in answers in a browser."""

import asyncio
from datetime import timedelta

import pytest

from clusterra.control.people.device import INTERVAL, Asked
from clusterra.control.people.doing import Visit
from clusterra.control.people.sessions import Opened
from clusterra.core.errors import ClusterraError, NotFound
from clusterra.core.people.credentials import DEVICE, DEVICE_FOR
from clusterra.core.people.person import Person
from clusterra.ports import Store
from tests.control.people.server import HOME, OWNER, Server

ANA = "ana@lab.example"
TERMINAL = Visit(address="192.0.2.44", agent="clusterra/0.1.0")


async def asked(server: Server) -> Asked:
    made = await server.people.devices.ask(agent="laptop", visit=TERMINAL)
    server.clock.advance(INTERVAL)
    return made


async def answered(server: Server, made: Asked, person: Person, *, approve: bool = True) -> None:
    await server.people.devices.answer(made.request.code, person, approve=approve, within=HOME)


async def refused(server: Server, device_code: str) -> str:
    with pytest.raises(ClusterraError) as error:
        await server.people.devices.redeem(device_code, visit=TERMINAL)
    return error.value.code


def test_a_terminal_that_was_let_in_is_signed_in_as_whoever_let_it_in(store: Store) -> None:
    async def story() -> None:
        server = await Server(store).open()
        ana, made = await server.invited(ANA), await asked(server)
        waiting = await server.people.devices.waiting(made.request.code)

        await answered(server, made, ana)
        opened = await server.people.devices.redeem(made.device_code, visit=TERMINAL)

        assert (waiting.agent, waiting.address) == ("laptop", TERMINAL.address)
        assert (opened.person.id, opened.session.within) == (ana.id, HOME)
        [told] = await server.told("user.login")
        assert (told["actor"], told["how"]) == (f"user:{ANA}", "device")
        assert (told["address"], told["agent"]) == (TERMINAL.address, "laptop")

    asyncio.run(story())


@pytest.mark.parametrize("typed", ["{}", " {} ", "lower", "without dash", "spaced"])
def test_a_code_is_known_however_it_is_typed(typed: str) -> None:
    async def story() -> None:
        server = await Server().open()
        code = (await asked(server)).request.code
        forms = {
            "lower": code.lower(),
            "without dash": code.replace("-", ""),
            "spaced": " ".join(code.lower()),
        }

        found = await server.people.devices.waiting(forms.get(typed, typed.format(code)))

        assert found.code == code

    asyncio.run(story())


def test_while_nobody_has_answered_it_waits_and_is_told_when_it_asks_too_often() -> None:
    async def story() -> None:
        server = await Server().open()
        made = await asked(server)

        assert await refused(server, made.device_code) == "authorization-pending"
        assert await refused(server, made.device_code) == "slow-down"
        server.clock.advance(INTERVAL)
        assert await refused(server, made.device_code) == "authorization-pending"

    asyncio.run(story())


def test_who_asks_before_the_first_interval_is_too_soon() -> None:
    async def story() -> None:
        server = await Server().open()
        made = await server.people.devices.ask(agent="", visit=TERMINAL)

        assert made.request.agent == TERMINAL.agent
        assert await refused(server, made.device_code) == "slow-down"

    asyncio.run(story())


def test_a_terminal_that_was_denied_gets_nothing_and_cannot_be_let_in_after(store: Store) -> None:
    async def story() -> None:
        server = await Server(store).open()
        ana, made = await server.invited(ANA), await asked(server)

        await answered(server, made, ana, approve=False)

        with pytest.raises(NotFound) as error:
            await answered(server, made, ana, approve=True)
        assert error.value.code == "no-such-code"
        assert await refused(server, made.device_code) == "access-denied"
        assert await refused(server, made.device_code) == "device-code-expired"
        assert server.directory.sessions_of(ana.id) == []

    asyncio.run(story())


def test_after_ten_minutes_nobody_can_let_it_in_and_nothing_lets_it_in() -> None:
    async def story() -> None:
        server = await Server().open()
        ana, waiting, approved = await server.invited(ANA), await asked(server), await asked(server)
        await answered(server, approved, ana)

        server.clock.advance(DEVICE_FOR)

        with pytest.raises(NotFound):
            await answered(server, waiting, ana)
        assert await refused(server, waiting.device_code) == "device-code-expired"
        assert await refused(server, approved.device_code) == "device-code-expired"

    asyncio.run(story())


def test_only_the_terminal_that_asked_has_the_secret(store: Store) -> None:
    async def story() -> None:
        server = await Server(store).open()
        made = await asked(server)
        await answered(server, made, await server.invited(ANA))
        code, _, secret = made.device_code.partition(".")
        [record] = await store.list(DEVICE)

        for wrong in (code, f"{code}.", f"{code}.guessed", f".{secret}", f"AAAA-AAAA.{secret}", ""):
            assert await refused(server, wrong) == "device-code-expired"
        assert secret not in repr(record)
        assert await server.people.devices.redeem(made.device_code, visit=TERMINAL)

    asyncio.run(story())


def test_it_lets_in_once_even_of_two_who_show_it_in_one_moment(store: Store) -> None:
    async def story() -> None:
        server = await Server(store).open()
        made = await asked(server)
        await answered(server, made, await server.invited(ANA))

        outcomes = await asyncio.gather(
            *(server.people.devices.redeem(made.device_code, visit=TERMINAL) for _ in range(3)),
            return_exceptions=True,
        )

        late = [each for each in outcomes if isinstance(each, ClusterraError)]
        assert len([each for each in outcomes if isinstance(each, Opened)]) == 1
        assert [each.code for each in late] == ["device-code-expired"] * 2
        assert await refused(server, made.device_code) == "device-code-expired"

    asyncio.run(story())


def test_a_terminal_that_was_let_in_by_somebody_removed_since_is_not() -> None:
    async def story() -> None:
        server = await Server().open()
        made = await asked(server)
        ana = await server.invited(ANA)
        await answered(server, made, ana)

        await server.roster.remove(HOME, ANA, by=OWNER)

        assert await refused(server, made.device_code) == "access-denied"
        assert server.directory.sessions_of(ana.id) == []

    asyncio.run(story())


def test_a_code_that_nobody_waits_with_is_not_found_at_any_length() -> None:
    async def story() -> None:
        server = await Server().open()

        for typed in ("", "WDJB-MJHT", "x" * 100_000, "WDJB-MJHT.secret", "ß" * 4):
            with pytest.raises(NotFound) as error:
                await server.people.devices.waiting(typed)
            assert len(error.value.detail) < 100

    asyncio.run(story())


def test_a_code_can_be_read_aloud_and_is_no_word() -> None:
    async def story() -> None:
        server = await Server().open()

        codes = {(await asked(server)).request.code for _ in range(50)}

        assert len(codes) == 50
        for code in codes:
            assert len(code) == 9
            assert code[4] == "-"
            assert not set(code) & set("AEIOUY0123456789")

    asyncio.run(story())


def test_terminals_that_never_came_back_are_forgotten() -> None:
    async def story() -> None:
        server = await Server().open()
        made = await asked(server)
        await refused(server, made.device_code)
        server.clock.advance(DEVICE_FOR + timedelta(seconds=1))

        await asked(server)

        assert made.request.code not in server.people.devices._asked_at

    asyncio.run(story())
