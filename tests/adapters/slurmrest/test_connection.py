"""One connection, on both event loops: what is heard of a reply, however its bytes arrive."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
import uvloop

from clusterra.adapters.slurmrest.connection import HELD, Connection, Lost

OK = b"HTTP/1.1 200 OK\r\nContent-Type: Application/JSON; charset=utf-8\r\nContent-Length: 5\r\n\r\nhello"
NOTHING_NEW = b"HTTP/1.1 304 NOT MODIFIED\r\n\r\n"
GO_ON = b"HTTP/1.1 100 Continue\r\n\r\n"
REFUSED = b"HTTP/1.1 422 NO\r\nConnection: Close\r\nContent-Length: 4\r\n\r\nnope"
REFUSED_AND_OPEN = b"HTTP/1.1 422 NO\r\nContent-Length: 4\r\n\r\nnope"
AGAIN = b"HTTP/1.1 422 NO\r\nConnection: Close\r\nContent-Length: 2\r\n\r\nno"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n3\r\nay!\r\n0\r\n\r\n"
ENDLESS = b"HTTP/1.1 200 OK\r\n\r\nall of it"

ASK = b"GET / HTTP/1.1\r\n\r\n"

AT_ONCE = 262144
"""The most that an event loop reads in one go."""

Run = Callable[[Awaitable[None]], None]


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Run:
    """Runs a story in each kind of event loop: the server's own is uvloop."""

    def run(story: Awaitable[None]) -> None:
        async def told() -> None:
            await story

        factory = uvloop.new_event_loop if request.param == "uvloop" else asyncio.new_event_loop
        with asyncio.Runner(loop_factory=factory) as runner:
            runner.run(told())

    return run


@asynccontextmanager
async def connected() -> AsyncIterator[tuple[Connection, socket.socket]]:
    """A connection, and the other end of it."""
    ours, theirs = socket.socketpair()
    _, connection = await asyncio.get_running_loop().create_connection(Connection, sock=ours)
    with theirs:
        try:
            yield connection, theirs
        finally:
            connection.close()
            await asyncio.sleep(0)


async def heard(connection: Connection, pieces: list[bytes]) -> tuple[int, bytes]:
    """Ask, and have the reply arrive in exactly these pieces."""
    asking = asyncio.create_task(connection.send(ASK))
    await asyncio.sleep(0)
    for piece in pieces:
        connection.data_received(piece)
    head = await asking
    return head.status, b"".join([part async for part in _rest(connection)])


@pytest.mark.parametrize(
    ("sent", "status", "body", "reusable"),
    [
        (OK, 200, b"hello", True),
        (CHUNKED, 200, b"okay!", True),
        (NOTHING_NEW, 304, b"", True),
        (GO_ON + OK, 200, b"hello", True),
        (REFUSED, 422, b"nope", False),
        (REFUSED + AGAIN, 422, b"nope", False),
        (REFUSED_AND_OPEN + AGAIN, 422, b"nope", False),
        (OK + OK, 200, b"hello", False),
    ],
)
def test_the_first_reply_is_heard_and_nothing_after_it_however_the_bytes_arrive(
    run: Run, sent: bytes, status: int, body: bytes, reusable: bool
) -> None:
    async def story() -> None:
        for size in range(1, len(sent) + 1):
            async with connected() as (connection, _):
                pieces = [sent[at : at + size] for at in range(0, len(sent), size)]
                assert await heard(connection, pieces) == (status, body), size
                assert connection.reusable == reusable, size

    run(story())


def test_one_connection_answers_one_request_after_another(run: Run) -> None:
    async def story() -> None:
        async with connected() as (connection, _):
            for _ in range(3):
                assert await heard(connection, [OK]) == (200, b"hello")
                assert await heard(connection, [CHUNKED]) == (200, b"okay!")

    run(story())


def test_the_media_type_is_told_without_what_comes_with_it(run: Run) -> None:
    async def story() -> None:
        async with connected() as (connection, theirs):
            theirs.sendall(OK)
            assert (await connection.send(ASK)).kind == "application/json"

    run(story())


def test_a_connection_that_speaks_unasked_is_closed(run: Run) -> None:
    async def story() -> None:
        async with connected() as (connection, _):
            assert await heard(connection, [OK]) == (200, b"hello")
            connection.data_received(AGAIN)
            assert not connection.open

    run(story())


def test_a_reply_without_a_length_ends_with_the_connection(run: Run) -> None:
    async def story() -> None:
        async with connected() as (connection, theirs):
            theirs.sendall(ENDLESS)
            theirs.shutdown(socket.SHUT_WR)
            assert await _all(connection) == b"all of it"
            assert not connection.reusable

    run(story())


@pytest.mark.parametrize("sent", [b"", OK[:10], OK[:-1], CHUNKED[:-2], b"SSH-2.0-OpenSSH_9.2\r\n"])
def test_a_reply_that_breaks_off_or_is_none_is_lost(run: Run, sent: bytes) -> None:
    async def story() -> None:
        async with connected() as (connection, theirs):
            theirs.sendall(sent)
            theirs.shutdown(socket.SHUT_WR)
            with pytest.raises(Lost):
                await _all(connection)
            assert not connection.reusable

    run(story())


def test_no_more_is_taken_from_the_network_than_its_reader_keeps_up_with(run: Run) -> None:
    length = 64 << 20

    async def story() -> None:
        loop = asyncio.get_running_loop()
        async with connected() as (connection, theirs):
            theirs.setblocking(False)
            head = f"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n".encode()
            sending = asyncio.create_task(loop.sock_sendall(theirs, head + bytes(length)))
            await connection.send(ASK)
            # More turns than it takes to receive everything.
            for _ in range(length // HELD * 4):
                await asyncio.sleep(0)
            assert HELD < connection._held <= HELD + AT_ONCE
            assert not sending.done()

            total = sum([len(part) async for part in _rest(connection)])

            assert total == length
            await sending
            assert connection.reusable

    run(story())


async def _all(connection: Connection) -> bytes:
    await connection.send(ASK)
    return b"".join([part async for part in _rest(connection)])


async def _rest(connection: Connection) -> AsyncIterator[bytes]:
    while part := await connection.read():
        yield part
