"""Connections that are kept, and what may go wrong with them between two requests."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable

import pytest

from clusterra.adapters.sender import HttpSender
from clusterra.core.webhooks.endpoint import Reach
from clusterra.core.webhooks.exchange import Failure
from tests.adapters.sender import certificates
from tests.adapters.sender.acts import OK, answers_well
from tests.adapters.sender.cases import everything_is_here
from tests.adapters.sender.hostile import Peer, Script, Served, serving
from tests.adapters.sender.recorder import to

pytestmark = pytest.mark.enable_socket

FINE = OK + b"Content-Length: 2\r\n\r\nok"


def story(
    script: Script, tell: Callable[[HttpSender, str, Served], Awaitable[None]], **settings: float
) -> None:
    async def run() -> None:
        sender = HttpSender(lookup=everything_is_here, **settings)  # type: ignore[arg-type]
        async with serving(script) as place:
            await tell(sender, f"http://hook.lab.example:{place.port}/hook", place)
            await sender.close()

    asyncio.run(run())


async def one_each(peer: Peer) -> None:
    """Answer one request per connection, say that more are welcome, and be gone."""
    await peer.hear()
    await peer.say(FINE)
    await peer.hear_something()


def test_one_connection_serves_many_deliveries() -> None:
    async def tell(sender: HttpSender, url: str, place: Served) -> None:
        for _ in range(10):
            assert (await sender.send(to(url, Reach.PRIVATE))).status == 200
        assert (place.connections, len(place.requests)) == (1, 10)

    story(answers_well, tell)


def test_a_kept_connection_that_the_server_had_closed_is_no_failed_attempt() -> None:
    async def tell(sender: HttpSender, url: str, place: Served) -> None:
        first = await sender.send(to(url, Reach.PRIVATE))
        second = await sender.send(to(url, Reach.PRIVATE))

        assert (first.status, second.status) == (200, 200)
        assert place.connections == 2

    story(one_each, tell)


def test_all_kept_connections_may_have_been_closed() -> None:
    async def tell(sender: HttpSender, url: str, place: Served) -> None:
        many = await asyncio.gather(*(sender.send(to(url, Reach.PRIVATE)) for _ in range(8)))
        after = await sender.send(to(url, Reach.PRIVATE))

        assert {each.status for each in (*many, after)} == {200}
        assert place.connections == 9

    story(one_each, tell)


def test_a_new_connection_that_is_closed_is_a_failed_attempt_and_not_tried_again() -> None:
    async def closes(peer: Peer) -> None:
        await peer.hear()

    async def tell(sender: HttpSender, url: str, place: Served) -> None:
        assert (await sender.send(to(url, Reach.PRIVATE))).failure is Failure.CONNECT
        assert len(place.requests) == 1

    story(closes, tell)


def test_a_kept_connection_is_tried_again_once_and_no_more() -> None:
    async def script(peer: Peer) -> None:
        await peer.hear()
        if peer.number == 1:
            await peer.say(FINE)
            await peer.hear()

    async def tell(sender: HttpSender, url: str, place: Served) -> None:
        await sender.send(to(url, Reach.PRIVATE))
        assert (await sender.send(to(url, Reach.PRIVATE))).failure is Failure.CONNECT
        assert len(place.requests) == 3

    story(script, tell)


def test_nothing_is_sent_again_once_an_answer_has_begun() -> None:
    async def script(peer: Peer) -> None:
        await peer.hear()
        await peer.say(FINE)
        await peer.hear()
        await peer.say(b"HTTP/1.1 2")

    async def tell(sender: HttpSender, url: str, place: Served) -> None:
        await sender.send(to(url, Reach.PRIVATE))
        assert (await sender.send(to(url, Reach.PRIVATE))).failure is Failure.PROTOCOL
        assert (place.connections, len(place.requests)) == (1, 2)

    story(script, tell)


def test_nothing_is_sent_again_after_a_timeout() -> None:
    async def script(peer: Peer) -> None:
        await peer.hear()
        await peer.say(FINE)
        await peer.hear()
        await peer.silence()

    async def tell(sender: HttpSender, url: str, place: Served) -> None:
        await sender.send(to(url, Reach.PRIVATE))
        assert (await sender.send(to(url, Reach.PRIVATE))).failure is Failure.TIMEOUT
        assert (place.connections, len(place.requests)) == (1, 2)

    story(script, tell, timeout_seconds=0.3)


def test_an_answer_that_was_left_unread_is_not_the_answer_to_the_next() -> None:
    async def script(peer: Peer) -> None:
        await peer.hear()
        await peer.say(OK + b"Content-Length: 40000\r\n\r\n" + b"x" * 40_000)
        await peer.hear()

    async def tell(sender: HttpSender, url: str, place: Served) -> None:
        for _ in range(3):
            assert (await sender.send(to(url, Reach.PRIVATE))).status == 200
        assert place.connections == 3

    story(script, tell)


def test_an_answer_that_nobody_asked_for_is_not_the_answer_to_the_next() -> None:
    async def script(peer: Peer) -> None:
        await peer.hear()
        await peer.say(FINE + b"HTTP/1.1 500 Sneaky\r\nContent-Length: 0\r\n\r\n")
        await peer.hear()
        await peer.say(FINE)

    async def tell(sender: HttpSender, url: str, place: Served) -> None:
        for _ in range(3):
            assert (await sender.send(to(url, Reach.PRIVATE))).status == 200

    story(script, tell)


def test_an_answer_that_came_while_nobody_asked_costs_its_connection() -> None:
    early = b"HTTP/1.1 500 Sneaky\r\nContent-Length: 0\r\n\r\n"
    go = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.hear()
        await peer.say(FINE)
        await go.wait()
        await peer.say(early)
        await peer.silence()

    async def tell(sender: HttpSender, url: str, place: Served) -> None:
        assert (await sender.send(to(url, Reach.PRIVATE))).status == 200
        go.set()
        for _ in range(100):  # what the server says is a few turns of the loop away
            await asyncio.sleep(0)
        assert place.given == len(FINE + early)
        assert (await sender.send(to(url, Reach.PRIVATE))).status == 200
        assert place.connections == 2

    story(script, tell)


def test_cookies_are_not_kept() -> None:
    async def script(peer: Peer) -> None:
        while True:
            await peer.hear()
            await peer.say(OK + b"Set-Cookie: seen=1\r\nContent-Length: 0\r\n\r\n")

    async def tell(sender: HttpSender, url: str, place: Served) -> None:
        for _ in range(2):
            await sender.send(to(url, Reach.PRIVATE))
        assert not any(b"cookie" in each.lower() for each in place.requests)

    story(script, tell)


def test_a_request_asks_for_nothing_compressed_and_carries_what_it_was_given() -> None:
    async def tell(sender: HttpSender, url: str, place: Served) -> None:
        await sender.send(to(f"{url}/a%2Fb?sig=a%2Bb%20c+d", Reach.PRIVATE))
        head = place.requests[0].lower()
        assert head.startswith(b"post /hook/a%2fb?sig=a%2bb%20c+d http/1.1\r\n")
        assert b"accept-encoding: identity\r\n" in head
        assert b"webhook-id: evt_1\r\n" in head
        assert b"content-length: 2\r\n" in head

    story(answers_well, tell)


def test_bytes_in_a_header_that_are_no_text_can_still_be_written_down() -> None:
    async def script(peer: Peer) -> None:
        await peer.hear()
        await peer.say(b"HTTP/1.1 302 No\r\nLocation: /\xff\xfe\r\nContent-Length: 0\r\n\r\n")

    async def tell(sender: HttpSender, url: str, place: Served) -> None:
        answer = await sender.send(to(url, Reach.PRIVATE))
        assert answer.headers["location"] == "/??"
        answer.headers["location"].encode()

    story(script, tell)


def test_it_is_told_where_the_time_went_and_who_was_dialled() -> None:
    async def tell(sender: HttpSender, url: str, place: Served) -> None:
        first = await sender.send(to(url, Reach.PRIVATE))
        assert first.remote == "127.0.0.1"
        assert None not in (first.timings.dns_ms, first.timings.connect_ms)
        assert first.timings.tls_ms is None
        assert first.timings.first_byte_ms is not None
        assert first.timings.total_ms >= first.timings.first_byte_ms

        kept = await sender.send(to(url, Reach.PRIVATE))
        assert kept.remote == "127.0.0.1"
        assert kept.timings.dns_ms is kept.timings.connect_ms is None

    story(answers_well, tell)


def test_a_certificate_may_change_between_two_connections() -> None:
    async def run() -> None:
        sender = HttpSender(lookup=everything_is_here, authorities=certificates.root().pem.decode())
        context = certificates.good()

        def served() -> ssl.SSLContext:
            return context

        async def once(peer: Peer) -> None:
            await peer.hear()
            await peer.say(OK + b"Connection: close\r\nContent-Length: 0\r\n\r\n")

        async with serving(once, tls=served) as place:
            url = f"https://{certificates.NAME}:{place.port}/hook"
            first = await sender.send(to(url, Reach.PRIVATE))
            certificates.load(
                context, certificates.signed(certificates.NAME, by=certificates.root())
            )
            second = await sender.send(to(url, Reach.PRIVATE))
            certificates.load(context, certificates.signed(certificates.NAME))
            third = await sender.send(to(url, Reach.PRIVATE))

            assert (first.status, second.status) == (200, 200)
            assert first.timings.tls_ms is not None
            assert third.failure is Failure.TLS
            assert place.connections == 2
        await sender.close()

    asyncio.run(run())
