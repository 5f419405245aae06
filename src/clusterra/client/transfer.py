"""Send a file to a link, or fetch one from it: straight to wherever the link leads.

A link is all that is shown there, and no token of ours: it may lead to another host. What was
sent or fetched is told while it happens.
"""

import hashlib
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import BinaryIO
from urllib.parse import urlsplit

from clusterra.client.http11 import Address, Answer, Channel, CutOff, NotHttp, question
from clusterra.client.problems import as_error
from clusterra.core.errors import ClusterraError, Invalid, Unreachable

PIECE = 4 << 20
PATIENCE = 60.0

Told = Callable[[int], None]
"""Told how many bytes more have gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    method: str
    url: str
    headers: Mapping[str, str]


class Arriving:
    """A file on its way here, and the checksum of what has come."""

    def __init__(self, file: BinaryIO) -> None:
        """Take up a file where it ends."""
        self._file = file
        self._sum = hashlib.sha256()
        self.size = 0
        file.seek(0)
        while piece := file.read(PIECE):
            self._sum.update(piece)
            self.size += len(piece)

    @property
    def sha256(self) -> str:
        return self._sum.hexdigest()

    def write(self, piece: bytes) -> None:
        self._file.write(piece)
        self._sum.update(piece)
        self.size += len(piece)

    def restart(self) -> None:
        """Forget what has come."""
        self._file.seek(0)
        self._file.truncate()
        self._sum, self.size = hashlib.sha256(), 0


class Courier:
    """A connection that files go over, kept from one to the next of the same host."""

    def __init__(self) -> None:
        self._channel: Channel | None = None
        self._address: Address | None = None

    def put(self, link: Link, file: BinaryIO, start: int, size: int, told: Told) -> None:
        """Send `size` bytes of a file, from `start` on. Raises what the far side refuses it with."""

        def send(to: socket.socket) -> None:
            place, left = start, size
            while left:
                sent = to.sendfile(file, place, min(PIECE, left))
                if not sent:
                    raise CutOff  # the file is shorter than it was
                place, left = place + sent, left - sent
                told(sent)

        self._ask(link, {}, size, send)[0].read()

    def get(self, link: Link, into: Arriving, told: Told) -> bool:
        """Fetch what has not come yet; False if the far side began at the beginning again."""
        went_on = into.size > 0
        span = {"Range": f"bytes={into.size}-"} if went_on else {}
        answer, channel = self._ask(link, span, 0, None)
        if went_on and answer.status != 206:
            into.restart()
        try:
            for piece in answer.pieces:
                into.write(piece)
                told(len(piece))
        except (OSError, CutOff, NotHttp) as error:
            channel.close()
            raise _cut(link, error) from None
        return not went_on or answer.status == 206

    def close(self) -> None:
        if self._channel is not None:
            self._channel.close()

    def _ask(
        self,
        link: Link,
        more: Mapping[str, str],
        follows: int,
        send: Callable[[socket.socket], None] | None,
    ) -> tuple[Answer, Channel]:
        address, path = _read(link.url)
        try:
            asked = question(
                address, link.method, path, {**link.headers, **more}, None, follows=follows
            )
        except ValueError:
            raise Invalid("The link that came cannot be used.", hint="Try again.") from None
        channel = self._connected(address)
        try:
            answer = channel.ask(asked, send)
            if answer.is_success:
                return answer, channel
            said = answer.read()
        except (OSError, CutOff, NotHttp) as error:
            channel.close()
            raise _cut(link, error) from None
        channel.close()
        raise _refusal(link, answer, said)

    def _connected(self, address: Address) -> Channel:
        if self._channel is None or self._address != address:
            self.close()
            self._channel, self._address = Channel(address, timeout=PATIENCE), address
        if not self._channel.is_ready():
            try:
                self._channel.connect()
            except OSError as error:
                raise Unreachable(
                    f"{address.named}, where the files are, cannot be reached: "
                    f"{error.strerror or error}.",
                    hint="Check the network between; what was sent is kept, so try again.",
                ) from None
        return self._channel


def _read(url: str) -> tuple[Address, str]:
    parts = urlsplit(url)
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    return Address.of(f"{parts.scheme}://{parts.netloc}"), path


def _refusal(link: Link, answer: Answer, said: bytes) -> ClusterraError:
    """Return what the far side meant: in our words where it is us, else by its status."""
    where = urlsplit(link.url).netloc
    status = f"{answer.status} {answer.phrase}".rstrip()
    error = as_error(f"http://{where}", status, said, answer.headers.get("retry-after"))
    if said.lstrip().startswith(b"{"):
        return error
    return type(error)(
        f"{where}, where the files are, refused it: {status}.",
        hint="The link may have ended; the same command asks for a new one.",
        code="transfer-refused",
    )


def _cut(link: Link, error: Exception) -> Unreachable:
    where = urlsplit(link.url).netloc
    silent = isinstance(error, TimeoutError)
    what = f"was silent for {PATIENCE:.0f} s" if silent else "broke off"
    return Unreachable(
        f"{where}, where the files are, {what}.",
        hint="What has arrived is kept: the same command goes on from there.",
        code="transfer-cut",
    )
