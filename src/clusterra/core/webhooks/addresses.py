"""Which addresses may be dialled for an endpoint.

Whoever makes an endpoint chooses where this server connects to, and the server stands where
they do not: beside Slurm, databases, and the address where a cloud hands out credentials. So
every address is judged, by a table of our own: what `ipaddress` calls global has changed with
the versions of Python, and has held translated metadata addresses.

An address that carries an IPv4 address is judged by it where translation is ordinary (mapped,
NAT64), and refused where nobody needs it (6to4, Teredo, …). What cannot be read is refused.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

from clusterra.core.errors import Invalid
from clusterra.core.webhooks.endpoint import Reach

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """What whoever runs the server has named, although it is not public."""

    networks: tuple[Network, ...] = ()
    names: frozenset[str] = frozenset()
    """Hosts that may lead to private addresses. To link-local ones never, by their name alone."""


NOTHING = Listed()

_METADATA = "metadata"
_NEVER = frozenset({"unspecified", "multicast", "broadcast", "compatible", "6to4", "Teredo"})
"""Nobody answers HTTP there, or it is another address in disguise: no list opens it."""

_PRIVATE = frozenset({"loopback", "private", "carrier-grade NAT"})

# The first that holds the address counts. 168.63.129.16 and 100.100.100.200 are where two clouds
# answer their machines, in the middle of ranges that are otherwise harmless.
_V4 = tuple(
    (IPv4Network(network), kind)
    for network, kind in (
        ("0.0.0.0/8", "unspecified"),
        ("10.0.0.0/8", "private"),
        ("100.100.100.200/32", _METADATA),
        ("100.64.0.0/10", "carrier-grade NAT"),
        ("127.0.0.0/8", "loopback"),
        ("168.63.129.16/32", _METADATA),
        ("169.254.0.0/16", "link-local"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved"),
        ("192.0.2.0/24", "documentation"),
        ("192.31.196.0/24", "reserved"),
        ("192.52.193.0/24", "reserved"),
        ("192.88.99.0/24", "6to4 relay"),
        ("192.168.0.0/16", "private"),
        ("192.175.48.0/24", "reserved"),
        ("198.18.0.0/15", "benchmarking"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "multicast"),
        ("255.255.255.255/32", "broadcast"),
        ("240.0.0.0/4", "reserved"),
    )
)

# fd00:ec2::/32 and fd20:ce::/32 are where two clouds answer their machines.
_V6 = tuple(
    (IPv6Network(network), kind)
    for network, kind in (
        ("::/128", "unspecified"),
        ("::1/128", "loopback"),
        ("::/96", "compatible"),
        ("64:ff9b:1::/48", "local NAT64"),
        ("100::/64", "discard"),
        ("2001:2::/48", "benchmarking"),
        ("2001::/32", "Teredo"),
        ("2001::/23", "reserved"),
        ("2001:db8::/32", "documentation"),
        ("2002::/16", "6to4"),
        ("2620:4f:8000::/48", "reserved"),
        ("3fff::/20", "documentation"),
        ("fd00:ec2::/32", _METADATA),
        ("fd20:ce::/32", _METADATA),
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "site-local"),
        ("ff00::/8", "multicast"),
    )
)
_PUBLIC_V6 = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)


def listed(entries: Iterable[str]) -> Listed:
    """Read the operator's list: networks, addresses and names of hosts."""
    networks: list[Network] = []
    names: set[str] = set()
    for entry in entries:
        if _is_name(entry):
            names.add(entry.lower().rstrip("."))
            continue
        try:
            networks.append(ip_network(entry))
        except ValueError:
            raise Invalid(
                f"{entry!r} is neither a network nor the name of a host.",
                hint="Write webhooks.private as 10.1.0.0/16, 10.1.2.3 or ci.lab.example; a network"
                " begins with its first address.",
                at="webhooks.private",
            ) from None
    return Listed(networks=tuple(networks), names=frozenset(names))


def verdict(address: str, reach: Reach, listed: Listed = NOTHING, *, host: str = "") -> str:
    """Return what kind of address this is if it may not be dialled; nothing if it may.

    `host` is the name that led to it, if one did. The kind is for our own logs: told to
    whoever chose the name, it would say what our name servers know.
    """
    found = _read(address)
    if found is None:
        return "unreadable"
    kind = _kind(found)
    if not kind or (reach is not Reach.PUBLIC and _opened(found, kind, reach, listed, host)):
        return ""
    return kind


def is_loopback(address: str) -> bool:
    found = _read(address)
    return found is not None and _kind(found) == "loopback"


def plain(address: str) -> str:
    """Return an address in its one ordinary spelling; empty if it cannot be read."""
    found = _read(address)
    return "" if found is None else str(found)


def _opened(address: Address, kind: str, reach: Reach, listed: Listed, host: str) -> bool:
    if kind in _NEVER or " of " in kind:
        return False
    if any(address in network for network in listed.networks):
        return True
    return kind in _PRIVATE and (reach is Reach.PRIVATE or host in listed.names)


def _read(address: str) -> Address | None:
    """Return the address; for a mapped one, the IPv4 address that would be dialled."""
    if "%" in address:
        return None  # an interface of this machine is nobody's to choose
    try:
        found = ip_address(address)
    except ValueError:
        return None
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        return found.ipv4_mapped
    return found


def _kind(address: Address) -> str:
    """Return what is wrong with dialling it, were it chosen by a stranger; empty if nothing."""
    if isinstance(address, IPv4Address):
        return next((kind for network, kind in _V4 if address in network), "")
    if address in _NAT64:
        inner = _kind(IPv4Address(int(address) & 0xFFFF_FFFF))
        return inner and f"NAT64 of {inner}"
    for network, kind in _V6:
        if address in network:
            return kind
    if address not in _PUBLIC_V6:
        return "reserved"
    return "ISATAP" if int(address) >> 32 & 0xFFFF_FFFF in _ISATAP else ""


def _is_name(entry: str) -> bool:
    """Say whether it is the name of a host: letters somewhere in its last label, and no colon."""
    labels = entry.rstrip(".").split(".")
    return all(
        label and label.replace("-", "").replace("_", "").isalnum() for label in labels
    ) and any(letter.isalpha() for letter in labels[-1])
