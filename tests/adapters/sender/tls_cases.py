"""What endpoints may show for a certificate, and what is to come of it."""

import ssl
from collections.abc import Callable

from clusterra.core.webhooks.exchange import Failure
from tests.adapters.sender import certificates
from tests.adapters.sender.acts import (
    OK,
    TIMEOUT,
    Case,
    answers_well,
    bursts,
    plays,
    resets_when_greeted,
)
from tests.adapters.sender.hostile import Peer, Script, refusing


def tls(
    name: str, made: Callable[[], ssl.SSLContext], why: str = "", script: Script = answers_well
) -> Case:
    return Case(
        name=name,
        place=plays(script, made),
        secure=True,
        status=None if why else 200,
        failure=Failure.TLS if why else None,
        why=why,
    )


def handshake(name: str, made: Callable[[], ssl.SSLContext], why: str) -> Case:
    return Case(
        name=name, place=lambda: refusing(made()), secure=True, failure=Failure.TLS, why=why
    )


OLD = "It speaks no TLS of version 1.2 or newer."
CERTIFICATES = (
    tls("a certificate that is good", certificates.good),
    tls("a certificate through another, both shown", certificates.through_another),
    tls("expired", certificates.expired, "Its certificate has expired."),
    tls("not valid yet", certificates.not_yet_valid, "Its certificate is not valid yet."),
    tls("for another name", certificates.of_another, "Its certificate is for another name."),
    tls(
        "signed by itself",
        certificates.of_itself,
        "Its certificate is signed by nobody but itself.",
    ),
    tls(
        "signed by a stranger",
        certificates.of_a_stranger,
        "Its certificate is signed by an authority that this server does not trust.",
    ),
    tls(
        "the one in between left out",
        certificates.with_a_gap,
        "Its certificate is signed by an authority that this server does not trust, or it leaves"
        " out one in between.",
    ),
    handshake("TLS 1.0 only", lambda: certificates.only(ssl.TLSVersion.TLSv1), OLD),
    handshake("TLS 1.1 only", lambda: certificates.only(ssl.TLSVersion.TLSv1_1), OLD),
    handshake(
        "wants a certificate of ours (TLS 1.3)",
        lambda: certificates.wanting_ours(ssl.TLSVersion.TLSv1_3),
        "It wants to see a certificate of ours, and there is none.",
    ),
    handshake(
        "wants a certificate of ours (TLS 1.2)",
        lambda: certificates.wanting_ours(ssl.TLSVersion.TLSv1_2),
        "It would not agree on how to encrypt, or wants a certificate of ours.",
    ),
    Case(
        name="breaks off the handshake",
        place=plays(resets_when_greeted),
        secure=True,
        failure=Failure.TLS,
        why="It broke off the TLS handshake.",
    ),
    Case(
        name="speaks http where https is due",
        place=plays(bursts),
        secure=True,
        failure=Failure.TLS,
        why="It speaks no TLS on this port.",
    ),
    Case(
        name="never finishes the handshake",
        place=plays(Peer.silence),
        secure=True,
        failure=Failure.TIMEOUT,
        why=f"It did not finish the TLS handshake within {TIMEOUT:g} s.",
    ),
    Case(
        name="an endless body over TLS",
        place=plays(
            lambda peer: peer.say_for_ever(OK + b"\r\n" + b"x" * 65_536), certificates.good
        ),
        secure=True,
        status=200,
    ),
)
