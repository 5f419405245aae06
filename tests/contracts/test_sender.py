"""Promises every sender keeps: the one in memory, and HTTP to a server of this machine."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

import pytest
from aiohttp import web

from clusterra.adapters.memory_sender import MemorySender
from clusterra.adapters.sender import HttpSender
from clusterra.core.errors import Invalid
from clusterra.core.webhooks.endpoint import Reach
from clusterra.core.webhooks.exchange import SNIPPET, Answer, Failure, Outgoing
from clusterra.ports import Sender

pytestmark = pytest.mark.enable_socket

HEADERS = {"content-type": "application/cloudevents+json", "webhook-id": "evt_1"}
INSIDE, METADATA = "hook.lab.example", "meta.lab.example"
NAMES = {INSIDE: "127.0.0.1", METADATA: "169.254.169.254"}


class World(Protocol):
    sender: Sender
    url: str
    """Of an endpoint inside, under its name."""

    def will_answer(self, answer: Answer) -> None: ...

    def received(self) -> list[tuple[dict[str, str], bytes]]:
        """What arrived: headers with lower-case names, and the body."""
        ...


class InMemory:
    url = f"http://{INSIDE}:3000/hook"

    def __init__(self) -> None:
        self.memory = MemorySender(names=NAMES)
        self.sender: Sender = self.memory

    def will_answer(self, answer: Answer) -> None:
        assert isinstance(self.memory.answers, list)
        self.memory.answers.append(answer)

    def received(self) -> list[tuple[dict[str, str], bytes]]:
        return [(dict(each.headers), each.body) for each in self.memory.sent]


class OverHttp:
    def __init__(self) -> None:
        self.sender: Sender = HttpSender(timeout_seconds=10, lookup=self._lookup)
        self.url = ""
        self.answers: list[Answer] = []
        self.requests: list[tuple[dict[str, str], bytes]] = []

    def will_answer(self, answer: Answer) -> None:
        self.answers.append(answer)

    def received(self) -> list[tuple[dict[str, str], bytes]]:
        return self.requests

    async def serve(self, request: web.Request) -> web.Response:
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.requests.append((headers, await request.read()))
        answer = self.answers.pop(0) if self.answers else Answer(status=200)
        status = answer.status or 200
        return web.Response(status=status, headers=dict(answer.headers), body=answer.snippet)

    async def _lookup(self, host: str) -> list[str]:
        return [NAMES.get(host, "93.184.216.34")]


Opening = Callable[[], AbstractAsyncContextManager[World]]


@asynccontextmanager
async def in_memory() -> AsyncIterator[World]:
    yield InMemory()


@asynccontextmanager
async def over_http() -> AsyncIterator[World]:
    place = OverHttp()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", place.serve)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    place.url = f"http://{INSIDE}:{runner.addresses[0][1]}/hook"
    try:
        yield place
    finally:
        await place.sender.close()
        await runner.cleanup()


@pytest.fixture(params=[in_memory, over_http])
def world(request: pytest.FixtureRequest) -> Opening:
    return request.param  # type: ignore[no-any-return]


def to(url: str, reach: Reach = Reach.PRIVATE, body: bytes = b'{"id":"evt_1"}') -> Outgoing:
    return Outgoing(url=url, body=body, headers=HEADERS, reach=reach)


def test_body_and_headers_arrive_as_they_were_given(world: Opening) -> None:
    async def story() -> None:
        async with world() as place:
            answer = await place.sender.send(to(place.url))

            assert answer.status == 200
            assert answer.failure is None
            ((headers, body),) = place.received()
            assert body == b'{"id":"evt_1"}'
            assert headers.items() >= HEADERS.items()

    asyncio.run(story())


def test_an_answer_has_its_status_its_first_bytes_and_the_headers_that_mean_something(
    world: Opening,
) -> None:
    async def story() -> None:
        async with world() as place:
            said = {"retry-after": "120", "webhook-delivery": "abort-message"}
            place.will_answer(Answer(status=503, headers=said, snippet=b"busy"))

            answer = await place.sender.send(to(place.url))

            assert answer.status == 503
            assert answer.failure is None
            assert answer.snippet == b"busy"
            assert answer.headers.items() >= said.items()

    asyncio.run(story())


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirect_is_followed(world: Opening, status: int) -> None:
    async def story() -> None:
        async with world() as place:
            place.will_answer(Answer(status=status, headers={"location": "/elsewhere"}))

            answer = await place.sender.send(to(place.url))

            assert (answer.status, answer.headers["location"]) == (status, "/elsewhere")
            assert len(place.received()) == 1

    asyncio.run(story())


@pytest.mark.parametrize("status", [200, 202, 204, 400, 401, 404, 410, 413, 429, 500, 599])
def test_every_status_is_an_answer(world: Opening, status: int) -> None:
    async def story() -> None:
        async with world() as place:
            place.will_answer(Answer(status=status))
            assert (await place.sender.send(to(place.url))).status == status

    asyncio.run(story())


@pytest.mark.parametrize(
    ("url", "reach", "failure"),
    [
        ("https://10.0.0.1/hook", Reach.PUBLIC, Failure.BLOCKED),
        ("https://[::ffff:169.254.169.254]/", Reach.PRIVATE, Failure.BLOCKED),
        (f"https://{INSIDE}/hook", Reach.PUBLIC, Failure.BLOCKED),
        (f"https://{INSIDE}/hook", Reach.LISTED, Failure.BLOCKED),
        (f"http://{METADATA}/latest", Reach.PRIVATE, Failure.BLOCKED),
        ("https://0x7f000001/", Reach.PRIVATE, Failure.URL),
        ("http://hooks.example.com/", Reach.PUBLIC, Failure.URL),
        ("https://hooks.example.com:22/", Reach.PRIVATE, Failure.URL),
        ("mailto:ops@lab.example", Reach.PRIVATE, Failure.URL),
        ("", Reach.PUBLIC, Failure.URL),
    ],
)
def test_the_verdict_is_the_same_when_it_is_made_and_when_it_is_delivered(
    world: Opening, url: str, reach: Reach, failure: Failure
) -> None:
    async def story() -> None:
        async with world() as place:
            with pytest.raises(Invalid) as caught:
                await place.sender.check(url, reach)
            answer = await place.sender.send(to(url, reach))

            assert answer.failure is failure
            assert answer.status is None
            assert answer.why == caught.value.detail
            assert caught.value.hint
            assert not any(address in answer.why for address in NAMES.values())
            assert place.received() == []

    asyncio.run(story())


def test_what_may_be_dialled_passes_the_check(world: Opening) -> None:
    async def story() -> None:
        async with world() as place:
            await place.sender.check(place.url, Reach.PRIVATE)
            await place.sender.check("https://hooks.example.com/T0/B1", Reach.PUBLIC)

    asyncio.run(story())


def test_it_can_be_closed_twice_and_without_having_sent_anything(world: Opening) -> None:
    async def story() -> None:
        async with world() as place:
            await place.sender.close()
            await place.sender.close()

    asyncio.run(story())


def test_no_more_of_an_answer_is_kept_than_was_promised() -> None:
    async def story() -> None:
        async with over_http() as place:
            place.will_answer(Answer(status=200, snippet=b"x" * 100_000))
            assert (await place.sender.send(to(place.url))).snippet == b"x" * SNIPPET

    asyncio.run(story())
