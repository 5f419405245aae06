"""What is heard of a slurmrestd that says its errors twice, however its bytes arrive."""

import asyncio

import pytest
from aiohttp.client_proto import ResponseHandler

from clusterra.adapters.slurmrest.connection import LastWord

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
NOTHING_NEW = b"HTTP/1.1 304 NOT MODIFIED\r\n\r\n"
REFUSED = b"HTTP/1.1 422 NO\r\nConnection: Close\r\nContent-Length: 4\r\n\r\nnope"
AGAIN = b"HTTP/1.1 422 NO\r\nConnection: Close\r\nContent-Length: 2\r\n\r\nno"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"


def test_a_paused_parser_is_woken_by_a_call_without_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[bytes] = []
    monkeypatch.setattr(ResponseHandler, "data_received", lambda _, data: heard.append(data))

    async def story() -> None:
        connection = LastWord(asyncio.get_running_loop())
        for data in (REFUSED, AGAIN, b""):
            connection.data_received(data)

    asyncio.run(story())
    assert heard == [REFUSED, b""]


@pytest.mark.parametrize(
    ("sent", "heard"),
    [
        (OK + OK, OK + OK),
        (REFUSED + AGAIN, REFUSED),
        (OK + NOTHING_NEW + REFUSED + AGAIN, OK + NOTHING_NEW + REFUSED),
        (CHUNKED + CHUNKED, CHUNKED + CHUNKED),
    ],
)
def test_nothing_is_heard_after_the_reply_that_closes(sent: bytes, heard: bytes) -> None:
    async def story() -> None:
        for size in range(1, len(sent) + 1):
            connection = LastWord(asyncio.get_running_loop())
            pieces = [sent[at : at + size] for at in range(0, len(sent), size)]
            assert b"".join(map(connection._ours, pieces)) == heard, size

    asyncio.run(story())
