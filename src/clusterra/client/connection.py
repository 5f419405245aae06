"""One kept-alive HTTP connection to one Clusterra.

Bytes go in and come out; what they mean is `client.py`'s business. The line
that matters here is between *not asked* and *asked, and no answer*: only after
the second may an act have happened.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from urllib.parse import urlsplit

from clusterra import __version__
from clusterra.client.problems import as_error
from clusterra.core.errors import ClusterraError, Invalid, Unanswered, Unreachable


class NoServer(Unreachable):
    """Nothing listens at that address, so nothing was asked."""

    code = "no-server"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    body: bytes
    headers: Mapping[str, str]
    """By lower-case name."""


class Connection:
    def __init__(
        self, url: str, *, token: str = "", acting_as: str = "", timeout: float = 60
    ) -> None:
        self.url = url.rstrip("/")
        self._timeout = timeout
        self._headers = {"User-Agent": f"clusterra/{__version__}", "Accept": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        if acting_as:
            self._headers["X-Clusterra-User"] = acting_as
        self._http, self._prefix = self._prepare()
        self._used = False

    def _prepare(self) -> tuple[HTTPConnection, str]:
        wrong = Invalid(
            f"{self.url!r} is not an address of a Clusterra.",
            hint="Write it with its scheme, such as http://127.0.0.1:8420.",
        )
        try:
            parts = urlsplit(self.url)
            host, port = parts.hostname, parts.port
        except ValueError:
            raise wrong from None
        if not host or parts.scheme not in {"http", "https"}:
            raise wrong
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        return kind(host, port, timeout=self._timeout), parts.path

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
        sent = self._headers | dict(headers or {})
        if body is not None:
            sent["Content-Type"] = "application/json"
        try:
            response = self._ask(method, path, body, sent)
        except Unanswered:
            if method != "GET" or not self._used:
                raise
            self._used = False
            response = self._ask(method, path, body, sent)
        self._used = True
        return self._read(response)

    def lines(
        self, path: str, headers: Mapping[str, str] | None = None, *, silence: float
    ) -> Iterator[bytes]:
        """Ask for an answer that goes on, and yield its lines as they come.

        On a connection of its own. It ends when the server ends the answer; it raises
        Unanswered when the connection breaks, or is silent for `silence` seconds.
        """
        own = Connection(self.url, timeout=silence)
        try:
            response = own._ask("GET", path, None, self._headers | dict(headers or {}))
            if response.status != 200:
                own._read(response)
            while line := own._line(response):
                yield line.rstrip(b"\r\n")
        finally:
            own.close()

    def _line(self, response: HTTPResponse) -> bytes:
        try:
            return response.readline()
        except TimeoutError:
            raise self._silent(f"has said nothing for {self._timeout:.0f} s") from None
        except (OSError, HTTPException):
            raise self._silent("broke off") from None

    def _ask(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> HTTPResponse:
        if self._http.sock is None:
            self._connect()
        try:
            self._http.request(method, self._prefix + path, body, dict(headers))
            return self._http.getresponse()
        except TimeoutError:
            raise self._silent(f"did not answer within {self._timeout:.0f} s") from None
        except (OSError, HTTPException):
            raise self._silent("broke off before it answered") from None

    def _connect(self) -> None:
        try:
            self._http.connect()
        except OSError as error:
            self._http.close()
            raise self._nobody(error) from None

    def _read(self, response: HTTPResponse) -> Reply:
        try:
            body = response.read()
        except (OSError, HTTPException):
            raise self._silent("broke off in the middle of its answer") from None
        if 200 <= response.status < 300:
            headers = {name.lower(): value for name, value in response.getheaders()}
            return Reply(body=body, headers=headers)
        raise as_error(self.url, response.status, body, response.getheader("Retry-After"))

    def _silent(self, what: str) -> ClusterraError:
        # Closing lets the next question start on a fresh connection.
        self._http.close()
        return Unanswered(
            f"Clusterra at {self.url} {what}.",
            hint="See whether it is still up: clusterra status",
        )

    def _nobody(self, error: OSError) -> ClusterraError:
        if isinstance(error, ConnectionRefusedError):
            return NoServer(
                f"No Clusterra answers at {self.url}.", hint="Start it with: clusterra up"
            )
        # Name resolution, routes and certificates; `strerror` is the system's own sentence.
        why = getattr(error, "verify_message", None) or error.strerror or str(error)
        return NoServer(
            f"No Clusterra can be reached at {self.url}: {why}.",
            hint="Check the address (--url, CLUSTERRA_URL) and the network between.",
        )

    def close(self) -> None:
        self._http.close()
