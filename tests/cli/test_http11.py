"""The bytes of HTTP, against a server that sends exactly what a test tells it to."""

import re
import socket
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from queue import SimpleQueue

import pytest

from clusterra.client.connection import Connection
from clusterra.client.http11 import Address
from clusterra.core.errors import Invalid, NotFound, TooLarge, Unanswered

pytestmark = pytest.mark.enable_socket

OK = b"HTTP/1.1 200 OK\r\n"
PROBLEM = b'{"type":"x","title":"x","status":404,"detail":"No such cluster.","code":"not-found"}'


NEXT = b""
"""Instead of an answer: that was all of it, wait for the next question."""
HANG_UP = None


class Speaker:
    """Answers the questions to a path with the bytes it was given for it, when it is given them."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[bytes] = []
        self.connections: list[socket.socket] = []
        self.reads_bodies = True
        self._answers: defaultdict[str, SimpleQueue[bytes | None]] = defaultdict(SimpleQueue)
        self._threads: list[threading.Thread] = []

    def say(self, *answers: bytes | None, to: str = "/") -> None:
        for each in answers:
            self._answers[to].put(each)

    def hang_up(self) -> None:
        for connection in self.connections:
            with suppress(OSError):  # it may be closed already
                connection.shutdown(socket.SHUT_RDWR)

    def serve(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            self.connections.append(connection)
            thread = threading.Thread(target=self._converse, args=(connection,))
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        for answers in self._answers.values():
            answers.put(HANG_UP)
        self.hang_up()
        assert self.is_left_alone()

    def is_left_alone(self) -> bool:
        """Wait for the other side to close every connection."""
        for thread in self._threads:
            thread.join(timeout=5)
        return not any(thread.is_alive() for thread in self._threads)

    def _converse(self, connection: socket.socket) -> None:
        with connection, suppress(ConnectionError):
            while question := self._question(connection):
                self.asked.append(question)
                answers = self._answers[question.split(b" ")[1].decode()]
                while (said := answers.get()) != NEXT:
                    if said is HANG_UP:
                        return
                    connection.sendall(said)

    def _question(self, connection: socket.socket) -> bytes:
        data = b""
        while b"\r\n\r\n" not in data:
            if not (more := connection.recv(1024)):
                return b""
            data += more
        head, _, body = data.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head.lower())
        while self.reads_bodies and length and len(body) < int(length[1]):
            body += connection.recv(65536)
        return head + b"\r\n\r\n" + body


@contextmanager
def speaking() -> Iterator[Speaker]:
    speaker = Speaker()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        speaker.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread = threading.Thread(target=speaker.serve, args=(listener,))
        thread.start()
        try:
            yield speaker
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
            speaker.stop()


@pytest.fixture
def speaker() -> Iterator[Speaker]:
    with speaking() as speaker:
        yield speaker


@pytest.fixture
def connection(speaker: Speaker) -> Iterator[Connection]:
    connection = Connection(speaker.url, timeout=5)
    yield connection
    connection.close()


def measured(body: bytes) -> bytes:
    return OK + b"Content-Length: %d\r\n\r\n" % len(body) + body


@pytest.mark.parametrize(
    "answer",
    [
        measured(b"hello"),
        OK + b"content-length:5\r\nX-Odd: a\r\nX-Odd: b\r\n\r\nhello",
        OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;note=x\r\nllo\r\n0\r\n\r\n",
        OK + b"Transfer-Encoding: Chunked\r\n\r\n005\r\nhello\r\n0\r\nTrailer: yes\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + measured(b"hello"),
        b"HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello",
    ],
)
def test_an_answer_is_read_however_it_is_framed_and_the_connection_kept(
    speaker: Speaker, connection: Connection, answer: bytes
) -> None:
    speaker.say(answer, NEXT, answer, NEXT)

    assert connection.send("GET", "/").body == b"hello"
    assert connection.send("GET", "/").body == b"hello"
    assert len(speaker.connections) == 1


@pytest.mark.parametrize(
    "answer",
    [
        OK + b"\r\nhello",
        OK + b"Connection: close\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    ],
)
def test_an_answer_that_ends_the_connection_is_read_and_the_next_has_a_new_one(
    speaker: Speaker, connection: Connection, answer: bytes
) -> None:
    speaker.say(answer, HANG_UP, answer, HANG_UP)

    assert connection.send("GET", "/").body == b"hello"
    assert connection.send("POST", "/", b"{}").body == b"hello"
    assert len(speaker.connections) == 2


def test_an_answer_in_many_pieces_is_put_together(speaker: Speaker, connection: Connection) -> None:
    body = bytes(range(256)) * 2000
    answer = measured(body)
    speaker.say(*(answer[at : at + 9973] for at in range(0, len(answer), 9973)), NEXT)

    assert connection.send("GET", "/").body == body


def test_an_answer_without_content_has_none_whatever_it_says(
    speaker: Speaker, connection: Connection
) -> None:
    speaker.say(b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", NEXT)
    speaker.say(measured(b"hello"), NEXT)

    assert connection.send("GET", "/").body == b""
    assert connection.send("GET", "/").body == b"hello"


def test_a_question_travels_whole(speaker: Speaker) -> None:
    speaker.say(measured(b""), NEXT, to="/below/jobs?q=1")
    speaker.say(measured(b""), NEXT, to="/below/jobs/41")
    connection = Connection(f"{speaker.url}/below/", token="ana")

    connection.send("POST", "/jobs?q=1", b'{"a":1}', {"Idempotency-Key": "k"})
    connection.send("DELETE", "/jobs/41")
    connection.close()

    lines = speaker.asked[0].decode().split("\r\n")
    assert lines[0] == "POST /below/jobs?q=1 HTTP/1.1"
    assert f"Host: {speaker.url.removeprefix('http://')}" in lines
    assert {"Authorization: Bearer ana", "Idempotency-Key: k", "Content-Length: 7"} <= set(lines)
    assert lines[-1] == '{"a":1}'
    assert speaker.asked[1].startswith(b"DELETE /below/jobs/41 HTTP/1.1\r\n")


@pytest.mark.parametrize(
    "cut",
    [
        b"Content-Length: 6\r\n\r\nhello",
        b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n9\r\nhello",
        b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello and more\r\n0\r\n\r\n",
    ],
)
def test_an_answer_that_breaks_off_is_never_taken_for_a_whole_one(
    speaker: Speaker, connection: Connection, cut: bytes
) -> None:
    speaker.say(OK + cut, HANG_UP)

    with pytest.raises(Unanswered, match="broke off in the middle of its answer"):
        connection.send("GET", "/")


@pytest.mark.parametrize("begun", [b"", b"HTTP/1.1 20", OK, OK + b"Content-Le"])
def test_a_connection_that_ends_before_the_answer_is_said_so(
    speaker: Speaker, connection: Connection, begun: bytes
) -> None:
    speaker.say(*([begun] if begun else []), HANG_UP)

    with pytest.raises(Unanswered, match="broke off before it answered"):
        connection.send("POST", "/", b"{}")


@pytest.mark.parametrize(
    "strange",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 two hundred\r\n\r\n",
        OK + b"no colon here\r\n\r\n",
        OK + b"Content-Length: five\r\n\r\nhello",
        OK + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        OK + b"Transfer-Encoding: gzip\r\n\r\nhello",
        OK + b"X: y\r\n" * 1000,
        OK + b"X: " + b"y" * 70_000,
    ],
)
def test_what_is_not_http_is_said_so(
    speaker: Speaker, connection: Connection, strange: bytes
) -> None:
    speaker.say(strange, HANG_UP)

    with pytest.raises(Unanswered, match="answered something that is not HTTP"):
        connection.send("GET", "/")


def test_silence_is_told_with_its_length_and_a_silent_server_is_not_asked_twice(
    speaker: Speaker,
) -> None:
    speaker.say(measured(b"hello"), NEXT)
    connection = Connection(speaker.url, timeout=0.2)
    connection.send("GET", "/")

    with pytest.raises(Unanswered, match="did not answer within 0 s"):
        connection.send("GET", "/")

    assert len(speaker.connections) == 1


def test_silence_in_the_middle_of_an_answer_is_told(speaker: Speaker) -> None:
    speaker.say(OK + b"Content-Length: 6\r\n\r\nhello")
    connection = Connection(speaker.url, timeout=0.2)

    with pytest.raises(Unanswered, match="stopped in the middle of its answer"):
        connection.send("GET", "/")


def test_an_act_after_a_pause_does_not_fall_into_a_connection_closed_meanwhile(
    speaker: Speaker, connection: Connection
) -> None:
    speaker.say(measured(b"counted"), NEXT)
    connection.send("POST", "/", b'{"dry_run":true}')

    speaker.hang_up()  # tired of waiting for a person to say yes
    assert speaker.is_left_alone()
    speaker.say(measured(b"done"), NEXT)

    assert connection.send("POST", "/", b'{"dry_run":false}').body == b"done"
    assert len(speaker.asked) == 2


def test_a_refusal_before_everything_was_told_is_heard(
    speaker: Speaker, connection: Connection
) -> None:
    speaker.reads_bodies = False
    speaker.say(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n", HANG_UP)

    with pytest.raises(TooLarge, match="answered 413 Too Large"):
        connection.send("POST", "/", b"x" * 30_000_000)


class TestLines:
    STREAM = OK + b"Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

    def test_each_comes_when_it_is_whole_and_not_when_all_is_over(
        self, speaker: Speaker, connection: Connection
    ) -> None:
        lines = connection.lines("/", {"Last-Event-ID": "7"})
        speaker.say(self.STREAM + b"b\r\nid: 8\ndata:\r\n")
        assert next(lines) == b"id: 8"

        speaker.say(b"6\r\n {}\r\n\n\r\n")
        assert [next(lines), next(lines)] == [b"data: {}", b""]

        speaker.say(b"4\r\nlast\r\n0\r\n\r\n", NEXT)
        assert list(lines) == [b"last"]
        assert b"Last-Event-ID: 7\r\n" in speaker.asked[0]

    def test_questions_can_be_asked_meanwhile(
        self, speaker: Speaker, connection: Connection
    ) -> None:
        lines = connection.lines("/stream")
        speaker.say(self.STREAM + b"2\r\n1\n\r\n", to="/stream")
        assert next(lines) == b"1"

        speaker.say(measured(b"hello"), NEXT)
        assert connection.send("GET", "/").body == b"hello"

        speaker.say(b"2\r\n2\n\r\n", to="/stream")
        assert next(lines) == b"2"

    def test_breaking_off_is_not_an_end(self, speaker: Speaker, connection: Connection) -> None:
        speaker.say(self.STREAM + b"2\r\n1\n\r\n", HANG_UP)
        lines = connection.lines("/")
        assert next(lines) == b"1"

        with pytest.raises(Unanswered, match="broke off in the middle"):
            next(lines)

    def test_silence_longer_than_allowed_is_told(
        self, speaker: Speaker, connection: Connection
    ) -> None:
        speaker.say(self.STREAM + b"2\r\n1\n\r\n")
        lines = connection.lines("/", silence=0.2)
        assert next(lines) == b"1"

        with pytest.raises(Unanswered, match="stopped in the middle"):
            next(lines)

    def test_a_refusal_is_the_error_it_stands_for(
        self, speaker: Speaker, connection: Connection
    ) -> None:
        head = b"HTTP/1.1 404 Not Found\r\nContent-Length: %d\r\n\r\n" % len(PROBLEM)
        speaker.say(head + PROBLEM, NEXT)

        with pytest.raises(NotFound, match="No such cluster"):
            next(connection.lines("/"))

    def test_whoever_stops_reading_closes_it(
        self, speaker: Speaker, connection: Connection
    ) -> None:
        speaker.say(self.STREAM + b"2\r\n1\n\r\n", NEXT)
        lines = connection.lines("/")
        next(lines)

        lines.close()

        assert speaker.is_left_alone()


@pytest.mark.parametrize("text", ["ana\r\nX-Admin: yes", "ana\n", "a\x00b", "名前"])
def test_a_token_or_key_cannot_smuggle_a_header(text: str) -> None:
    with pytest.raises(Invalid, match="cannot be sent"):
        Connection("http://127.0.0.1:1", token=text).send("GET", "/")
    with pytest.raises(Invalid, match="cannot be sent"):
        Connection("http://127.0.0.1:1").send("POST", "/", b"", {"Idempotency-Key": text})


@pytest.mark.parametrize(
    ("url", "host", "port", "named"),
    [
        ("http://head", "head", 80, "head"),
        ("https://head/x", "head", 443, "head"),
        ("http://[::1]:8420", "::1", 8420, "[::1]:8420"),
        ("http://ana:secret@head:81", "head", 81, "head:81"),
        ("http://bücher.example", "xn--bcher-kva.example", 80, "xn--bcher-kva.example"),
    ],
)
def test_an_address_is_read_from_its_url(url: str, host: str, port: int, named: str) -> None:
    address = Address.of(url)

    assert (address.host, address.port, address.named) == (host, port, named)
