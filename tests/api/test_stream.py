"""Events as they happen: what a client hears, from where, and when the stream ends."""

import asyncio
from functools import partial

import pytest

from clusterra.api.app import make_app
from clusterra.api.door import Door
from clusterra.api.metrics import RequestMetrics
from clusterra.api.sse import LiveEvents
from clusterra.core.change import Change
from clusterra.core.events.event import EventQuery
from tests.api.asgi import ask
from tests.api.listening import listening
from tests.api.test_events import a_login
from tests.ledger import a_draft
from tests.people import SOMEBODY, token_of
from tests.world import LAB, World

STREAM = f"/v1/clusters/{LAB}/events/stream"


class Ledger:
    def __init__(self, **pace: float) -> None:
        self.world = World()
        self.plane = self.world.plane()
        app = make_app(self.plane)
        # In front of the usual one, with the pace that a test wants.
        self.app = Door(LiveEvents(app, self.plane, **pace), self.plane, RequestMetrics())
        self.listen = partial(listening, self.app)

    async def commit(self, *numbers: int) -> None:
        change = Change(events=[a_draft(n) for n in numbers])
        await self.world.store.commit(LAB, change)


def test_a_stream_says_what_it_is_and_how_long_to_wait_before_coming_back() -> None:
    async def story() -> None:
        async with Ledger().listen(STREAM) as listener:
            assert listener.status == 200
            assert listener.headers == {
                "content-type": "text/event-stream",
                "cache-control": "no-store",
                "x-accel-buffering": "no",
            }
            assert listener.heard.startswith(b"retry: 2000\n\n")

    asyncio.run(story())


def test_an_event_is_its_number_its_type_and_one_line_of_the_stored_bytes() -> None:
    async def story() -> None:
        ledger = Ledger()
        async with ledger.listen(f"{STREAM}?after=0") as listener:
            await ledger.commit(1)
            await listener.hear(1)
        [event] = await ledger.world.store.events(LAB, EventQuery())

        body = event.body
        assert listener.heard.endswith(b"\n\nid: 1\nevent: job.started\ndata: " + body + b"\n\n")
        assert b"\r" not in listener.heard

    asyncio.run(story())


def test_without_a_position_it_starts_at_the_present_and_tells_which_that_is() -> None:
    async def story() -> None:
        ledger = Ledger()
        await ledger.commit(1, 2)
        async with ledger.listen(STREAM) as listener:
            assert listener.heard == b"retry: 2000\n\nid: 2\n\n"
            await ledger.commit(3)
            await listener.hear(3)

    asyncio.run(story())


@pytest.mark.parametrize("after", range(6))
def test_a_client_that_comes_back_goes_on_after_what_it_has(after: int) -> None:
    async def story() -> None:
        ledger = Ledger()
        await ledger.commit(1, 2, 3)
        expected = [n for n in (1, 2, 3, 4, 5) if n > after] if after <= 3 else [1, 2, 3, 4, 5]

        async with (
            ledger.listen(STREAM, last_event_id=str(after)) as by_header,
            ledger.listen(f"{STREAM}?after={after}") as by_address,
            ledger.listen(f"{STREAM}?after=0", last_event_id=str(after)) as by_both,
        ):
            await ledger.commit(4, 5)
            for listener in (by_header, by_address, by_both):
                await listener.hear(*expected)
                assert (b"event: reset" in listener.heard) == (after > 3)

    asyncio.run(story())


def test_a_position_that_was_sealed_away_is_reset_and_goes_on_from_the_oldest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story() -> None:
        ledger = Ledger()
        await ledger.commit(*range(1, 6))

        async def oldest(_: str) -> int:
            return 4

        monkeypatch.setattr(ledger.world.store, "oldest", oldest)
        async with ledger.listen(f"{STREAM}?after=1") as listener:
            await listener.hear(4, 5)
            assert listener.heard.startswith(
                b'retry: 2000\n\nevent: reset\ndata: {"oldest":4,"newest":5}\n\nid: 4\n'
            )

    asyncio.run(story())


