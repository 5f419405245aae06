"""Files in a bucket, below a prefix of the cluster's own.

Length, type and checksum of what is put stand under the signature of the link, so S3 itself refuses
anything else. What was put before can be had again where the bucket keeps versions.
"""

import base64
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from urllib.parse import quote

from clusterra.adapters.objects_s3 import parts as multipart
from clusterra.adapters.objects_s3.bucket import Answer, Bucket, children, text_of
from clusterra.core.errors import NotFound, Refused
from clusterra.ports import Cargo, Clock, Desk, Listing, Part, Presigned, Stored, Used

_PIECE = 1 << 20
_LARGEST_COPY = 5 << 30
"""Bytes that S3 copies in one request; more is copied in parts."""

_SUM = "x-amz-meta-sha256"


class S3Objects:
    desk: Desk | None = None

    def __init__(
        self,
        bucket: Bucket,
        *,
        prefix: str,
        clock: Clock,
        lasts: timedelta = timedelta(minutes=15),
        seen_at: str = "",
    ) -> None:
        """`prefix` ends in a slash. Links last for `lasts`; jobs see the keys below `seen_at`."""
        self._bucket, self._prefix, self._clock = bucket, prefix, clock
        self._lasts, self._seen_at = lasts, seen_at

    async def make_room(self, name: str, uid: int | None) -> str:  # noqa: ARG002
        return self.room(name)

    def room(self, name: str) -> str:
        return f"{self._seen_at}/{name}" if self._seen_at else ""

    def key_at(self, path: str) -> str | None:
        head = f"{self._seen_at}/"
        return path.removeprefix(head) if self._seen_at and path.startswith(head) else None

    # --- links

    async def presign_get(self, key: str, *, version: str = "", name: str = "") -> Presigned:
        if await self.stat(key, version=version) is None:
            raise _no_such_file(key)
        shown = quote(name or key.rpartition("/")[2], safe="")
        query = {"response-content-disposition": f"attachment; filename*=UTF-8''{shown}"}
        if version:
            query["versionId"] = version
        return await self._presigned("GET", key, {}, query)

    async def presign_put(self, key: str, cargo: Cargo) -> Presigned:
        headers = {
            "Content-Type": cargo.content_type,
            "x-amz-checksum-sha256": _base64(cargo.sha256),
            _SUM: cargo.sha256,
        }
        return await self._presigned("PUT", key, headers, {}, size=cargo.size)

    async def presign_part(self, key: str, upload: str, part: Part) -> Presigned:
        headers = {"x-amz-checksum-sha256": _base64(part.sha256)}
        query = {"partNumber": str(part.number), "uploadId": upload}
        return await self._presigned("PUT", key, headers, query, size=part.size)

    async def _presigned(
        self,
        method: str,
        key: str,
        headers: dict[str, str],
        query: dict[str, str],
        size: int | None = None,
    ) -> Presigned:
        length = {} if size is None else {"content-length": str(size)}
        url = await self._bucket.link(
            method, self._prefix + key, headers=headers | length, query=query, lasts=self._lasts
        )
        until = self._clock.now().replace(microsecond=0) + self._lasts
        return Presigned(url=url, method=method, headers=headers, expires_at=until)

    # --- whole files

    async def put(self, key: str, data: AsyncIterator[bytes], cargo: Cargo) -> None:
        headers = {
            "content-type": cargo.content_type,
            "content-length": str(cargo.size),
            "x-amz-checksum-sha256": _base64(cargo.sha256),
            _SUM: cargo.sha256,
        }
        answer = await self._bucket.ask("PUT", self._prefix + key, headers=headers, body=data)
        _check(answer, "put", key)

    async def read(self, key: str) -> AsyncIterator[bytes]:
        async with self._bucket.asking("GET", self._prefix + key) as reply:
            if reply.status == 404:
                raise _no_such_file(key)
            async for piece in reply.content.iter_chunked(_PIECE):
                yield piece

    async def stat(self, key: str, *, version: str = "") -> Stored | None:
        query = {"versionId": version} if version else {}
        answer = await self._bucket.ask("HEAD", self._prefix + key, query=query)
        if answer.status != 200:
            return None
        told = answer.headers
        return Stored(
            key=key,
            size=int(told.get("content-length", "0")),
            modified_at=parsedate_to_datetime(told["last-modified"]).astimezone(UTC),
            sha256=told.get(_SUM, ""),
            content_type=told.get("content-type", ""),
            version=version,
        )

    async def delete(self, key: str) -> bool:
        if await self.stat(key) is None:
            return False
        await self._bucket.ask("DELETE", self._prefix + key)
        return True

    async def copy(self, source: str, target: str, *, version: str = "") -> None:
        found = await self.stat(source, version=version)
        if found is None:
            raise _no_such_file(source)
        where = quote(f"/{self._bucket.name}/{self._prefix}{source}", safe="/-_.~")
        if version:
            where += f"?versionId={quote(version, safe='')}"
        headers = {"x-amz-copy-source": where}
        if found.size <= _LARGEST_COPY:
            answer = await self._bucket.ask("PUT", self._prefix + target, headers=headers)
            _check(answer, "copy", source)
        else:
            cargo = Cargo(size=found.size, sha256=found.sha256, content_type=found.content_type)
            upload = await self.begin(target, cargo, _LARGEST_COPY)
            await multipart.copy(self._bucket, self._prefix + target, upload, headers, found.size)
            await self.complete(target, upload, size=found.size)

    async def move(self, source: str, target: str) -> None:
        await self.copy(source, target)
        await self._bucket.ask("DELETE", self._prefix + source)

    async def versions(self, key: str) -> Sequence[Stored]:
        query = {"versions": "", "prefix": self._prefix + key}
        answer = await self._bucket.ask("GET", query=query)
        found = []
        for each in children(answer.document(), "Version"):
            if text_of(each, "Key") == self._prefix + key:
                version = text_of(each, "VersionId")
                if stored := await self.stat(key, version="" if version == "null" else version):
                    found.append(stored)
        return found

    # --- files in parts

    async def begin(self, key: str, cargo: Cargo, part_size: int) -> str:  # noqa: ARG002
        return await multipart.begin(self._bucket, self._prefix + key, cargo, _SUM)

    async def parts(self, key: str, upload: str) -> Sequence[Part]:
        there = await multipart.there(self._bucket, self._prefix + key, upload)
        return [each.part for each in there]

    async def complete(self, key: str, upload: str, *, size: int) -> None:
        await multipart.complete(self._bucket, self._prefix + key, upload, size)

    async def abort(self, key: str, upload: str) -> None:
        await self._bucket.ask("DELETE", self._prefix + key, query={"uploadId": upload})

    # --- what is there

    async def list(self, prefix: str, *, after: str = "", limit: int = 1000) -> Listing:
        asked = {"delimiter": "/", "max-keys": str(min(limit, 1000))}
        document = await self._page(prefix, after, asked)
        return Listing(
            folders=[
                text_of(each, "Prefix").removeprefix(self._prefix)
                for each in children(document, "CommonPrefixes")
            ],
            files=[
                self._listed(each)
                for each in children(document, "Contents")
                # Other tools put empty objects where they want to show a folder.
                if not text_of(each, "Key").endswith("/")
            ],
            next=text_of(document, "NextContinuationToken"),
        )

    async def used(self, prefix: str) -> Used:
        count, size, after = 0, 0, ""
        while True:
            document = await self._page(prefix, after, {})
            sizes = [int(text_of(each, "Size")) for each in children(document, "Contents")]
            count, size = count + len(sizes), size + sum(sizes)
            if not (after := text_of(document, "NextContinuationToken")):
                return Used(files=count, bytes=size)

    async def _page(self, prefix: str, after: str, asked: dict[str, str]) -> "multipart.Element":
        query = {"list-type": "2", "prefix": self._prefix + prefix, **asked}
        if after:
            query["continuation-token"] = after
        answer = await self._bucket.ask("GET", query=query)
        _check(answer, "list", prefix)
        return answer.document()

    def _listed(self, each: "multipart.Element") -> Stored:
        return Stored(
            key=text_of(each, "Key").removeprefix(self._prefix),
            size=int(text_of(each, "Size")),
            modified_at=datetime.fromisoformat(text_of(each, "LastModified")),
        )

    async def close(self) -> None:
        await self._bucket.close()


def _base64(sha256: str) -> str:
    return base64.b64encode(bytes.fromhex(sha256)).decode()


def _check(answer: Answer, what: str, key: str) -> None:
    if answer.status == 404:
        raise _no_such_file(key)
    # A copy that fails half-way is told so in the body of an answer that says 200.
    failed = answer.body.lstrip().startswith(b"<?xml") and b"<Error>" in answer.body[:200]
    if answer.status >= 300 or failed:
        code = text_of(answer.document(), "Code") or str(answer.status)
        raise Refused(
            f"The bucket did not {what} {key.partition('/')[2]}: {code}.",
            hint="Try again; if it stays so, ask whoever runs the server.",
            code="bucket-refuses",
        )


def _no_such_file(key: str) -> NotFound:
    return NotFound(
        f"There is no file {key.partition('/')[2]}.",
        hint="`clusterra files ls` shows what there is.",
        code="file-not-found",
    )
