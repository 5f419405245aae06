"""Which Clusterra to talk to, and with which token.

An address that was typed comes first, then the variables, then the state
directory that `clusterra up` and `clusterra serve` leave their address in.
A token only ever goes to the server it was made for: the one in a state
directory to that directory's server, `CLUSTERRA_TOKEN` to `CLUSTERRA_URL`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from clusterra.core.errors import Invalid, Unauthenticated, Unreachable


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    url: str
    token: str
    cluster: str = ""
    """The cluster meant when nobody says which; empty when the server has to be asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """What a running server leaves in `run.json`."""

    url: str
    cluster: str | None = None


def find_server(
    environ: Mapping[str, str],
    *,
    url: str | None = None,
    token_file: Path | None = None,
    state: Path | None = None,
) -> Server:
    typed_token = None if token_file is None else read_token(token_file)
    url = url or environ.get("CLUSTERRA_URL") or None
    directory = state or default_state(environ)
    if url is None:
        running = _running(directory)
        token = typed_token or read_token(directory / "token")
        return Server(url=running.url, token=token, cluster=running.cluster or "")
    return Server(url=url, token=typed_token or _known_token(url, environ, directory))


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
            hint="It belongs to whoever started the server: ask them for one, "
            "and name it with --token-file or CLUSTERRA_TOKEN.",
        ) from None
    if not token.isascii() or not token.isprintable():
        raise Unauthenticated(
            f"{file} does not hold a token.", hint="Name the right file with --token-file."
        )
    return token


def _known_token(url: str, environ: Mapping[str, str], directory: Path) -> str:
    """Return the token that is known to be for this address, if any."""
    same = _same_place(environ.get("CLUSTERRA_URL") or url, url)
    if same and (token := environ.get("CLUSTERRA_TOKEN", "").strip()):
        return token
    try:
        running = _running(directory)
    except (Unreachable, Invalid):
        return ""
    return read_token(directory / "token") if _same_place(running.url, url) else ""


def _same_place(one: str, other: str) -> bool:
    return one.rstrip("/") == other.rstrip("/")


def _running(directory: Path) -> Running:
    file = directory / "run.json"
    try:
        return msgspec.json.decode(file.read_bytes(), type=Running)
    except FileNotFoundError:
        raise Unreachable(
            f"No Clusterra runs from {directory}.",
            hint="Start one with: clusterra up      (in a checkout: make up)\n"
            "Or name the server you mean with --url or CLUSTERRA_URL.",
        ) from None
    except OSError as error:
        raise Unreachable(
            f"The address of Clusterra in {file} cannot be read: {error.strerror}.",
            hint="Name the server you mean with --url and --token-file.",
        ) from None
    except msgspec.DecodeError:
        raise Invalid(
            f"{file} does not say where Clusterra runs.",
            hint="Start it again with: clusterra up",
        ) from None
