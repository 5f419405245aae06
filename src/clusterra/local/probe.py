"""Whether something answers: one short question, yes or no."""

import http.client
import os
import socket
from pathlib import Path
from urllib.parse import urlsplit

_PATIENCE = 1.0


def answers(address: str) -> bool:
    """Ask tcp://host:port, http://host:port/path (any 2xx) or unix:///path once; or see whether
    file:///path is there."""
    try:
        parts = urlsplit(address)
        match parts.scheme:
            case "unix":
                return _unix(Path(parts.path))
            case "file":
                return Path(address.removeprefix("file://")).exists()
            case "http":
                return _http(parts.hostname or "", parts.port or 80, parts.path)
            case _:
                with socket.create_connection(
                    (parts.hostname or "", parts.port or 0), timeout=_PATIENCE
                ):
                    return True
    except (OSError, http.client.HTTPException):
        return False


def forget(address: str) -> None:
    """Take away the file that an earlier life left behind; whatever listens needs nothing."""
    if address.startswith("file://"):
        Path(address.removeprefix("file://")).unlink(missing_ok=True)


def _unix(path: Path) -> bool:
    # A socket's address holds 107 bytes and a state directory may be deeper than that;
    # through the directory's descriptor the name is always short.
    directory = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_PATIENCE)
            connection.connect(f"/proc/self/fd/{directory}/{path.name}")
            return True
    finally:
        os.close(directory)


def _http(host: str, port: int, path: str) -> bool:
    connection = http.client.HTTPConnection(host, port, timeout=_PATIENCE)
    try:
        connection.request("GET", path)
        return connection.getresponse().status // 100 == 2
    finally:
        connection.close()
