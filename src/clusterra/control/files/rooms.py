"""Make a person's place for files together with their Linux user, and tell their jobs where it is.

Jobs find it in `$CLUSTERRA_FILES`: `data/`, `outputs/`, `scripts/` and `shared/` lie there.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import structlog

from clusterra.core.errors import ClusterraError
from clusterra.core.files.place import room_of
from clusterra.ports import Login, Logins, Objects

log = structlog.get_logger()

VARIABLE = "CLUSTERRA_FILES"


@dataclass(slots=True, kw_only=True)
class Rooms:
    """The Logins port: users who have a place for their files."""

    logins: Logins
    files: Objects
    email_of: Callable[[str], str]
    """The e-mail of the person who is a Linux user; empty for somebody we do not know."""

    _seen: dict[str, str] = field(default_factory=dict)
    """Where jobs find the rooms that have been made, by Linux user."""

    async def ensure(self, name: str, uid: int | None) -> Login:
        login = await self.logins.ensure(name, uid)
        if name not in self._seen and (email := self.email_of(name)):
            try:
                self._seen[name] = await self.files.make_room(room_of(email), login.uid)
            except ClusterraError as error:
                # Most jobs do without; whoever puts a file is told.
                log.warning("files.no_room", user=name, why=error.detail)
        return self._told(login)

    async def rehearse(self, name: str) -> Login:
        login = await self.logins.rehearse(name)
        email = self.email_of(name)
        if name in self._seen or not email:
            return self._told(login)
        return _with(login, self.files.room(room_of(email)))

    async def directory_missing(self, path: str) -> bool:
        return await self.logins.directory_missing(path)

    def _told(self, login: Login) -> Login:
        return _with(login, self._seen.get(login.name, ""))


def _with(login: Login, seen: str) -> Login:
    return replace(login, variables={**login.variables, VARIABLE: seen}) if seen else login
