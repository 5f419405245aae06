"""The sessions somebody is signed in with, kept between two commands.

One file for all servers, readable by its owner only. A session belongs to the address it
was made at, scheme included, and its tokens are never sent to another.

Access tokens last minutes and are refreshed on the way; a refresh token works once. Two
commands at the same moment would therefore end the session of both, so whoever refreshes
holds a lock, and looks first whether another has just done it.
"""

import fcntl
import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from clusterra.client.connection import Connection
from clusterra.core.errors import Invalid, Refused, Unauthenticated

if TYPE_CHECKING:
    from clusterra.wire.people import SignedIn

_AHEAD = timedelta(seconds=10)
"""How long before its end a token is not used any more: a request takes a moment to arrive."""

_PATIENCE = 20.0
"""Seconds a refresh may take; other commands wait for the lock meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """A session at one server."""

    email: str
    access_token: str
    ends_at: datetime
    """When the access token ends; the session goes on by refreshing it."""
    refresh_token: str
    """Empty where the server gave none, because it has given the next one to somebody else:
    to this command, before its answer was lost on the way. Showing the old one again would
    look like theft."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    last: str = ""
    """The address that was signed in to last."""
    sessions: Mapping[str, Signed] = field(default_factory=dict)
    """By address."""


def signed(answer: "SignedIn", *, now: datetime) -> Signed:
    """Return the session that a server gave."""
    return Signed(
        email=answer.email,
        access_token=answer.access_token or "",
        ends_at=now + timedelta(seconds=answer.expires_in),
        refresh_token=answer.refresh_token or "",
    )


class Credentials:
    def __init__(self, file: Path) -> None:
        self.file = file

    def last(self) -> str:
        """Return the address that was signed in to last, or nothing."""
        return self._read().last

    def at(self, url: str) -> Signed | None:
        return self._read().sessions.get(_key(url))

    def keep(self, url: str, session: Signed) -> None:
        """Remember a session that has just begun."""
        with self.locked():
            self.put(url, session)
            self._write(replace(self._read(), last=_key(url)))

    def put(self, url: str, session: Signed) -> None:
        """Write down a session, for whoever holds the lock."""
        kept = self._read()
        self._write(replace(kept, sessions={**kept.sessions, _key(url): session}))

    def forget(self, url: str) -> None:
        """Forget the session at an address, and that it was the last."""
        with self.locked():
            self.drop(url)
            kept = self._read()
            if kept.last == _key(url):
                self._write(replace(kept, last=""))

    def drop(self, url: str) -> None:
        """Take a session away, for whoever holds the lock; the address is still the last."""
        kept = self._read()
        others = {place: each for place, each in kept.sessions.items() if place != _key(url)}
        if len(others) < len(kept.sessions):
            self._write(replace(kept, sessions=others))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other commands from writing.

        The lock is a file of its own: the other one is replaced at each writing, and a lock
        on what has been replaced keeps nobody out.
        """
        with _said(self.file, "written"):
            _make_directory(self.file.parent)
            held = os.open(self.file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            with _said(self.file, "locked"):
                fcntl.flock(held, fcntl.LOCK_EX)
            yield
        finally:
            os.close(held)

    def _read(self) -> _Kept:
        with _said(self.file, "read"):
            try:
                file = self.file.open("rb")
            except FileNotFoundError:
                return _Kept()
            with file:
                _tighten(file.fileno(), self.file)
                text = file.read()
        try:
            return msgspec.json.decode(text, type=_Kept)
        except msgspec.DecodeError:
            raise Invalid(
                f"{self.file} is not what clusterra wrote there.",
                hint=f"Take it away and sign in again: rm {self.file}; clusterra login",
            ) from None

    def _write(self, kept: _Kept) -> None:
        """Put the file in place whole, or leave the one that is there."""
        fresh = self.file.with_suffix(".new")
        with _said(self.file, "written"):
            made = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(made, "wb") as file:
                file.write(msgspec.json.format(msgspec.json.encode(kept), indent=2) + b"\n")
                file.flush()
                os.fsync(made)
            fresh.replace(self.file)


class KeptSession:
    """A session in the file, as the bearer of a connection."""

    def __init__(self, url: str, credentials: Credentials, now: Callable[[], datetime]) -> None:
        self._url = url
        self._credentials = credentials
        self._now = now
        self._known: Signed | None = None

    def token(self) -> str:
        known = self._known or self._credentials.at(self._url)
        if known is None:
            raise self._ended()
        self._known = known
        return known.access_token if self._is_good(known) else self.renewed(known.access_token)

    def renewed(self, refused: str) -> str:
        with self._credentials.locked():
            known = self._credentials.at(self._url)
            if known is None:
                raise self._ended()
            if known.access_token == refused or not self._is_good(known):
                known = self._refresh(known)
                self._credentials.put(self._url, known)
        self._known = known
        return known.access_token

    def _is_good(self, known: Signed) -> bool:
        return self._now() < known.ends_at - _AHEAD

    def _refresh(self, known: Signed) -> Signed:
        if not known.refresh_token:
            raise self._ended()
        # Imported here: most commands come while a token is still good, and do without.
        from clusterra.client.client import Client

        client = Client(Connection(self._url, timeout=_PATIENCE))
        try:
            answer = client.people.refresh(known.refresh_token)
        except Unauthenticated:
            self._credentials.drop(self._url)
            raise self._ended() from None
        finally:
            client.close()
        return signed(answer, now=self._now())

    def _ended(self) -> Unauthenticated:
        return Unauthenticated(
            f"Your session at {self._url} has ended.",
            hint="Sign in again with: clusterra login",
            code="session-ended",
        )


def _key(url: str) -> str:
    return url.rstrip("/")


def _make_directory(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=0o700, exist_ok=True)
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        path.chmod(0o700)


def _tighten(opened: int, file: Path) -> None:
    if os.fstat(opened).st_mode & 0o077:
        os.fchmod(opened, 0o600)
        sys.stderr.write(f"{file} could be read by others; now only you can.\n")


@contextmanager
def _said(file: Path, what: str) -> Iterator[None]:
    """Say in words what the system refused."""
    try:
        yield
    except OSError as error:
        raise Refused(
            f"{file}, where your sessions are kept, cannot be {what}: {error.strerror}.",
            hint="Mend that, or name another directory with XDG_CONFIG_HOME.",
            code="credentials",
        ) from None
