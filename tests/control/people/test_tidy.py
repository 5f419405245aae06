"""What has run out is forgotten, and nothing else."""

import asyncio
from datetime import timedelta

from clusterra.control.people.tidy import tidy
from clusterra.core.people.credentials import (
    DEVICE,
    DEVICE_FOR,
    LINK,
    LINK_FOR,
    SESSION,
    SESSION_FOR,
    TOKEN,
)
from clusterra.ports import Store
from tests.control.people.server import DESK, HOME, Server


def test_sessions_links_and_codes_are_forgotten_when_their_time_is_over(store: Store) -> None:
    async def story() -> None:
        server = await Server(store).open()
        ana = await server.invited("ana@lab.example")
        until = server.clock.now() + LINK_FOR
        await server.links.make(ana, within=HOME, made_by="", until=until)
        await server.people.devices.ask(agent="", visit=DESK)
        opened = await server.signed_in(ana)
        await server.token_of(ana)

        server.clock.advance(min(LINK_FOR, DEVICE_FOR) - timedelta(seconds=1))
        await tidy(server.people)
        assert len(await store.list(LINK)) == len(await store.list(DEVICE)) == 1
        server.clock.advance(timedelta(seconds=1))
        await tidy(server.people)
        assert [*await store.list(LINK), *await store.list(DEVICE)] == []
        assert len(await store.list(SESSION)) == 1

        server.clock.advance(SESSION_FOR)
        await tidy(server.people)
        assert await store.list(SESSION) == []
        assert server.directory.session(opened.session.id) is None
        assert len(await store.list(TOKEN)) == 1

    asyncio.run(story())


def test_when_nothing_has_run_out_nothing_is_written(store: Store) -> None:
    async def story() -> None:
        server = await Server(store).open()
        told: list[None] = []
        server.directory.watch(lambda: told.append(None))

        assert not await tidy(server.people)

        assert told == []

    asyncio.run(story())
