"""Read the address of an endpoint, and say what is wrong with it.

One reading for everybody: what comes out is spelled so that no library after us can read another
host out of it. Where spellings differ between libraries (numbers for hosts, `%` in names,
backslashes, users before an @), the address is refused rather than interpreted.
"""

import re
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from urllib.parse import SplitResult, quote, urlsplit

from clusterra.core.errors import Invalid
from clusterra.core.webhooks.addresses import NOTHING, Listed, verdict
from clusterra.core.webhooks.endpoint import Reach
from clusterra.core.webhooks.exchange import Answer, Failure

LONGEST = 2048

_BLOCKED = "blocked-address"

_PORTS = {"https": 443, "http": 80}
_WEB = frozenset({80, 443, 8443})
_SLURM = frozenset(range(6817, 6821))
# Databases, queues, consoles and schedulers that take commands from whoever connects, some of
# them even out of the middle of an HTTP request.
_SERVICES = _SLURM | {
    *(1080, 1433, 1521, 2049, 2181, 2375, 2376, 2379, 2380, 3128, 3260, 3306, 3389, 4369, 5432),
    *(5672, 5900, 5984, 5985, 5986, 6379, 6443, 7000, 7001, 7077, 8500, 9042, 9092, 9200, 9300),
    *(10250, 10255, 11211, 15672, 26379, 27017, 50000, 61616),
    *range(6000, 6064),
    *range(6665, 6670),
}

_PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    url: str = field(repr=False)
    """The whole address in its one spelling, to be sent as it is."""

    host: str
    port: int
    secure: bool
    literal: bool
    """The host is an address, and was judged; a name is judged by where it leads."""


def read_url(url: str, reach: Reach, listed: Listed = NOTHING) -> Target:
    """Return what to dial. Raises Invalid if that is not allowed, as far as the URL itself says."""
    parts = _split(url)
    if parts.scheme == "http" and reach is Reach.PUBLIC:
        raise _wrong(
            "A webhook's address begins with https://.",
            "What is sent over http can be read on the way. Only endpoints inside your own network"
            " may use it: made with --allow-private, or named in the settings (webhooks.private).",
        )
    host, literal = _host(parts)
    port = _port(parts, reach)
    judged = host if literal else "127.0.0.1" if _says_loopback(host) else ""
    if judged and verdict(judged, reach, listed, host=host):
        raise not_public(host, reach, literal=literal)
    shown = f"[{host}]" if ":" in host else host
    where = shown if port == _PORTS[parts.scheme] else f"{shown}:{port}"
    rest = quote(parts.path or "/", safe=_PRINTABLE)
    if parts.query:
        rest += "?" + quote(parts.query, safe=_PRINTABLE)
    return Target(
        url=f"{parts.scheme}://{where}{rest}",
        host=host,
        port=port,
        secure=parts.scheme == "https",
        literal=literal,
    )


def not_public(host: str, reach: Reach, *, literal: bool = False) -> Invalid:
    """Return the error for a host that may not be dialled; never says where a name leads."""
    what = f"{host} is" if literal else f"{host} leads to"
    if reach is Reach.PRIVATE:
        return _wrong(
            f"{what} an address that webhooks may not reach.",
            "Whoever runs the server can allow it by naming its network in the settings"
            " (webhooks.private).",
            code=_BLOCKED,
        )
    return _wrong(
        f"{what} an address that is not public.",
        "If it is meant to be reached, whoever runs the server can allow it: make the webhook with"
        " --allow-private, or name the host or its network in the settings (webhooks.private).",
        code=_BLOCKED,
    )


def this_server(host: str) -> Invalid:
    return _wrong(
        f"{host} leads back to this server.",
        "Clusterra does not send events to itself: use an automation instead.",
        code=_BLOCKED,
    )


def unknown_name(host: str) -> Invalid:
    return _wrong(
        f"The name {host} is not known.",
        "Check its spelling. If it is right, check that this server can look it up.",
        code="unknown-host",
    )


