"""Answer the links that we signed: take files in, hand files out."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote

from clusterra.adapters.objects_local.handout import FileHandout
from clusterra.adapters.objects_local.intake import FileIntake
from clusterra.adapters.objects_local.ticket import GET, PART, PUT, Ticket
from clusterra.core.errors import Refused
from clusterra.ports import Cargo, Part

if TYPE_CHECKING:
    from clusterra.adapters.objects_local.objects import LocalObjects


class LocalDesk:
    def __init__(self, objects: "LocalObjects") -> None:
        self._objects = objects

    async def receive(self, ticket: str, method: str, headers: Mapping[str, str]) -> FileIntake:
        read = self._objects.ticket(ticket, frozenset({PUT, PART} if method == "PUT" else ()))
        _check_announced(read, headers)
        if read.what == PART:
            part = Part(number=read.number, size=read.size, sha256=read.sha256)
            return await asyncio.to_thread(
                self._objects.uploads.intake, read.key, read.upload, part
            )
        cargo = Cargo(
            size=read.size,
            sha256=read.sha256,
            content_type=read.content_type,
            versioned=read.versioned,
        )
        return await asyncio.to_thread(self._objects.intake, read.key, cargo)

    async def hand_out(self, ticket: str, method: str) -> FileHandout:
        read = self._objects.ticket(ticket, frozenset({GET} if method in ("GET", "HEAD") else ()))
        descriptor, stored = await asyncio.to_thread(self._objects.opened, read.key, read.version)
        headers = {
            "content-type": stored.content_type or "application/octet-stream",
            "content-disposition": f"attachment; filename*=UTF-8''{quote(read.name, safe='')}",
            "last-modified": f"{stored.modified_at:%a, %d %b %Y %H:%M:%S} GMT",
            "etag": f'"{stored.sha256 or f"{stored.size}-{stored.modified_at.timestamp()}"}"',
        }
        return FileHandout(descriptor, headers)


def _check_announced(ticket: Ticket, headers: Mapping[str, str]) -> None:
    length, kind = headers.get("content-length", ""), headers.get("content-type", "")
    if not length.isdecimal() or int(length) != ticket.size:
        raise Refused(
            f"The link is for {ticket.size:,} bytes, and {length or 'an unknown number'} are sent.",
            hint="Send exactly the file that the link was asked for, with its Content-Length.",
            code="wrong-length",
        )
    if ticket.content_type and kind != ticket.content_type:
        raise Refused(
            f"The link is for {ticket.content_type}, and {kind or 'no type'} is sent.",
            hint="Send the headers that came with the link, as they are.",
            code="wrong-type",
        )
