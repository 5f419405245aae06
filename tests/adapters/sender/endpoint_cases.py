"""What endpoints may do once they are connected to, and what is to come of it."""

import gzip

from clusterra.core.webhooks.exchange import Failure
from tests.adapters.sender.acts import (
    CHUNKED,
    OK,
    TIMEOUT,
    Case,
    answer,
    answers_well,
    bursts,
    ends,
    for_ever,
    plays,
    resets,
    says,
    spells_out,
)
from tests.adapters.sender.certificates import NAME
from tests.adapters.sender.hostile import Peer, never_accepting, nobody

SLOW = f"Nothing answered within {TIMEOUT:g} s."


def redirect(status: int, to: str) -> Case:
    said = answer(f"{status} Moved", f"Location: {to}")
    return Case(name=f"{status} to {to}", place=says(said), status=status)


def with_status(status: int, *headers: str) -> Case:
    shown = f"{status}" + "".join(f", {each}" for each in headers)
    return Case(name=shown, place=says(answer(f"{status} Said", *headers)), status=status)


BOMB = gzip.compress(bytes(50_000_000), 1)
BROKEN = Failure.PROTOCOL
LOST = Failure.CONNECT

ENDPOINTS = (
    Case(name="answers well", place=plays(answers_well), status=200),
    Case(
        name="nobody listens",
        place=nobody,
        failure=LOST,
        why=f"Nobody listens at {NAME} on port PORT.",
    ),
    Case(
        name="never accepts; the kernel's queue is full",
        place=lambda: never_accepting(full=True),
        failure=Failure.TIMEOUT,
        why=f"It did not take the connection within {TIMEOUT:g} s.",
    ),
    Case(
        name="never accepts; the kernel does so for it",
        place=lambda: never_accepting(full=False),
        failure=Failure.TIMEOUT,
        why=SLOW,
    ),
    Case(
        name="accepts, and reads nothing",
        place=plays(Peer.deafness),
        failure=Failure.TIMEOUT,
        why=SLOW,
    ),
    Case(name="reads the request, and is silent", place=says(), failure=Failure.TIMEOUT, why=SLOW),
    Case(name="a head, then silence", place=says(OK + b"Content-Length: 9\r\n\r\n"), status=200),
    Case(
        name="a body of one byte at a time",
        place=says(OK + b"\r\n", then=for_ever(b"x", 0.2)),
        status=200,
    ),
    Case(
        name="a head of one byte at a time",
        place=plays(spells_out),
        failure=Failure.TIMEOUT,
        why=SLOW,
    ),
    Case(
        name="a body without end",
        place=says(OK + b"\r\n", then=for_ever(b"x" * 65_536)),
        status=200,
    ),
    Case(
        name="chunks without end",
        place=says(CHUNKED, then=for_ever(b"2000\r\n" + b"x" * 0x2000 + b"\r\n")),
        status=200,
    ),
    Case(
        name="a body of 10 GB",
        place=says(OK + b"Content-Length: 10000000000\r\n\r\n", then=for_ever(b"x" * 65_536)),
        status=200,
    ),
    Case(
        name="chunks whose sizes are no numbers", place=says(CHUNKED + b"zz\r\nhi\r\n"), status=200
    ),
    Case(name="a chunk of negative size", place=says(CHUNKED + b"-5\r\nhello\r\n"), status=200),
    Case(
        name="a chunk with an extension without end",
        place=says(CHUNKED + b"5;", then=for_ever(b"x" * 8_192)),
        status=200,
    ),
    Case(
        name="50 MB of zeros in 220 kB of gzip",
        place=says(
            OK + f"Content-Encoding: gzip\r\nContent-Length: {len(BOMB)}\r\n\r\n".encode(), BOMB
        ),
        status=200,
    ),
    Case(
        name="brotli that is none",
        place=says(answer("200 OK", "Content-Encoding: br", body=b"\xff" * 64)),
        status=200,
    ),
    Case(
        name="zstd that is none",
        place=says(answer("200 OK", "Content-Encoding: zstd", body=b"\xff" * 64)),
        status=200,
    ),
    Case(
        name="a header of 1 MB",
        place=says(OK + b"X-Long: " + b"x" * 1_000_000 + b"\r\n\r\n"),
        failure=BROKEN,
        why="Its answer has a header of more than 8 kB.",
    ),
    Case(
        name="a reason of 1 MB",
        place=says(b"HTTP/1.1 200 " + b"x" * 1_000_000 + b"\r\n\r\n"),
        failure=BROKEN,
        why="Its answer has a header of more than 8 kB.",
    ),
    Case(
        name="headers without end",
        place=says(OK, then=for_ever(b"X-Another: one\r\n" * 512)),
        failure=BROKEN,
        why="It speaks no HTTP.",
    ),
    Case(
        name="twenty 1xx, then 200",
        place=says(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 20 + answer("200 OK")),
        status=200,
    ),
    Case(
        name="a hundred 1xx",
        place=says(b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
        failure=BROKEN,
        why="It announces an answer again and again, and gives none.",
    ),
    Case(
        name="1xx without end",
        place=says(then=for_ever(b"HTTP/1.1 102 Processing\r\n\r\n" * 100)),
        failure=BROKEN,
        why="It announces an answer again and again, and gives none.",
    ),
    Case(
        name="101, another protocol",
        place=says(b"HTTP/1.1 101 Go\r\nUpgrade: x\r\n\r\n"),
        status=101,
    ),
    Case(
        name="closes without an answer",
        place=says(then=ends),
        failure=LOST,
        why="It ended the connection without an answer.",
    ),
    Case(
        name="resets without an answer",
        place=says(then=resets),
        failure=LOST,
        why="It ended the connection without an answer.",
    ),
    Case(
        name="closes in the middle of the head",
        place=says(OK + b"Content-Le", then=ends),
        failure=BROKEN,
        why="It ended the connection in the middle of its answer.",
    ),
    Case(
        name="closes in the middle of the body",
        place=says(OK + b"Content-Length: 100\r\n\r\nhello", then=ends),
        status=200,
    ),
    Case(
        name="HTTP/0.9",
        place=says(b"<html>hello</html>", then=ends),
        failure=BROKEN,
        why="It speaks no HTTP.",
    ),
    Case(
        name="garbage", place=says(bytes(range(256)) * 4), failure=BROKEN, why="It speaks no HTTP."
    ),
    Case(
        name="garbage before it was asked",
        place=plays(bursts),
        failure=BROKEN,
        why="It speaks no HTTP.",
    ),
    Case(
        name="another protocol's greeting",
        place=says(b"SSH-2.0-OpenSSH_9.6\r\n"),
        failure=BROKEN,
        why="It speaks no HTTP.",
    ),
    Case(
        name="HTTP/2 frames",
        place=says(b"\x00\x00\x12\x04\x00\x00\x00\x00\x00" + bytes(18)),
        failure=BROKEN,
        why="It speaks no HTTP.",
    ),
    Case(
        name="a status that is no number",
        place=says(b"HTTP/1.1 abc Fine\r\n\r\n"),
        failure=BROKEN,
        why="It speaks no HTTP.",
    ),
    Case(
        name="a zero byte in a header",
        place=says(OK + b"X-Odd: a\x00b\r\n\r\n"),
        failure=BROKEN,
        why="It speaks no HTTP.",
    ),
    Case(
        name="two lengths that differ",
        place=says(OK + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nok"),
        failure=BROKEN,
        why="It speaks no HTTP.",
    ),
    Case(
        name="204 with a body",
        place=says(b"HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\nhello"),
        status=204,
    ),
    Case(name="two answers at once", place=says(answer("200 OK") + answer("500 No")), status=200),
    Case(
        name="a page to log in, with 200",
        place=says(answer("200 OK", "Content-Type: text/html", body=b"<html><form>")),
        status=200,
    ),
    Case(
        name="a cookie of 7 kB",
        place=says(answer("200 OK", f"Set-Cookie: a={'x' * 7000}")),
        status=200,
    ),
)

REDIRECTS = (
    redirect(301, "/elsewhere"),
    redirect(302, f"https://{NAME}/hook"),
    redirect(303, "https://other.example/"),
    redirect(307, "http://169.254.169.254/latest/meta-data/"),
    redirect(307, "http://[::ffff:169.254.169.254]/"),
    redirect(308, "http://127.0.0.1:6820/slurm/"),
    redirect(302, "file:///etc/passwd"),
    redirect(302, "gopher://127.0.0.1:6379/_FLUSHALL"),
    redirect(302, "//169.254.169.254/"),
    redirect(302, "?"),
)

STATUSES = (
    *(with_status(each) for each in (202, 204, 400, 401, 403, 404, 410, 413, 500, 503, 599)),
    with_status(429, "Retry-After: 120"),
    with_status(429, "Retry-After: Wed, 21 Oct 2026 07:28:00 GMT"),
    with_status(429, "Retry-After: -5"),
    with_status(429, "Retry-After: 315360000"),
    with_status(503, "Retry-After: soon"),
    with_status(200, "WebHook-Delivery: abort-message"),
)
