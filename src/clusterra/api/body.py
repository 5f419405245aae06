"""Request bodies: read within limits, and wrong ones explained."""

from typing import Any, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from clusterra.core.errors import Invalid, Malformed, TooLarge

LARGEST = 8 << 20
"""Twice the largest script Slurm takes, with room for its environment."""

T = TypeVar("T")


async def read(request: Request) -> bytes:
    size = 0
    chunks = []
    async for chunk in request.stream():
        size += len(chunk)
        if size > LARGEST:
            raise TooLarge(
                f"The request is larger than {LARGEST >> 20} MiB.",
                hint="Keep data in files and let the script read them.",
                code="body-too-large",
            )
        chunks.append(chunk)
    return b"".join(chunks)


def decode_object(body: bytes) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Malformed(
            f"The request is not JSON: {error}.",
            hint="Send one JSON object, as application/json.",
            code="malformed-json",
        ) from None
    if not isinstance(value, dict):
        raise Invalid("The request must be a JSON object.", hint='Send {"script": "…"}, say.')
    return value


def decode(body: bytes, into: type[T]) -> T:
    table = decode_object(body)
    try:
        return msgspec.convert(table, into)
    except msgspec.ValidationError as error:
        raise Invalid(f"The request does not fit: {error}.", hint="Mend that field.") from None


def json(value: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(value), status, headers, media_type="application/json")
