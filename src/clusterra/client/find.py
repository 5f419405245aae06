"""Which Clusterra to talk to, and with which token.

An address that was typed comes first, then the variables, then the state
directory that `clusterra up` and `clusterra serve` leave their address in, then the
server that was signed in to last.
A token only ever goes to the server it was made for: that of a session to the address
it was signed in at, the one in a state directory to that directory's server,
`CLUSTERRA_TOKEN` to `CLUSTERRA_URL`, and without one to the server on this machine.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from clusterra.client.connection import Bearer
from clusterra.core.errors import Invalid, Unauthenticated, Unreachable


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    url: str
    token: str | Bearer
    """As it is, or a session that brings one; empty when none is known for this address."""
    cluster: str = ""
    """The cluster meant when nobody says which; empty when the server has to be asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a server is; a running one leaves it in `run.json`."""

    url: str
    cluster: str | None = None


def find_server(
    environ: Mapping[str, str],
    *,
    url: str | None = None,
    token_file: Path | None = None,
    state: Path | None = None,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Server:
    typed_token = None if token_file is None else read_token(token_file)
    place = find_place(environ, url=url, state=state)
    named = bool(url or environ.get("CLUSTERRA_URL"))
    directory = state or default_state(environ)
    # A token without an address is for the server that runs on this machine.
    meant = named or _runs_from(directory, place.url)
    token = (
        typed_token
        or (meant and _token_of_variables(place.url, environ))
        or _session(place.url, environ, now)
        or _token_of_state(place.url, directory)
    )
    if not token and not named:
        raise Unauthenticated(
            f"You are not signed in at {place.url}.", hint="Sign in with: clusterra login"
        )
    return Server(url=place.url, token=token, cluster=place.cluster or "")


def find_place(
    environ: Mapping[str, str], *, url: str | None = None, state: Path | None = None
) -> Place:
    """Return where the server is, whether or not there is a token for it."""
    if named := url or environ.get("CLUSTERRA_URL"):
        return Place(url=named)
    try:
        return _running(state or default_state(environ))
    except Unreachable:
        # A directory that was named is meant, even if nothing runs from it.
        named_state = state or environ.get("CLUSTERRA_STATE")
        if named_state or not (last := _last_signed_in(environ)):
            raise
        return Place(url=last)


def credentials_file(environ: Mapping[str, str]) -> Path:
    """Return where sessions are kept; `credentials.py` says how."""
    config = environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(config) / "clusterra" / "credentials.json"


def default_state(environ: Mapping[str, str]) -> Path:
    """Return the directory used when nobody names one."""
    if named := environ.get("CLUSTERRA_STATE"):
        return Path(named)
    data = environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data) / "clusterra"


def read_token(file: Path) -> str:
    try:
        token = file.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not text"
        raise Unauthenticated(
            f"The token in {file} cannot be read: {why}.",
            hint="It belongs to whoever started the server. Sign in as yourself with: "
            "clusterra login",
        ) from None
    if not token.isascii() or not token.isprintable():
        raise Unauthenticated(
            f"{file} does not hold a token.", hint="Name the right file with --token-file."
        )
    return token


def _token_of_variables(url: str, environ: Mapping[str, str]) -> str:
    same = _same_place(environ.get("CLUSTERRA_URL") or url, url)
    return environ.get("CLUSTERRA_TOKEN", "").strip() if same else ""


def _session(url: str, environ: Mapping[str, str], now: Callable[[], datetime]) -> Bearer | None:
    """Return the session that was signed in at this address, if any."""
    file = credentials_file(environ)
    if not os.access(file, os.F_OK):
        return None
    from clusterra.client.credentials import Credentials, KeptSession

    kept = Credentials(file)
    return KeptSession(url, kept, now) if kept.at(url) else None


def _last_signed_in(environ: Mapping[str, str]) -> str:
    file = credentials_file(environ)
    if not os.access(file, os.F_OK):
        return ""
    from clusterra.client.credentials import Credentials

    return Credentials(file).last()


def _token_of_state(url: str, directory: Path) -> str:
    return read_token(directory / "token") if _runs_from(directory, url) else ""


def _runs_from(directory: Path, url: str) -> bool:
    """Say whether the server at this address runs from this directory."""
    try:
        return _same_place(_running(directory).url, url)
    except (Unreachable, Invalid):
        return False


def _same_place(one: str, other: str) -> bool:
    return one.rstrip("/") == other.rstrip("/")


def _running(directory: Path) -> Place:
    file = directory / "run.json"
    try:
        return msgspec.json.decode(file.read_bytes(), type=Place)
    except FileNotFoundError:
        raise Unreachable(
            f"No Clusterra runs from {directory}.",
            hint="Start one with: clusterra up      (in a checkout: make up)\n"
            "Or sign in to the one you mean: clusterra login URL",
        ) from None
    except OSError as error:
        raise Unreachable(
            f"The address of Clusterra in {file} cannot be read: {error.strerror}.",
            hint="Sign in to the server you mean: clusterra login URL",
        ) from None
    except msgspec.DecodeError:
        raise Invalid(
            f"{file} does not say where Clusterra runs.",
            hint="Start it again with: clusterra up",
        ) from None
