"""Files over links that this server has signed: straight from and to the disk.

Plain ASGI, in front of the door: the link is all that lets in, and a file of gigabytes is not to
pass through anything that looks at it. What is handed out is never shown by a browser as a page of
ours, whatever somebody has put into it.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress

import structlog
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from clusterra.api import problems
from clusterra.api.sse import gone
from clusterra.control.plane import Plane
from clusterra.core.byte_range import byte_range
from clusterra.core.errors import ClusterraError, Malformed, NotFound
from clusterra.ports import Desk, Handout, Intake

log = structlog.get_logger()

PATH = "/v1/objects"
_LINK = re.compile(rf"{PATH}/([a-z0-9]{{1,64}})/([A-Za-z0-9_-]{{1,8192}})")

PASSED_OVER, PASSED_OVER_SECONDS = 16 << 20, 5.0
"""How much of what is refused is read and thrown away, and for how long."""

_NO_PAGE = {
    "x-content-type-options": "nosniff",
    "content-security-policy": "sandbox; default-src 'none'",
    "cache-control": "private, no-store",
    "cross-origin-resource-policy": "same-origin",
    "accept-ranges": "bytes",
}


class Objects:
    def __init__(self, app: ASGIApp, plane: Plane) -> None:
        self._app = app
        self._plane = plane

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(f"{PATH}/"):
            return await self._app(scope, receive, send)
        begun = heard_all = False

        async def receiving() -> Message:
            nonlocal heard_all
            message = await receive()
            heard_all = heard_all or not message.get("more_body")
            return message

        async def sending(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            return await self._answer(scope, receiving, sending)
        except ClusterraError as error:
            if begun:
                raise  # too late for another answer: the server closes the connection
            response = problems.respond(error)
        except Exception as error:
            if begun:
                raise
            response = await problems.unexpected(Request(scope), error)
        if not heard_all:
            await _passed_over(receive)
        # What is still being sent is not read, so nothing more can come over this connection.
        response.headers["connection"] = "close"
        return await response(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        desk, ticket = self._found(scope["path"])
        headers = {
            name.decode("latin-1"): text.decode("latin-1") for name, text in scope["headers"]
        }
        match method := scope["method"]:
            case "PUT":
                await _take(await desk.receive(ticket, method, headers), receive)
                await _reply(send, 200, {})
            case "GET" | "HEAD":
                handout = await desk.hand_out(ticket, method)
                try:
                    await _give(handout, headers, receive, send, body=method == "GET")
                finally:
                    handout.close()
            case _:
                raise Malformed(f"A link is not for {method}.", hint="Use the method it came with.")

    def _found(self, path: str) -> tuple[Desk, str]:
        link = _LINK.fullmatch(path)
        site = self._plane.sites.get(link[1]) if link else None
        desk = site.files.desk if site and site.files else None
        if link is None or desk is None:
            raise NotFound(
                "There is nothing behind this link.",
                hint="Ask for a new one: POST …/storage/presigned-url",
                code="link-not-found",
            )
        return desk, link[2]


async def _take(intake: Intake, receive: Receive) -> None:
    try:
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Malformed("It was cut off.", hint="Send it again.", code="cut-off")
            if data := message.get("body"):
                await intake.write(data)
            if not message.get("more_body"):
                break
        await intake.finish()
    finally:
        await intake.drop()


async def _passed_over(receive: Receive) -> None:
    """Let who sends something that is refused finish, within reason.

    A connection that is closed while something still comes is reset, and then its other end never
    reads why.
    """
    left = PASSED_OVER
    with suppress(TimeoutError):
        async with asyncio.timeout(PASSED_OVER_SECONDS):
            while left > 0:
                message = await receive()
                left -= len(message.get("body", b""))
                if message["type"] == "http.disconnect" or not message.get("more_body"):
                    return


async def _give(
    handout: Handout, headers: Mapping[str, str], receive: Receive, send: Send, *, body: bool
) -> None:
    told = {**handout.headers, **_NO_PAGE}
    asked = headers.get("range", "")
    if headers.get("if-range", told.get("etag")) != told.get("etag"):
        asked = ""
    wanted = byte_range(asked)
    span = wanted.within(handout.size) if wanted else None
    if wanted and span is None:
        return await _reply(send, 416, {**told, "content-range": f"bytes */{handout.size}"})
    start, stop = span or (0, handout.size)
    told["content-length"] = str(stop - start)
    if span:
        told["content-range"] = f"bytes {start}-{stop - 1}/{handout.size}"
    await _begin(send, 206 if span else 200, told)
    if body:
        await _pour(handout.pieces(start, stop), receive, send)
    return await send({"type": "http.response.body", "body": b""})


async def _pour(pieces: AsyncIterator[bytes], receive: Receive, send: Send) -> None:
    """Send all of it, as long as somebody is there to take it."""
    leaving = asyncio.create_task(gone(receive))
    try:
        async for piece in pieces:
            if leaving.done():
                break
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    finally:
        leaving.cancel()


async def _reply(send: Send, status: int, headers: Mapping[str, str]) -> None:
    await _begin(send, status, {**headers, "content-length": "0"})
    await send({"type": "http.response.body", "body": b""})


async def _begin(send: Send, status: int, headers: Mapping[str, str]) -> None:
    spelled = [(name.encode(), text.encode("latin-1")) for name, text in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": spelled})
