"""Sign what is sent, as Standard Webhooks has it, so that receivers need nothing of ours.

What is signed is `{id}.{unix seconds}.{body}`, the body byte for byte. A receiver takes a
request if any one of its signatures is right: that is how a secret is exchanged
without an hour in which nothing gets through.
"""

import base64
import binascii
import hmac
from collections.abc import Callable, Sequence
from datetime import datetime

from clusterra.core.errors import Invalid

ID = "webhook-id"
TIMESTAMP = "webhook-timestamp"
SIGNATURE = "webhook-signature"

HMAC, ED25519 = "v1", "v1a"

SECRET_PREFIX = "whsec_"  # noqa: S105 - what a secret begins with is not one
PUBLIC_PREFIX = "whpk_"

SECRET_BYTES = 32
LEAST, MOST = 24, 64
"""How many bytes a secret may have, by the standard."""

PUBLIC_BYTES = 32


def signed_headers(
    id: str,
    at: datetime,
    body: bytes,
    secrets: Sequence[str | bytes | hmac.HMAC],
    ed25519: Callable[[bytes], bytes] | None = None,
) -> dict[str, str]:
    """Return the three headers of a request; `secrets` are those that live, the newest first, as
    they are shown, as their bytes or `begun`.

    `ed25519` signs with the private half of the public key that receivers have.
    """
    timestamp = timestamp_of(at)
    content = signed_content(id, timestamp, body)
    signatures = [f"{HMAC},{_spelled(mac(secret, content))}" for secret in secrets]
    if ed25519 is not None:
        signatures.append(f"{ED25519},{_spelled(ed25519(content))}")
    return {ID: id, TIMESTAMP: timestamp, SIGNATURE: " ".join(signatures)}


def timestamp_of(at: datetime) -> str:
    """Return the unix seconds of a moment, which are the same in every time zone."""
    if at.tzinfo is None:
        raise ValueError(f"{at} does not say of which zone it is")
    return str(int(at.timestamp()))


def signed_content(id: str, timestamp: str, body: bytes) -> bytes:
    return b"%s.%s.%s" % (id.encode(), timestamp.encode(), body)


def mac(secret: str | bytes | hmac.HMAC, content: bytes) -> bytes:
    # Not hmac.digest, which lets other threads have the interpreter: in a burst, waiting to get it
    # back takes far longer than the hash.
    made = secret.copy() if isinstance(secret, hmac.HMAC) else begun(secret)
    made.update(content)
    return made.digest()


def begun(secret: str | bytes) -> hmac.HMAC:
    """Return a signature with this secret before anything is signed. Whoever signs much with it
    begins once. Raises Invalid if it is no secret."""
    key = secret if isinstance(secret, bytes) else read_secret(secret)
    return hmac.new(key, digestmod="sha256")


def secret_from(entropy: bytes) -> str:
    """Return a new secret of 32 random bytes, as it is shown."""
    if len(entropy) < SECRET_BYTES:
        raise ValueError(f"a secret takes {SECRET_BYTES} random bytes; there are {len(entropy)}")
    return SECRET_PREFIX + _spelled(entropy[:SECRET_BYTES])


def read_secret(text: str) -> bytes:
    """Return the key that a secret spells, with or without its prefix; Invalid if it is none."""
    # Never quoted: errors are logged, and screens are shared.
    key = _decoded(text.strip().removeprefix(SECRET_PREFIX))
    if key is None:
        raise Invalid(
            "This is not a webhook's secret: what follows whsec_ is not base64.",
            hint="Copy it whole, as it was shown when the webhook was made: whsec_ and 44 "
            "characters more.",
            at="secret",
        )
    if not LEAST <= len(key) <= MOST:
        raise Invalid(
            f"This is not a webhook's secret: it holds {len(key)} bytes, and not {LEAST} to "
            f"{MOST}.",
            hint="Copy it whole, as it was shown when the webhook was made: whsec_ and 44 "
            "characters more.",
            at="secret",
        )
    return key


def public_text(public: bytes) -> str:
    """Return a workspace's public key as receivers are given it."""
    return PUBLIC_PREFIX + _spelled(public)


def read_public(text: str) -> bytes:
    """Return the key that `whpk_…` spells; Invalid if it spells none."""
    key = _decoded(text.strip().removeprefix(PUBLIC_PREFIX))
    if key is None or len(key) != PUBLIC_BYTES:
        raise Invalid(
            "This is not a webhook's public key.",
            hint="It is whpk_ and 44 characters of base64: clusterra webhooks show",
            at="secret",
        )
    return key


def _decoded(text: str) -> bytes | None:
    try:
        # Some tools cut the padding off; nothing is lost with it.
        return base64.b64decode(
            text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4), validate=True
        )
    except (binascii.Error, ValueError):
        return None


def _spelled(data: bytes) -> str:
    return base64.b64encode(data).decode()
