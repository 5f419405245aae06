"""Files that come to a bucket in parts: begun, looked at, completed."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from xml.etree.ElementTree import Element
from xml.sax.saxutils import escape

from clusterra.adapters.objects_s3.bucket import Answer, Bucket, children, text_of
from clusterra.core.errors import Conflict, NotFound, Refused
from clusterra.ports import Cargo, Part

__all__ = ["Element", "Tagged", "begin", "complete", "copy", "there"]

_COPIED_AT_ONCE = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Tagged:
    part: Part
    etag: str
    """What S3 calls the part, and wants to hear again."""

    checksum: str


async def begin(bucket: Bucket, key: str, cargo: Cargo, header: str) -> str:
    headers = {"content-type": cargo.content_type, "x-amz-checksum-algorithm": "SHA256"}
    if cargo.sha256:
        headers[header] = cargo.sha256
    answer = await bucket.ask("POST", key, query={"uploads": ""}, headers=headers)
    upload = text_of(answer.document(), "UploadId")
    if not upload:
        raise _refused(answer)
    return upload


async def there(bucket: Bucket, key: str, upload: str) -> list[Tagged]:
    """Return the parts that have come, by number. Raises NotFound if the upload is over."""
    found: list[Tagged] = []
    after = ""
    while True:
        query = {"uploadId": upload} | ({"part-number-marker": after} if after else {})
        answer = await bucket.ask("GET", key, query=query)
        if answer.status != 200:
            raise _over()
        document = answer.document()
        found += [_tagged(each) for each in children(document, "Part")]
        after = text_of(document, "NextPartNumberMarker")
        if text_of(document, "IsTruncated") != "true" or not after:
            return found


async def complete(bucket: Bucket, key: str, upload: str, size: int) -> None:
    parts = await there(bucket, key, upload)
    came = sum(each.part.size for each in parts)
    if came != size or [each.part.number for each in parts] != [*range(1, len(parts) + 1)]:
        raise Conflict(
            f"{came:,} of {size:,} bytes have come.",
            hint="Send the parts that are missing, then complete it.",
            code="parts-missing",
        )
    rows = "".join(
        f"<Part><PartNumber>{each.part.number}</PartNumber><ETag>{escape(each.etag)}</ETag>"
        + (f"<ChecksumSHA256>{each.checksum}</ChecksumSHA256>" if each.checksum else "")
        + "</Part>"
        for each in parts
    )
    body = f"<CompleteMultipartUpload>{rows}</CompleteMultipartUpload>".encode()
    answer = await bucket.ask("POST", key, query={"uploadId": upload}, body=body)
    # What fails after the answer has begun is told in its body.
    if answer.status != 200 or answer.document().tag.rpartition("}")[2] == "Error":
        raise _refused(answer)


async def copy(bucket: Bucket, key: str, upload: str, source: Mapping[str, str], size: int) -> None:
    """Copy something too large for one request into the parts of an upload."""
    for number, start in enumerate(range(0, size, _COPIED_AT_ONCE), start=1):
        stop = min(start + _COPIED_AT_ONCE, size)
        answer = await bucket.ask(
            "PUT",
            key,
            query={"partNumber": str(number), "uploadId": upload},
            headers={**source, "x-amz-copy-source-range": f"bytes={start}-{stop - 1}"},
        )
        if answer.status != 200:
            raise _refused(answer)


def _tagged(each: Element) -> Tagged:
    checksum = text_of(each, "ChecksumSHA256")
    return Tagged(
        part=Part(
            number=int(text_of(each, "PartNumber")),
            size=int(text_of(each, "Size")),
            sha256=base64.b64decode(checksum).hex() if checksum else "",
        ),
        etag=text_of(each, "ETag"),
        checksum=checksum,
    )


def _refused(answer: Answer) -> Refused:
    code = text_of(answer.document(), "Code") or str(answer.status)
    return Refused(
        f"The bucket did not put the parts together: {code}.",
        hint="Begin the upload again.",
        code="bucket-refuses",
    )


def _over() -> NotFound:
    return NotFound(
        "There is no such upload: it was completed, aborted, or never begun.",
        hint="Begin it again: POST …/storage/presigned-url",
        code="upload-not-found",
    )
