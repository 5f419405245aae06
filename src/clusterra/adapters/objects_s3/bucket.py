"""One bucket: requests to it, signed; and what it means when it refuses one."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import quote
from xml.etree import ElementTree as ET

import aiohttp
from yarl import URL

from clusterra.adapters.aws.borrow import borrow
from clusterra.adapters.aws.credentials import Credentials, credentials
from clusterra.adapters.aws.document import xml
from clusterra.adapters.aws.line import Line, unreachable
from clusterra.adapters.aws.signature import UNSIGNED, presigned, query_of, signed
from clusterra.adapters.no_answer import why
from clusterra.core.errors import ClusterraError, Refused
from clusterra.ports import Clock

_HINT = (
    "Give the server AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile, or a role that is"
    " allowed s3:GetObject, s3:PutObject, s3:DeleteObject and s3:ListBucket on the bucket."
)
_LENT_FOR = timedelta(minutes=5)
"""How long borrowed credentials are used before they are asked for again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    """By lower-case name."""

    body: bytes

    def document(self) -> ET.Element:
        found = xml(self.body)
        return ET.Element("nothing") if found is None else found


class Bucket:
    def __init__(
        self,
        name: str,
        *,
        region: str,
        endpoint: str,
        environ: Mapping[str, str],
        clock: Clock,
        patience: float = 30,
    ) -> None:
        self.name = name
        self._region, self._environ, self._clock = region, environ, clock
        # AWS knows a bucket by its host; others, who have one host, by the first part of the path.
        self._base = (
            f"{endpoint.rstrip('/')}/{name}"
            if endpoint
            else f"https://{name}.s3.{region}.amazonaws.com"
        )
        self._patience = patience
        self._line = Line(patience=patience, what="files")
        self._session: aiohttp.ClientSession | None = None
        self._borrowed: tuple[datetime, Credentials] | None = None

    def url(self, key: str) -> str:
        return f"{self._base}/{quote(key, safe='/-_.~')}"

    async def link(
        self,
        method: str,
        key: str,
        *,
        headers: Mapping[str, str],
        query: Mapping[str, str],
        lasts: timedelta,
    ) -> str:
        return presigned(
            method,
            self.url(key),
            headers,
            query,
            by=await self._credentials(),
            region=self._region,
            at=self._clock.now(),
            lasts=lasts,
        )

    async def ask(
        self,
        method: str,
        key: str = "",
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes | AsyncIterator[bytes] = b"",
    ) -> Answer:
        """Ask once. An answer that is no success is an answer too, but for what no key explains."""
        async with self.asking(method, key, query=query, headers=headers, body=body) as reply:
            answer = Answer(
                status=reply.status,
                headers={name.lower(): text for name, text in reply.headers.items()},
                body=await reply.read(),
            )
        if answer.status == 403 or answer.status >= 500:
            raise self._refusal(answer)
        return answer

    @asynccontextmanager
    async def asking(
        self,
        method: str,
        key: str,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes | AsyncIterator[bytes] = b"",
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Ask, and have the answer as it comes. Raises Unreachable if there is none."""
        url = self.url(key) + (f"?{query_of(query)}" if query else "")
        sent = signed(
            method,
            url,
            {**(headers or {}), "x-amz-content-sha256": UNSIGNED},
            b"",
            by=await self._credentials(),
            region=self._region,
            service="s3",
            at=self._clock.now(),
        )
        if self._session is None:
            limits = aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=self._patience)
            self._session = aiohttp.ClientSession(
                timeout=limits, cookie_jar=aiohttp.DummyCookieJar()
            )
        try:
            async with self._session.request(
                method,
                URL(url, encoded=True),  # sent the way it was signed
                data=body or None,
                headers=sent,
                allow_redirects=False,
                skip_auto_headers=("Content-Type",),
            ) as reply:
                yield reply
        except TimeoutError:
            raise unreachable(url, "it does not answer in time", "files") from None
        except (aiohttp.ClientError, OSError) as error:
            raise unreachable(url, why(error), "files") from None

    async def close(self) -> None:
        await self._line.close()
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _refusal(self, answer: Answer) -> ClusterraError:
        code = text_of(answer.document(), "Code") or f"it answers {answer.status}"
        if answer.status >= 500:
            return unreachable(self._base, code, "files")
        return Refused(
            f"The bucket {self.name} refuses what the server asks of it: {code}.",
            hint=_HINT,
            code="bucket-refuses",
        )

    async def _credentials(self) -> Credentials:
        found = credentials(self._environ)
        if isinstance(found, Credentials):
            return found
        if found is None:
            raise Refused(
                "There are no AWS credentials here to reach the bucket with.",
                hint=_HINT,
                code="cloud-credentials",
            )
        now = self._clock.now()
        if self._borrowed is None or now - self._borrowed[0] > _LENT_FOR:
            self._borrowed = (now, await borrow(found, self._line, hint=_HINT))
        return self._borrowed[1]


def text_of(element: ET.Element, name: str) -> str:
    """Return what the child of this name says, in whatever namespace."""
    for child in element:
        if child.tag.rpartition("}")[2] == name:
            return child.text or ""
    return ""


def children(element: ET.Element, name: str) -> list[ET.Element]:
    return [child for child in element if child.tag.rpartition("}")[2] == name]
