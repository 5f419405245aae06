"""Sign a request to AWS (Signature Version 4), so that it is believed to come from the account.

Only what the price lists need: one body, no query. The secret never travels; it makes a key
that is good for a day, a region and a service, and the signature is good for minutes.
"""

import hashlib
import hmac
from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import quote, urlsplit

from clusterra.adapters.aws_prices.credentials import Credentials

_ALGORITHM = "AWS4-HMAC-SHA256"
_USUAL_PORTS = {"http": 80, "https": 443}


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
    moment = at.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    sent = {name.lower(): " ".join(value.split()) for name, value in headers.items()}
    sent |= {"host": _host(url), "x-amz-date": moment}
    if by.token:
        sent["x-amz-security-token"] = by.token
    names = ";".join(sorted(sent))
    request = "\n".join(
        (
            method,
            quote(urlsplit(url).path or "/"),
            "",  # the query
            *(f"{name}:{sent[name]}" for name in sorted(sent)),
            "",
            names,
            hashlib.sha256(body).hexdigest(),
        )
    )
    scope = f"{moment[:8]}/{region}/{service}/aws4_request"
    text = "\n".join((_ALGORITHM, moment, scope, hashlib.sha256(request.encode()).hexdigest()))
    key = f"AWS4{by.secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    return sent | {
        "authorization": f"{_ALGORITHM} Credential={by.key_id}/{scope},"
        f" SignedHeaders={names}, Signature={signature}"
    }


def _host(url: str) -> str:
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return host.removesuffix(f":{_USUAL_PORTS.get(parts.scheme)}")
