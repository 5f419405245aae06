"""Certificates of every kind that should not be believed, and one that should."""

import ssl
import tempfile
import warnings
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

NAME = "hook.lab.example"
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        return self.key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )


def signed(
    name: str, *, by: Signed | None = None, authority: bool = False, since: int = -1, days: int = 2
) -> Signed:
    """Return a certificate for `name`, valid `since` so many days from now, for so many `days`."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    begins = datetime.now(UTC) + since * DAY
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(by.certificate.subject if by else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(begins + days * DAY)
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
    )
    made = builder.sign(by.key if by else key, hashes.SHA256())
    return Signed(certificate=made, key=key)


@cache
def root() -> Signed:
    return signed("Lab Root", authority=True)


@cache
def between() -> Signed:
    return signed("Lab Issuing", by=root(), authority=True)


def server(leaf: Signed, *chain: Signed) -> ssl.SSLContext:
    """Return what a server with this certificate needs."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    load(made, leaf, *chain)
    return made


def load(context: ssl.SSLContext, leaf: Signed, *chain: Signed) -> None:
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "leaf.pem"
        file.write_bytes(leaf.key_pem + leaf.pem + b"".join(each.pem for each in chain))
        context.load_cert_chain(file)


def good() -> ssl.SSLContext:
    return server(signed(NAME, by=root()))


def through_another() -> ssl.SSLContext:
    return server(signed(NAME, by=between()), between())


def expired() -> ssl.SSLContext:
    return server(signed(NAME, by=root(), since=-3, days=2))


def not_yet_valid() -> ssl.SSLContext:
    return server(signed(NAME, by=root(), since=1))


def of_another() -> ssl.SSLContext:
    return server(signed("other.lab.example", by=root()))


def of_itself() -> ssl.SSLContext:
    return server(signed(NAME))


def of_a_stranger() -> ssl.SSLContext:
    stranger = signed("Strange Root", authority=True)
    return server(signed(NAME, by=stranger), stranger)


def with_a_gap() -> ssl.SSLContext:
    return server(signed(NAME, by=between()))


def only(version: ssl.TLSVersion) -> ssl.SSLContext:
    made = good()
    made.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # old versions are, which is the point
        made.minimum_version = made.maximum_version = version
    return made


def wanting_ours(newest: ssl.TLSVersion) -> ssl.SSLContext:
    """A server that speaks to nobody who shows no certificate."""
    made = good()
    made.maximum_version = newest
    made.verify_mode = ssl.CERT_REQUIRED
    made.load_verify_locations(cadata=root().pem.decode())
    return made
