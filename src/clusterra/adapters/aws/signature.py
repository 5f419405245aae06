"""Sign a request to AWS (Signature Version 4), so that it is believed to come from the account.

The secret never travels; it makes a key that is good for a day, a region and a service. In a header
a signature is good for minutes; in a link, for as long as the link says.
"""

import hashlib
import hmac
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from urllib.parse import quote, urlsplit

from clusterra.adapters.aws.credentials import Credentials

_ALGORITHM = "AWS4-HMAC-SHA256"
_USUAL_PORTS = {"http": 80, "https": 443}
UNSIGNED = "UNSIGNED-PAYLOAD"
"""What S3 takes in place of a body's checksum; the length and the real one stand in headers."""


def signed(
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    *,
    by: Credentials,
    region: str,
    service: str,
    at: datetime,
) -> dict[str, str]:
    """Return the headers to send: those given, and what proves who sends them."""
    sent = _spelled(headers) | {"host": host_of(url), "x-amz-date": _moment(at)}
    if by.token:
        sent["x-amz-security-token"] = by.token
    payload = sent.get("x-amz-content-sha256") or hashlib.sha256(body).hexdigest()
    scope = _scope(at, region, service)
    signature = _signature(method, url, sent, payload, by=by, scope=scope, at=at, service=service)
    return sent | {
        "authorization": f"{_ALGORITHM} Credential={by.key_id}/{scope},"
        f" SignedHeaders={_names(sent)}, Signature={signature}"
    }


def presigned(
    method: str,
    url: str,
    headers: Mapping[str, str],
    query: Mapping[str, str],
    *,
    by: Credentials,
    region: str,
    at: datetime,
    lasts: timedelta,
) -> str:
    """Return a link to S3 that whoever has it may use; with exactly these headers, until it ends."""
    sent = _spelled(headers) | {"host": host_of(url)}
    scope = _scope(at, region, "s3")
    asked = dict(query) | {
        "X-Amz-Algorithm": _ALGORITHM,
        "X-Amz-Credential": f"{by.key_id}/{scope}",
        "X-Amz-Date": _moment(at),
        "X-Amz-Expires": str(int(lasts.total_seconds())),
        "X-Amz-SignedHeaders": _names(sent),
    }
    if by.token:
        asked["X-Amz-Security-Token"] = by.token
    whole = f"{url}?{query_of(asked)}"
    signature = _signature(method, whole, sent, UNSIGNED, by=by, scope=scope, at=at, service="s3")
    return f"{whole}&X-Amz-Signature={signature}"


def query_of(asked: Mapping[str, str]) -> str:
    """Return a query the one way in which it is signed."""
    return "&".join(
        f"{quote(name, safe='')}={quote(asked[name], safe='')}" for name in sorted(asked)
    )


def _signature(
    method: str,
    url: str,
    sent: Mapping[str, str],
    payload: str,
    *,
    by: Credentials,
    scope: str,
    at: datetime,
    service: str,
) -> str:
    parts = urlsplit(url)
    path = parts.path or "/"
    request = "\n".join(
        (
            method,
            # S3 alone takes a path as it is sent; for others it is escaped once more.
            path if service == "s3" else quote(path),
            parts.query,
            *(f"{name}:{sent[name]}" for name in sorted(sent)),
            "",
            _names(sent),
            payload,
        )
    )
    digest = hashlib.sha256(request.encode()).hexdigest()
    text = "\n".join((_ALGORITHM, _moment(at), scope, digest))
    key = f"AWS4{by.secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.digest(key, text.encode(), "sha256").hex()


def _spelled(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): " ".join(value.split()) for name, value in headers.items()}


def _names(sent: Mapping[str, str]) -> str:
    return ";".join(sorted(sent))


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")


def _scope(at: datetime, region: str, service: str) -> str:
    return f"{_moment(at)[:8]}/{region}/{service}/aws4_request"


def host_of(url: str) -> str:
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return host.removesuffix(f":{_USUAL_PORTS.get(parts.scheme)}")
