"""The proof of the ledger over HTTP: exports, checkpoints, and what a held ledger still does."""

import asyncio
import json

import pytest

from clusterra.api.app import make_app
from clusterra.control.plane import Plane
from clusterra.core.change import Change
from clusterra.core.errors import Refused
from clusterra.core.events.checkpoint import read_key
from clusterra.core.events.reading import Verdict
from clusterra.core.events.verify import Memory, verify
from tests.api.asgi import Answer, ask
from tests.api.listening import listening
from tests.ledger import Ledger, a_draft
from tests.people import token_of
from tests.world import LAB, World

EVENTS = f"/v1/clusters/{LAB}/events"


class Served:
    """A ledger of some events, and the API in front of it."""

    def __init__(self) -> None:
        self.world = World()
        self.plane: Plane = self.world.plane()
        self.app = make_app(self.plane)

    async def grow(self, first: int, last: int) -> None:
        drafts = [a_draft(n) for n in range(first, last + 1)]
        await self.world.store.commit(LAB, Change(events=drafts))

    async def get(self, path: str, **headers: str) -> Answer:
        return await ask(self.app, "GET", path, **headers)

    async def export(self, asked: str = "") -> list[bytes]:
        async with listening(self.app, f"{EVENTS}/export{asked}") as listener:
            await listener.until(lambda: listener.ended)
            assert listener.status == 200
            return listener.heard.removesuffix(b"\n").split(b"\n")


def test_an_export_is_signed_before_it_is_sent_so_that_it_covers_itself() -> None:
    async def story() -> None:
        served = Served()
        await served.grow(1, 1203)
        report = verify(await served.export())
        assert (report.verdict, report.events) == (Verdict.INTACT, 1203)
        assert report.newest is not None
        assert report.newest.checkpoint.size == 1203

        await served.grow(1204, 1210)
        part = verify(await served.export("?after=1200"))
        assert (part.verdict, part.first, part.last) == (Verdict.INTACT, 1201, 1210)
        middle = verify(await served.export("?after=1100&until=1203"))
        assert (middle.verdict, middle.first, middle.last) == (Verdict.INTACT, 1101, 1203)

    asyncio.run(story())


def test_a_ledger_without_events_is_intact() -> None:
    async def story() -> None:
        report = verify(await Served().export())
        assert (report.verdict, report.events) == (Verdict.INTACT, 0)

    asyncio.run(story())


def test_events_go_out_as_the_bytes_that_were_hashed() -> None:
    async def story() -> None:
        served = Served()
        await served.grow(1, 2)
        page = (await served.get(EVENTS)).body
        for line in (await served.export())[1:3]:
            assert line[65:] in page

    asyncio.run(story())


@pytest.mark.parametrize("asked", ["?after=9", "?until=9", "?after=3&until=2"])
def test_what_is_not_there_is_not_exported(asked: str) -> None:
    async def story() -> None:
        served = Served()
        await served.grow(1, 4)
        answer = await served.get(f"{EVENTS}/export{asked}")
        assert answer.status == 422
        assert answer.json["code"] == "events-not-here"
        assert "1 to 4 are" in answer.json["detail"]

    asyncio.run(story())


def test_checkpoints_are_listed_with_the_key_that_signed_them() -> None:
    async def story() -> None:
        served = Served()
        for number in (1, 2, 3):
            await served.grow(number, number)
            await served.plane.ledgers[LAB].sign()

        page = (await served.get(f"{EVENTS}/checkpoints?limit=2")).json

        assert [each["size"] for each in page["checkpoints"]] == [2, 3]
        assert page["held"] == ""
        assert page["key"].startswith(f"{page['origin']}+")
        key = read_key(page["key"])
        report = verify(await served.export(), memory=Memory(key=key))
        assert report.verdict is Verdict.INTACT

    asyncio.run(story())


@pytest.mark.parametrize("path", ["export", "checkpoints"])
def test_only_an_administrator_takes_the_whole_ledger_away(path: str) -> None:
    async def story() -> None:
        served = Served()
        answer = await served.get(f"{EVENTS}/{path}", token=await token_of(served.plane, "ben"))
        assert answer.status == 403
        unknown = await served.get(f"/v1/clusters/clusnone/events/{path}")
        assert unknown.status == 404

    asyncio.run(story())


def test_a_held_ledger_is_read_exported_and_named_by_readyz() -> None:
    async def story() -> None:
        signed = Ledger()
        await signed.grow_and_sign(5)
        served = Served()
        await served.grow(1, 3)
        ledger = served.plane.ledgers[LAB]
        served.plane.archive = ledger.archive = signed.archive
        ledger.signer = signed.checkpointer.signer
        await ledger.open()

        with pytest.raises(Refused):
            await served.grow(9, 9)
        assert len((await served.get(EVENTS)).json["events"]) == 3
        ready = await served.get("/readyz")
        assert ready.status == 200
        assert "covers 5 events; the database holds 3" in ready.json["ledgers_held"][LAB]
        assert "covers 5" in (await served.get(f"{EVENTS}/checkpoints")).json["held"]
        lines = await served.export()
        assert json.loads(lines[0])["last"] == 3
        assert "truncated" in {finding.what for finding in verify(lines).findings}

    asyncio.run(story())
