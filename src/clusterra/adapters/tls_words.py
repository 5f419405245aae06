"""Why a far side is not trusted, in words: OpenSSL has numbers and names for it."""

import ssl

_CERTIFICATE = {
    9: "Its certificate is not valid yet.",
    10: "Its certificate has expired.",
    18: "Its certificate is signed by nobody but itself.",
    19: "Its certificate is signed by an authority that this server does not trust.",
    20: "Its certificate is signed by an authority that this server does not trust, or it leaves"
    " out one in between.",
    23: "Its certificate has been revoked.",
    62: "Its certificate is for another name.",
    64: "Its certificate is for another address.",
}
_CERTIFICATE[21] = _CERTIFICATE[20]
"""By OpenSSL's number for what is wrong with it."""

_TLS = (
    ("CERTIFICATE_REQUIRED", "It wants to see a certificate of ours, and there is none."),
    ("PROTOCOL_VERSION", "It speaks no TLS of version 1.2 or newer."),
    ("UNSUPPORTED_PROTOCOL", "It speaks no TLS of version 1.2 or newer."),
    ("WRONG_VERSION_NUMBER", "It speaks no TLS on this port."),
    ("RECORD_LAYER", "It speaks no TLS on this port."),
    ("HTTP_REQUEST", "It speaks no TLS on this port."),
    ("HANDSHAKE_FAILURE", "It would not agree on how to encrypt, or wants a certificate of ours."),
)
"""By a part of OpenSSL's name for it."""


def why_insecure(error: ssl.SSLError) -> str:
    """Return a sentence about the far side, which is `it`."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return _CERTIFICATE.get(error.verify_code, "Its certificate cannot be trusted.")
    named = f"{error.reason or ''} {error}".upper()
    return next((said for part, said in _TLS if part in named), "The TLS handshake failed.")
