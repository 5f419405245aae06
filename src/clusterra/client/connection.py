"""One kept-alive HTTP connection to one Clusterra.

Bytes go in and come out; what they mean is `client.py`'s business. The line
that matters here is between *not asked* and *asked, and no answer*: only after
the second may an act have happened.
"""

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from clusterra import __version__
from clusterra.client.http11 import Address, Answer, Channel, CutOff, NotHttp, question
from clusterra.client.problems import as_error
from clusterra.core.errors import (
    ClusterraError,
    Invalid,
    Unanswered,
    Unauthenticated,
    Unreachable,
)

TOKEN_EXPIRED = "token-expired"  # noqa: S105 - the code of a refusal
"""What a server says to a session whose access token has ended; another can be asked for."""


class NoServer(Unreachable):
    """Nothing listens at that address, so nothing was asked."""

    code = "no-server"


class BrokenOff(Unanswered):
    """The connection ended before there was an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    body: bytes
    headers: Mapping[str, str]
    """By lower-case name."""


class Bearer(Protocol):
    """Somebody's session: its token changes while it is used."""

    def token(self) -> str:
        """Return a token that is good now."""

    def renewed(self, refused: str) -> str:
        """Return one instead of a token that the server has refused."""


class Connection:
    def __init__(self, url: str, *, token: str | Bearer = "", timeout: float = 60) -> None:
        self.url = url.rstrip("/")
        self._headers = {"User-Agent": f"clusterra/{__version__}", "Accept": "application/json"}
        self._token = token
        try:
            self._address = Address.of(self.url)
        except ValueError:
            raise Invalid(
                f"{self.url!r} is not an address of a Clusterra.",
                hint="Write it with its scheme, such as http://127.0.0.1:8420.",
            ) from None
        self._channel = Channel(self._address, timeout=timeout)

    def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """Ask once and return the answer; raise the error that a refusal stands for.

        A question that changes nothing is asked again when a kept connection turns
        out to have been closed meanwhile; an act never is, because it may have happened.
        """
        token = self._good_token()
        try:
            return self._send(method, self._question(method, path, body, headers, token))
        except Unauthenticated as refusal:
            # Whatever was not let in has not happened, so here an act is repeated too.
            token = self._renewed(token, refusal)
            return self._send(method, self._question(method, path, body, headers, token))

    def lines(
        self, path: str, headers: Mapping[str, str] | None = None, *, silence: float | None = None
    ) -> Generator[bytes, None, None]:
        """Ask for something that goes on, and yield its lines as they come.

        It has a connection of its own, so that questions can be asked meanwhile. It ends
        when the server ends it or the caller closes it; Unanswered if it breaks off, or
        after `silence` seconds without a byte.
        """
        return self._streamed(path, headers, Answer.lines, silence)

    def pieces(
        self, path: str, headers: Mapping[str, str] | None = None, *, silence: float | None = None
    ) -> Generator[bytes, None, None]:
        """Ask for something long, and yield it piece by piece; otherwise as `lines`."""
        return self._streamed(path, headers, lambda answer: answer.pieces, silence)

    def _streamed(
        self,
        path: str,
        headers: Mapping[str, str] | None,
        parts: Callable[[Answer], Iterator[bytes]],
        silence: float | None,
    ) -> Generator[bytes, None, None]:
        channel = Channel(self._address, timeout=silence or self._channel.timeout)
        try:
            token = self._good_token()
            try:
                answer = self._begin(channel, path, headers, token)
            except Unauthenticated as refusal:
                answer = self._begin(channel, path, headers, self._renewed(token, refusal))
            yield from parts(answer)
        except (OSError, CutOff, NotHttp) as error:
            raise self._cut(channel, error) from None
        finally:
            channel.close()

    def close(self) -> None:
        self._channel.close()

    def _send(self, method: str, asked: bytes) -> Reply:
        kept = self._channel.is_ready()
        try:
            answer = self._ask(self._channel, asked)
        except BrokenOff:
            if method != "GET" or not kept:
                raise
            answer = self._ask(self._channel, asked)
        said = self._read(self._channel, answer)
        if not answer.is_success:
            raise self._refusal(answer, said)
        return Reply(body=said, headers=answer.headers)

    def _begin(
        self, channel: Channel, path: str, headers: Mapping[str, str] | None, token: str
    ) -> Answer:
        answer = self._ask(channel, self._question("GET", path, None, headers, token))
        if not answer.is_success:
            raise self._refusal(answer, self._read(channel, answer))
        return answer

    def _good_token(self) -> str:
        return self._token if isinstance(self._token, str) else self._token.token()

    def _renewed(self, token: str, refusal: Unauthenticated) -> str:
        if isinstance(self._token, str) or refusal.code != TOKEN_EXPIRED:
            raise refusal
        return self._token.renewed(token)

    def _question(
        self,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str] | None,
        token: str,
    ) -> bytes:
        sent = self._headers | dict(headers or {})
        if token:
            sent["Authorization"] = f"Bearer {token}"
        if body is not None:
            sent["Content-Type"] = "application/json"
        try:
            return question(self._address, method, path, sent, body)
        except ValueError:
            raise Invalid(
                "A name, key or token given for this request has characters that cannot be sent.",
                hint="Look at --idempotency-key and CLUSTERRA_TOKEN: one line of plain text.",
            ) from None

    def _ask(self, channel: Channel, asked: bytes) -> Answer:
        if not channel.is_ready():
            try:
                channel.connect()
            except OSError as error:
                raise self._nobody(error) from None
        try:
            return channel.ask(asked)
        except TimeoutError:
            raise self._silent(channel, f"did not answer within {channel.timeout:.0f} s") from None
        except NotHttp:
            raise self._silent(channel, "answered something that is not HTTP") from None
        except (OSError, CutOff):
            raise self._silent(channel, "broke off before it answered", BrokenOff) from None

    def _read(self, channel: Channel, answer: Answer) -> bytes:
        try:
            return answer.read()
        except (OSError, CutOff, NotHttp) as error:
            raise self._cut(channel, error) from None

    def _refusal(self, answer: Answer, body: bytes) -> ClusterraError:
        status = f"{answer.status} {answer.phrase}".rstrip()
        return as_error(self.url, status, body, answer.headers.get("retry-after"))

    def _cut(self, channel: Channel, error: Exception) -> Unanswered:
        if isinstance(error, TimeoutError):
            return self._silent(
                channel, f"stopped in the middle of its answer, for {channel.timeout:.0f} s"
            )
        return self._silent(channel, "broke off in the middle of its answer")

    def _silent(
        self, channel: Channel, what: str, kind: type[Unanswered] = Unanswered
    ) -> Unanswered:
        # Closing lets the next question start on a fresh connection.
        channel.close()
        return kind(
            f"Clusterra at {self.url} {what}.",
            hint="See whether it is still up: clusterra status",
        )

    def _nobody(self, error: OSError) -> NoServer:
        if isinstance(error, ConnectionRefusedError):
            return NoServer(
                f"No Clusterra answers at {self.url}.", hint="Start it with: clusterra up"
            )
        # Name resolution, routes and certificates; `strerror` is the system's own sentence.
        why = getattr(error, "verify_message", None) or error.strerror or str(error)
        return NoServer(
            f"No Clusterra can be reached at {self.url}: {why.rstrip('.')}.",
            hint="Check the address (--url, CLUSTERRA_URL) and the network between.",
        )