def unsent(error: Invalid) -> Answer:
    """Return the same verdict as the answer to a delivery."""
    blocked = error.code == _BLOCKED
    return Answer(failure=Failure.BLOCKED if blocked else Failure.URL, why=error.detail)


def _split(url: str) -> SplitResult:
    if len(url) > LONGEST:
        raise _wrong(
            f"The address has {len(url)} characters; {LONGEST} are the most.",
            "Shorten what follows the host.",
        )
    if any(not letter.isprintable() or letter in ' \\\u00a0"<>' for letter in url):
        raise _wrong(
            "The address has a space, a backslash or an invisible character in it.",
            "Copy it again, without what stands around it.",
        )
    try:
        parts = urlsplit(url)
    except ValueError:
        raise _unreadable() from None
    if parts.scheme not in _PORTS or not parts.netloc:
        raise _unreadable()
    if "@" in parts.netloc:
        raise _wrong(
            "The address has a user or a password in it.",
            "Leave them out: every request is signed, and the receiver can check that.",
        )
    if "#" in url:
        raise _wrong(
            "The address has a part after a #, which no server ever sees.",
            "Leave out the # and what follows it.",
        )
    return parts


def _host(parts: SplitResult) -> tuple[str, bool]:
    """Return the host in its one spelling, and whether it is an address."""
    place = parts.netloc
    if place.startswith("["):
        return _six(place)
    host = place.partition(":")[0].lower()
    if not host.isascii():
        raise _foreign(host)
    host = host.removesuffix(".")
    labels = host.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return _four(host), True
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise _wrong(
            f"{host or 'Nothing'} is not the name of a host.",
            "A name is made of letters, digits and hyphens, with a dot between its parts.",
        )
    return host, False


def _six(place: str) -> tuple[str, bool]:
    inside, _, after = place[1:].partition("]")
    if not after or after.startswith(":"):
        with suppress(AddressValueError):
            found = IPv6Address(inside)
            if found.scope_id is None:
                return str(found), True
    raise _wrong(
        f"[{inside}] is not an IPv6 address.",
        "Write it as [2001:db8::1], without the name of an interface.",
    )


def _four(host: str) -> str:
    """Return an IPv4 address that is written as one; the many other spellings are refused."""
    try:
        return str(IPv4Address(host))
    except AddressValueError:
        raise _wrong(
            f"{host} is neither a name nor an address as it is usually written.",
            "Write an address as four numbers from 0 to 255, without zeros before them.",
        ) from None


def _port(parts: SplitResult, reach: Reach) -> int:
    try:
        given = parts.port
    except ValueError:
        given = 0
    port = _PORTS[parts.scheme] if given is None else given
    if port == 0 or (port < 1024 and port not in _WEB):
        raise _wrong(
            f"Webhooks are not sent to port {port}." if port else "The address has no usable port.",
            "Use 443, 80, 8443 or a port from 1024 on.",
        )
    if port in (_SERVICES if reach is Reach.PUBLIC else _SLURM):
        raise _wrong(
            f"Webhooks are not sent to port {port}, where other services listen.",
            "Have the receiver listen on 443, 8443 or another port.",
        )
    return port


def _says_loopback(host: str) -> bool:
    return host == "localhost" or host.endswith(".localhost")


def _foreign(host: str) -> Invalid:
    """Return the error for a name that is not ASCII.

    Libraries disagree about what some of these letters stand for, and full-width digits stand
    for addresses; so whoever writes the address decides.
    """
    try:
        ascii_name = host.encode("idna").decode()
    except UnicodeError:
        ascii_name = ""
    named = ascii_name.startswith("xn--") or ".xn--" in ascii_name
    return _wrong(
        "The name of the host has letters that are not ASCII.",
        f"Write it as {ascii_name}." if named else "Write it in its ASCII form, as xn--….",
    )


def _unreadable() -> Invalid:
    return _wrong(
        "This is not the address of a webhook.", "Write it as https://hooks.example.com/path."
    )


def _wrong(detail: str, hint: str, *, code: str = "bad-url") -> Invalid:
    return Invalid(detail, hint=hint, code=code, at="url")
