"""Whatever a program under development does, sending to it ends in a value."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from clusterra.client.post import Post
from clusterra.core.errors import Invalid

pytestmark = pytest.mark.enable_socket


@contextmanager
def answering(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """Take one connection, read what comes, and answer with bytes."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65536)
                answer(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        yield str(server.getsockname()[1])
        thread.join()


def sending(data: bytes) -> Callable[[socket.socket], None]:
    return lambda connection: connection.sendall(data)


@pytest.mark.parametrize(
    ("data", "status", "words"),
    [
        (b"HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n", 302, ""),
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204, ""),
        (b"HTTP/1.0 200 OK\r\n\r\nas long as it stays open", 200, ""),
        (b"220 mail.example ESMTP\r\n", None, "what it answered is no HTTP"),
        (b"", None, "it broke off before it answered"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
            None,
            "it broke off before it answered",
        ),
    ],
)
def test_any_answer_is_a_value(data: bytes, status: int | None, words: str) -> None:
    with answering(sending(data)) as port:
        posted = Post(port).send(b"{}", {})

    assert (posted.status, posted.why) == (status, words)
    assert posted.is_success is (status in (200, 204))


def test_no_more_of_an_answer_is_read_than_is_shown() -> None:
    def much(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            while True:
                connection.sendall(b"x" * 65536)
        except ConnectionError:
            pass

    with answering(much) as port:
        posted = Post(port).send(b"{}", {})

    assert posted.said == b"x" * 4096


def test_silence_ends_in_time() -> None:
    heard = threading.Event()

    def say_nothing(_: socket.socket) -> None:
        heard.wait(10)

    with answering(say_nothing) as port:
        posted = Post(port, timeout=0.05).send(b"{}", {})
        heard.set()

    assert posted.why == "no answer within 0 s"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("3000", "http://127.0.0.1:3000"),
        ("localhost:3000/hooks", "http://localhost:3000/hooks"),
        ("https://x.example/a?b=c", "https://x.example/a?b=c"),
    ],
)
def test_an_address_is_written_as_people_do(written: str, meant: str) -> None:
    assert Post(written).url == meant


@pytest.mark.parametrize("written", ["", "ftp://x", "http://", "http://x:port", "http://x/a b"])
def test_what_is_no_address_is_refused_at_once(written: str) -> None:
    with pytest.raises(Invalid, match="no address"):
        Post(written)
