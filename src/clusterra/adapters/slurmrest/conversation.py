"""Speaking slurmrestd's language: the version agreed on, the complaints understood.

The version is the newest that both sides know, found by asking, and asked again
when a path is suddenly unknown: slurmrestd may have been upgraded meanwhile.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
import structlog

from clusterra.adapters.slurmrest.client import Http, Reply
from clusterra.adapters.slurmrest.decode import Envelope, read, whole
from clusterra.adapters.slurmrest.errors import Act, Complaint, explain, explain_text
from clusterra.adapters.slurmrest.stream import Broken, Elements, Piece
from clusterra.adapters.slurmrest.versions import KNOWN, Dialect
from clusterra.core.errors import Refused, Unanswered, Unreachable

log = structlog.get_logger()

E = TypeVar("E", bound=Envelope)
T = TypeVar("T")

Query = Sequence[tuple[str, str]]


class Conversation:
    def __init__(self, http: Http, *, service_user: str) -> None:
        self._http = http
        self._service_user = service_user
        self._dialect: Dialect | None = None
        self._agreeing = asyncio.Lock()

    async def dialect(self) -> Dialect:
        """Return the version spoken with this server."""
        if self._dialect is None:
            async with self._agreeing:
                if self._dialect is None:
                    self._dialect = await self._agree()
        return self._dialect

    async def ask(
        self,
        path: str,
        into: type[E],
        *,
        query: Query = (),
        asked: Mapping[str, object] | None = None,
    ) -> E:
        """Read something in the service's name."""
        reply = await self._send("GET", path, user=None, query=query, body=None, safe=True)
        return self.settled(reply, into, Act.READ, {"user": self._service_user, **(asked or {})})

    async def fetch(self, path: str) -> Reply:
        """Read something in the service's name and leave it as it came, for `settled`."""
        return await self._send("GET", path, user=None, query=(), body=None, safe=True)

    async def act(
        self,
        method: str,
        path: str,
        *,
        user: str | None,
        query: Query = (),
        body: Mapping[str, Any] | None = None,
    ) -> Reply:
        """Do something once, in somebody's name. The reply may still hold complaints."""
        return await self._send(method, path, user=user, query=query, body=body, safe=False)

    async def each(
        self, path: str, name: str, decode: Callable[[Piece], T], *, query: Query = ()
    ) -> AsyncGenerator[T, None]:
        """Read a long list, element by element, while it arrives."""
        for fresh in (False, True):
            spoken = await self.dialect()
            async with self._http.listen(
                path.format(v=spoken.version), user=self._service_user, query=query
            ) as reply:
                if not isinstance(reply, Reply):
                    elements = Elements(name, decode)
                    async for chunk in reply:
                        for element in elements.feed(chunk):
                            yield element
                    try:
                        last, envelope = elements.finish()
                    except Broken as error:
                        raise self._broken_off() from error
                    for element in last:
                        yield element
                    self._complain(envelope, Act.READ, {"user": self._service_user})
                    return
                if fresh or not _unknown_path(reply):
                    self.settled(reply, Envelope, Act.READ, {"user": self._service_user})
                    return
            self._forget(spoken)

    def settled(self, reply: Reply, into: type[E], act: Act, asked: Mapping[str, object]) -> E:
        """Return what a reply holds, or raise what it complains about."""
        if not reply.json:
            if reply.status in (200, 204, 304):
                return into()
            text = reply.body.decode(errors="replace")
            raise explain_text(reply.status, text, str(asked.get("user", "")))
        try:
            found = read(reply.body, into)
        except msgspec.DecodeError as error:
            raise (self._unclear() if act is Act.SUBMIT else self._broken_off()) from error
        self._complain(found, act, asked)
        if reply.status >= 400:
            raise explain_text(reply.status, "an error without a reason", str(asked.get("user")))
        return found

    async def close(self) -> None:
        await self._http.close()

    async def _send(
        self,
        method: str,
        path: str,
        *,
        user: str | None,
        query: Query,
        body: Mapping[str, Any] | None,
        safe: bool,
    ) -> Reply:
        for fresh in (False, True):
            spoken = await self.dialect()
            reply = await self._http.ask(
                method,
                path.format(v=spoken.version),
                user=self._service_user if user is None else user,
                query=query,
                body=body,
                safe=safe,
            )
            if fresh or not _unknown_path(reply):
                return reply
            self._forget(spoken)  # an unknown path was not acted upon: asking again is safe
        raise AssertionError("the second reply is returned")

    async def _agree(self) -> Dialect:
        for dialect in KNOWN:
            # Any answer but "no such path" shows that the version is there, even a refusal.
            reply = await self._http.ask(
                "GET", f"/slurm/{dialect.version}/diag/", user=self._service_user, safe=True
            )
            if not _unknown_path(reply):
                if not reply.json:
                    self.settled(reply, Envelope, Act.READ, {"user": self._service_user})
                log.info("slurm.version_agreed", url=self._http.url, version=dialect.version)
                return dialect
        raise Refused(
            f"This slurmrestd offers none of {KNOWN[-1].version} to {KNOWN[0].version}.",
            hint="Slurm 24.11 to 26.05 speaks one of them; check the address, and that slurmrestd "
            "runs with -s openapi/slurmctld,openapi/slurmdbd.",
            code="api-version",
        )

    def _forget(self, spoken: Dialect) -> None:
        if self._dialect is spoken:
            self._dialect = None

    def _complain(self, envelope: Envelope, act: Act, asked: Mapping[str, object]) -> None:
        for complaint in complaints(envelope):
            if complaint.number != 0:
                raise explain(complaint, act, asked)

    def _broken_off(self) -> Unreachable:
        return Unreachable(
            f"The answer of slurmrestd at {self._http.url} broke off.",
            hint="It may have been restarted; try again.",
        )

    def _unclear(self) -> Unanswered:
        return Unanswered(
            f"The answer of slurmrestd at {self._http.url} cannot be read.",
            hint="It may have done what was asked: look before asking again.",
        )


def complaints(envelope: Envelope) -> list[Complaint]:
    """Return the errors of a reply; number 0 is a remark that slurmrestd files among them."""
    return [
        Complaint(
            number=whole(each.get("error_number")) or 0,
            error=str(each.get("error") or ""),
            description=str(each.get("description") or ""),
            source=str(each.get("source") or ""),
        )
        for each in envelope.errors or ()
    ]


def _unknown_path(reply: Reply) -> bool:
    return reply.status == 404 and not reply.json
