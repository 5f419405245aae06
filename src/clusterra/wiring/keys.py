"""Keys and secrets that lie in files."""

import secrets
from collections.abc import Iterator
from pathlib import Path

from clusterra.adapters.secret_file import secret_in
from clusterra.core.errors import Invalid
from clusterra.core.people.credentials import FileKey, KeyUse
from clusterra.settings import ClusterSettings


def secret(path: Path | None) -> str:
    if path is None:
        return ""
    try:
        return path.read_text().strip()
    except OSError as error:
        raise Invalid(
            f"The client secret {path} cannot be read: {error.strerror}.",
            hint="Put the secret that the identity provider gave you into that file.",
        ) from None


def read_slurm_key(path: Path | None) -> bytes:
    if path is None:
        return b""
    try:
        return path.read_bytes()
    except OSError as error:
        raise Invalid(
            f"Slurm's own key {path} cannot be read: {error.strerror}.",
            hint="Copy slurm.key from the slurmctld host, readable for this user only, or leave"
            " clusters.slurm_key out.",
        ) from None


def read_key(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise Invalid(
            f"Slurm's JWT key {path} cannot be read: {error.strerror}.",
            hint="Copy jwt_hs256.key from the slurmctld host, readable for this user only.",
        ) from None


def file_keys(each: ClusterSettings, state: Path) -> Iterator[FileKey]:
    """Return what this cluster's collector and agent show; the first time, make it."""
    keys = state / "keys"
    path = each.collector_key or keys / f"{each.id}.key"
    yield FileKey(cluster=each.id, use=KeyUse.COLLECTOR, secret=_file_key(path, KeyUse.COLLECTOR))
    if each.scaling is not None:
        path = each.agent_key or keys / f"{each.id}.agent.key"
        yield FileKey(cluster=each.id, use=KeyUse.AGENT, secret=_file_key(path, KeyUse.AGENT))


def _file_key(path: Path, use: KeyUse) -> str:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        key = secret_in(path, _new_key).decode().strip()
    except OSError as error:
        raise Invalid(
            f"The {use}'s key {path} cannot be read or made: {error.strerror}.",
            hint=f"Mend its permissions, or name another file with clusters.{use}_key.",
        ) from None
    if not key:
        raise Invalid(
            f"The {use}'s key {path} is empty.", hint="Delete the file; a new one is made."
        )
    return key


def _new_key() -> bytes:
    return f"{secrets.token_urlsafe(32)}\n".encode()


def read_token(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError as error:
        raise Invalid(
            f"The token of whoever runs the server, {path}, cannot be read: {error.strerror}.",
            hint="`clusterra up` and `clusterra serve` make it; start one of them.",
        ) from None
