"""Says of every single address whether a delivery may go there: of each answer of the name
servers, and again of each socket before it is connected."""

import socket
from collections.abc import Callable, Collection, Sequence

from clusterra.adapters.sender.dial import DIAL, Dial
from clusterra.core.errors import Invalid
from clusterra.core.webhooks.addresses import Listed, is_loopback, plain, verdict
from clusterra.core.webhooks.exchange import Failure
from clusterra.core.webhooks.url import not_public, this_server

_RECEIVED = 65_536
"""Bytes that the kernel takes for us before somebody reads them. By itself it would take 6 MB
from an endpoint that answers without end."""

SocketAddress = tuple[int, int, int, str, tuple[str, int] | tuple[str, int, int, int]]
OpenSocket = Callable[[SocketAddress], socket.socket]


def open_socket(info: SocketAddress) -> socket.socket:
    family, kind, protocol, _, _ = info
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVED)
    return made


class Guard:
    def __init__(
        self, listed: Listed, own: Collection[tuple[str, int]], opening: OpenSocket = open_socket
    ) -> None:
        self._listed = listed
        self._own = tuple((plain(host) or host, port) for host, port in own)
        self._opening = opening

    def admit(self, dial: Dial, addresses: Sequence[str]) -> None:
        """Raise Stopped if one of them may not be dialled: a name that leads to one good
        address and one bad one was made so by somebody."""
        for address in addresses:
            error = self._wrong(dial, address)
            if error is not None:
                raise dial.stop(Failure.BLOCKED, error)

    def socket(self, info: SocketAddress) -> socket.socket:
        """Return a socket for this address, not yet connected."""
        dial = DIAL.get()
        if not dial.proxied:
            self.admit(dial, [info[4][0]])
        made = self._opening(info)
        dial.start_dialling()
        return made

    def _wrong(self, dial: Dial, address: str) -> Invalid | None:
        target = dial.target
        if verdict(address, dial.reach, self._listed, host=target.host):
            return not_public(target.host, dial.reach, literal=target.literal)
        if self._is_own(plain(address), target.port):
            return this_server(target.host)
        return None

    def _is_own(self, address: str, port: int) -> bool:
        """Say whether our own door is there: an event about a delivery would make a delivery."""
        return any(
            address == host
            or (_is_here(host) and is_loopback(address))
            or _everywhere(host, address)
            for host, own_port in self._own
            if own_port == port
        )


def _is_here(host: str) -> bool:
    return host == "localhost" or is_loopback(host)


def _everywhere(host: str, address: str) -> bool:
    """Say whether we listen on every address (or on a name, which may be any), and this is one."""
    if host == "localhost" or (plain(host) and host not in ("0.0.0.0", "::")):
        return False
    if is_loopback(address):
        return True
    try:
        # Nothing is sent: the kernel only says where it would send from, and to an address of
        # this machine that is the address itself.
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as asking:
            asking.connect((address, 9))
            return str(asking.getsockname()[0]) == address
    except OSError:
        return False