def test_filters_and_rights_are_those_of_the_list() -> None:
    async def story() -> None:
        ledger = Ledger()
        path = f"{STREAM}?after=0"
        logins = [a_login("ana@lab.example"), a_login("ben@lab.example")]
        async with (
            ledger.listen(path, token=await token_of(ledger.plane, "ben")) as ben,
            ledger.listen(f"{path}&type=user.*") as admin,
            ledger.listen(f"{path}&subject=job/2") as second,
        ):
            await ledger.commit(1)
            await ledger.world.store.commit(LAB, Change(events=logins))
            await ledger.commit(2)
            await ben.hear(1, 3, 4)
            await admin.hear(2, 3)
            await second.hear(4)

    asyncio.run(story())


@pytest.mark.parametrize("id", ["abc", "-1", "1.5", "9" * 30])
def test_an_id_that_is_none_is_refused(id: str) -> None:
    async def story() -> None:
        answer = await ask(Ledger().app, "GET", STREAM, last_event_id=id)

        assert (answer.status, answer.json["at"]) == (422, "Last-Event-ID")
        answer = await ask(Ledger().app, "GET", f"{STREAM}?after={id}")
        assert (answer.status, answer.json["at"]) == (422, "after")

    asyncio.run(story())


@pytest.mark.parametrize(
    ("asked", "at"), [("type=job.start", "type"), ("since=x", "since"), ("until=x", "until")]
)
def test_a_wrong_filter_is_refused_as_in_the_list(asked: str, at: str) -> None:
    async def story() -> None:
        answer = await ask(Ledger().app, "GET", f"{STREAM}?{asked}")

        assert (answer.status, answer.json["at"]) == (422, at)

    asyncio.run(story())


def test_a_ledger_that_cannot_be_read_is_told_without_its_insides(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story() -> None:
        ledger = Ledger()

        async def oldest(_: str) -> int:
            raise OSError("the inside")

        monkeypatch.setattr(ledger.world.store, "oldest", oldest)
        answer = await ask(ledger.app, "GET", STREAM)

        assert (answer.status, answer.json["code"]) == (500, "internal")
        assert b"inside" not in answer.body

    asyncio.run(story())


def test_a_silent_stream_beats() -> None:
    async def story() -> None:
        async with Ledger(heartbeat=0.01).listen(STREAM) as listener:
            await listener.until(lambda: listener.heard.count(b":\n\n") >= 3)

    asyncio.run(story())


def test_a_stream_ends_as_soon_as_its_token_is_revoked() -> None:
    async def story() -> None:
        ledger = Ledger()
        people, secret = ledger.plane.people, await token_of(ledger.plane, "ben")
        ben = people.directory.by_login("ben")
        assert ben is not None
        async with ledger.listen(STREAM, token=secret) as listener:
            [token] = people.directory.tokens_of(ben.id)
            await people.tokens.revoke(ben, token.id, within="", by=SOMEBODY)
            await listener.until(lambda: listener.ended)

    asyncio.run(story())


def test_a_stream_ends_as_soon_as_its_reader_is_removed_and_nobody_elses_does() -> None:
    async def story() -> None:
        ledger = Ledger()
        people = ledger.plane.people
        async with (
            ledger.listen(STREAM, token=await token_of(ledger.plane, "ben")) as ben,
            ledger.listen(STREAM, token=await token_of(ledger.plane, "eve")) as eve,
        ):
            await people.roster.remove(people.home, "ben@lab.example", by=SOMEBODY)
            await ben.until(lambda: ben.ended)
            await ledger.commit(1)
            await eve.hear(1)

    asyncio.run(story())

    asyncio.run(story())


def test_a_stream_ends_after_its_time_and_the_client_may_come_back() -> None:
    async def story() -> None:
        async with Ledger(heartbeat=0.01, lifetime=0.02).listen(STREAM) as listener:
            await listener.until(lambda: listener.ended)

    asyncio.run(story())


def test_streams_end_when_the_server_is_about_to_stop() -> None:
    async def story() -> None:
        ledger = Ledger()
        async with ledger.listen(STREAM) as listener:
            ledger.plane.hub.close()
            await listener.until(lambda: listener.ended)

    asyncio.run(story())


def test_nothing_is_left_of_a_client_that_has_gone() -> None:
    async def story() -> None:
        ledger = Ledger()
        before = asyncio.all_tasks()
        async with ledger.listen(STREAM), ledger.listen(STREAM):
            assert len(ledger.plane.hub._feeds[LAB].readers) == 2

        assert not ledger.plane.hub._feeds[LAB].readers
        if left := asyncio.all_tasks() - before:
            await asyncio.wait(left, timeout=10)
        assert asyncio.all_tasks() == before

    asyncio.run(story())
