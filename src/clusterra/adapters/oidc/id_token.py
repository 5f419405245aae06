"""Check an ID token: who signed it, for whom, when, and in answer to which question.

Every check of OpenID Connect Core 3.1.3.7 that applies to the code flow, each with its
own refusal, because "sign-in failed" helps nobody. The signature is joserfc's work. Who
the person is, once the token has passed, is `person`'s.
"""

import hmac
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeGuard

from authlib.oidc.core.util import create_half_hash  # type: ignore[import-untyped]
from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError, UnsupportedAlgorithmError
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry

from clusterra.core.errors import Unauthenticated

SKEW = 60
"""Seconds by which two clocks may differ without anybody being refused."""

_TELL = "Sign in again. If it happens again, tell an admin: something between you and {} is wrong."


class UnknownKey(Unauthenticated):
    """The token is signed with a key that is not among those we know: yet, or ever."""

    code = "bad-signature"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What a token has to be to be the answer to our question."""

    name: str
    """What people call the provider."""

    issuer: str
    client_id: str
    algorithms: frozenset[str]
    nonce: str = field(repr=False)
    access_token: str = field(repr=False)
    """What came with it."""

    now: datetime


def verify(token: str, keys: KeySet, expected: Expected) -> Mapping[str, Any]:
    """Return what the token says if every check passes."""
    algorithm, claims = _signed(token, keys, expected)
    _for_us(claims, expected)
    _in_time(claims, expected)
    _our_question(claims, expected)
    _with_its_access_token(claims, algorithm, expected)
    if not _text(claims.get("sub")):
        raise Unauthenticated(
            f"{expected.name} did not say who you are: its token has no subject.",
            hint="Tell an admin; every OpenID Connect provider has to send one.",
            code="no-subject",
        )
    return claims


class _Registry(JWSRegistry):
    """Exactly the algorithms it is given.

    joserfc's own falls back to its recommended ones, HS256 among them, when it is given
    none; and it warns at run time about EdDSA, which providers still say for Ed25519.
    """

    def get_alg(self, name: str) -> Any:
        if name not in (self.allowed or ()):
            raise UnsupportedAlgorithmError(name)
        return self.algorithms[name]


def _signed(token: str, keys: KeySet, expected: Expected) -> tuple[str, Mapping[str, Any]]:
    # Not strict: headers that mean nothing to us are to be ignored (RFC 7515, section 4).
    registry = _Registry(algorithms=expected.algorithms, strict_check_header=False)
    hint = _TELL.format(expected.name)
    try:
        found = jwt.decode(token, keys, registry=registry)
    except UnsupportedAlgorithmError:
        raise Unauthenticated(
            f"The token is not signed in a way that {expected.name} announces and we trust"
            f" ({', '.join(sorted(expected.algorithms)) or 'there is none'}).",
            hint="An admin should have the provider sign ID tokens with RS256 or ES256.",
            code="bad-algorithm",
        ) from None
    except InvalidKeyIdError:
        raise UnknownKey(
            f"The token is signed with a key that {expected.name} does not publish.", hint=hint
        ) from None
    except JoseError as error:
        broken = error.error == "bad_signature"
        what = f"is not signed by {expected.name}" if broken else "cannot be read"
        code = "bad-signature" if broken else "bad-token"
        raise Unauthenticated(f"The token {what}.", hint=hint, code=code) from None
    except (ValueError, TypeError, KeyError):
        raise Unauthenticated("The token cannot be read.", hint=hint, code="bad-token") from None
    return str(found.header["alg"]), found.claims


def _for_us(claims: Mapping[str, Any], expected: Expected) -> None:
    if claims.get("iss") != expected.issuer:
        raise Unauthenticated(
            f"The token comes from {claims.get('iss')}, and we asked {expected.issuer}.",
            hint=_TELL.format(expected.name),
            code="bad-issuer",
        )
    audience = claims.get("aud")
    audiences = audience if isinstance(audience, list) else [audience]
    # Several: then it also has to say which of them asked. One that says so is believed anyway.
    asked_by = claims.get("azp", None if len(audiences) > 1 else expected.client_id)
    if expected.client_id not in audiences or asked_by != expected.client_id:
        raise Unauthenticated(
            f"The token was made for another application than {expected.client_id}.",
            hint="Sign in again from here. If it happens again, an admin should check the client"
            " id in the settings.",
            code="bad-audience",
        )


def _in_time(claims: Mapping[str, Any], expected: Expected) -> None:
    now = expected.now.timestamp()
    clocks = "Sign in again. If it happens again, an admin should compare the clocks: ours says"
    hint = f"{clocks} {expected.now:%H:%M:%S} UTC."
    ends, made = claims.get("exp"), claims.get("iat")
    begins = claims.get("nbf", made)
    if not (_moment(ends) and _moment(made) and _moment(begins)):
        raise Unauthenticated(
            f"The token of {expected.name} does not say when it was made and until when it holds.",
            hint="Tell an admin; every OpenID Connect provider has to say so.",
            code="bad-token",
        )
    if now >= ends + SKEW:
        raise Unauthenticated(
            f"The token expired {now - ends:.0f} seconds ago.", hint=hint, code="token-expired"
        )
    if (ahead := max(made, begins) - now) > SKEW:
        raise Unauthenticated(
            f"The token is from the future, by {ahead:.0f} seconds.",
            hint=hint,
            code="token-from-the-future",
        )


def _our_question(claims: Mapping[str, Any], expected: Expected) -> None:
    nonce = claims.get("nonce")
    if not _text(nonce) or not hmac.compare_digest(nonce.encode(), expected.nonce.encode()):
        raise Unauthenticated(
            "The token is the answer to another sign-in than the one this browser began.",
            hint="Begin again, and stay in the same browser.",
            code="bad-nonce",
        )


def _with_its_access_token(claims: Mapping[str, Any], algorithm: str, expected: Expected) -> None:
    if "at_hash" not in claims:  # optional in the code flow
        return
    # Ed25519 is the name that RFC 9864 gives to what Authlib knows as EdDSA.
    alg = "EdDSA" if algorithm == "Ed25519" else algorithm
    right = create_half_hash(expected.access_token, alg)
    found = claims["at_hash"]
    if not _text(found) or not hmac.compare_digest(found.encode(), right):
        raise Unauthenticated(
            "The token and the access token that came with it do not belong together.",
            hint=_TELL.format(expected.name),
            code="bad-access-token",
        )


def _text(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and value != ""


def _moment(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
