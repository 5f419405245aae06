"""Say whether a request was signed by whom it claims, and if not, why not.

Libraries answer "no matching signature", and somebody spends an afternoon. Here each way
in which verification goes wrong in practice is tried, and the first that explains it is told.
"""

import base64
import binascii
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from clusterra.core.errors import Invalid
from clusterra.core.events.ed25519 import is_signed
from clusterra.core.webhooks.respelled import respelled
from clusterra.core.webhooks.sign import (
    ED25519,
    HMAC,
    ID,
    PUBLIC_PREFIX,
    SIGNATURE,
    TIMESTAMP,
    mac,
    read_public,
    read_secret,
    signed_content,
)
from clusterra.core.words import count, span

TOLERANCE = timedelta(minutes=5)
"""How far apart clocks may be, as every library has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    ok: bool
    reason: str = ""
    """One word for programs: `missing`, `timestamp`, `skew`, `malformed`, `no-v1`, `secret`,
    `body`, `mismatch` or `v1a-only`; empty if it is right."""

    says: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Keys:
    secrets: tuple[tuple[str, bytes], ...]
    """Each with its last characters, by which its owner knows it."""
    public: tuple[tuple[str, bytes], ...]


Signatures = Sequence[tuple[str, bytes]]


def explain(
    headers: Mapping[str, str] | str,
    body: bytes,
    secrets: Sequence[str],
    now: datetime,
    tolerance: timedelta = TOLERANCE,
) -> Verdict:
    """Return whether a request is right, or the first reason why it is not.

    `headers` may be text, as `curl -i` prints it; among `secrets` may be public keys (`whpk_…`).
    """
    found = read_headers(headers) if isinstance(headers, str) else _lower(headers)
    for name in (ID, TIMESTAMP, SIGNATURE):
        if not found.get(name):
            return _missing(name, found)
    if not _is_number(found[TIMESTAMP]):
        return _no(
            "timestamp",
            f"The header {TIMESTAMP} is not a number of seconds: {found[TIMESTAMP]!r}.",
            "It is the time of sending, in seconds since 1970. Look at what changes it on the way.",
        )
    skew = int(found[TIMESTAMP]) - int(now.timestamp())
    if abs(skew) > tolerance.total_seconds():
        return _skewed(skew, tolerance, _judge(found, body, secrets))
    return _judge(found, body, secrets, age=-skew)


def read_headers(text: str) -> dict[str, str]:
    """Read headers as they are printed: a name, a colon, a value; other lines are left out.

    Lines of `curl -v` begin with `<` or `>`.
    """
    pairs = (line.lstrip("<> \t").partition(":") for line in text.splitlines())
    return _lower({name: value for name, colon, value in pairs if colon and name.strip()})


def _judge(
    headers: Mapping[str, str], body: bytes, secrets: Sequence[str], *, age: int = 0
) -> Verdict:
    try:
        signatures = _signatures(headers[SIGNATURE])
    except ValueError as error:
        return _no("malformed", str(error), "It is v1,<base64>, and several have a space between.")
    versions = {version for version, _ in signatures}
    if not versions & {HMAC, ED25519}:
        return _no(
            "no-v1",
            f"The header {SIGNATURE} has no v1 signature, only {', '.join(sorted(versions))}.",
            "Standard Webhooks has v1 (a shared secret) and v1a (a public key). Is it from "
            "Clusterra?",
        )
    try:
        keys = _keys(secrets)
    except Invalid as error:
        return _no("secret", error.detail, error.hint)
    content = signed_content(headers[ID], headers[TIMESTAMP], body)
    if by := _signer(signatures, keys, content):
        when = f"{span(abs(age))} {'ago' if age >= 0 else 'in the future'}"
        return Verdict(ok=True, says=f"The signature is right: signed {when} with {by}.")
    return _refused(headers, body, signatures, keys)


def _refused(
    headers: Mapping[str, str], body: bytes, signatures: Signatures, keys: _Keys
) -> Verdict:
    for words, other in respelled(body):
        content = signed_content(headers[ID], headers[TIMESTAMP], other)
        if by := _signer(signatures, keys, content):
            return _no(
                "body",
                f"This body is not what was sent: with {words} the signature is right, with {by}.",
                "Verify the bytes as they arrive, before anything parses the JSON and writes it "
                "again.",
            )
    versions = {version for version, _ in signatures}
    if versions.isdisjoint({HMAC}) and not keys.public:
        return _no(
            "v1a-only",
            "The request is signed with the workspace's public key (v1a) only, and none was given.",
            "Give the public key, whpk_…: clusterra webhooks show",
        )
    tried = [*keys.secrets, *keys.public]
    ends = ", ".join(f"…{end}" for end, _ in tried) or "none"
    several = "s that were" if len(tried) > 1 else " that was"
    return _no(
        "mismatch",
        f"No signature fits. The secret{several} tried: {ends}; the body has "
        f"{count(len(body), 'byte')}.",
        "Is it the secret of this webhook, and the newest? Was the body changed on the way? "
        "A new secret: clusterra webhooks rotate",
    )


def _signer(signatures: Signatures, keys: _Keys, content: bytes) -> str:
    """Return in words what a request is signed with; empty if with nothing that we have."""
    for version, given in signatures:
        for end, key in keys.secrets if version == HMAC else ():
            if hmac.compare_digest(given, mac(key, content)):
                return f"the secret that ends in {end}"
        for end, key in keys.public if version == ED25519 else ():
            if is_signed(content, given, key):
                return f"the key whose public half ends in {end}"
    return ""


def _signatures(text: str) -> list[tuple[str, bytes]]:
    found = []
    for each in text.split():
        version, comma, spelled = each.partition(",")
        try:
            found.append((version, base64.b64decode(spelled, validate=True)))
        except (binascii.Error, ValueError):
            comma = ""
        if not comma or not version or not spelled:
            raise ValueError(f"The header {SIGNATURE} cannot be read: {each[:60]!r}.")
    return found


def _keys(secrets: Sequence[str]) -> _Keys:
    public = [each for each in secrets if each.strip().startswith(PUBLIC_PREFIX)]
    return _Keys(
        secrets=tuple((_end(each), read_secret(each)) for each in secrets if each not in public),
        public=tuple((_end(each), read_public(each)) for each in public),
    )


def _end(secret: str) -> str:
    """Return what of a secret may be shown. The very last character is padding."""
    return secret.strip().rstrip("=")[-4:]


def _missing(name: str, found: Mapping[str, str]) -> Verdict:
    others = [each for each in found if each.endswith(name.removeprefix("webhook")) and found[each]]
    hint = "Each request has webhook-id, webhook-timestamp and webhook-signature."
    if others:
        hint += f" There is {others[0]}: is this request from Clusterra?"
    else:
        hint += " A proxy in between may have left it out."
    return _no("missing", f"The header {name} is missing.", hint)


def _skewed(skew: int, tolerance: timedelta, otherwise: Verdict) -> Verdict:
    most = f"the most is {count(int(tolerance.total_seconds()), 'second')}"
    if skew > 0:
        says = (
            f"It was signed {count(skew, 'second')} in the future; {most}. The sender's clock is "
            "ahead of this one."
        )
        hint = "Set both clocks by NTP."
    else:
        says = (
            f"It was signed {count(-skew, 'second')} ago; {most}. This clock is ahead of the "
            "sender's, or the request is an old one."
        )
        hint = "Set both clocks by NTP. For a request that was kept, say how old it may be."
    if otherwise.ok:
        says += " Its signature is right."
    return _no("skew", says, hint)


def _no(reason: str, says: str, hint: str) -> Verdict:
    return Verdict(ok=False, reason=reason, says=says, hint=hint)


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.strip().lower(): value.strip() for name, value in headers.items()}


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 16
