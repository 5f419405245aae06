"""Linux users of an embedded cluster, made just in time in its own passwd file.

The file is the one the cluster's daemons see; appending a line is all that Slurm
needs, without a restart. The user must be there before Slurm hears of them: an
association made earlier keeps a wrong uid.
"""

import asyncio
import os
import re
from dataclasses import replace
from pathlib import Path

from clusterra.core.errors import Refused
from clusterra.core.people.logins import FIRST_UID, next_uid
from clusterra.ports import Login

_NAME = re.compile(r"[a-z_][a-z0-9_-]{0,31}")


class LocalLogins:
    def __init__(self, root: Path, *, single_user: str = "") -> None:
        self._root = root
        self._single_user = single_user
        self._made: dict[str, Login] = {}
        self._lock = asyncio.Lock()

    async def ensure(self, name: str, uid: int | None) -> Login:
        if (login := self._made.get(name)) is None:
            async with self._lock:
                login = await asyncio.to_thread(self._find_or_make, name, uid)
                self._made[name] = login
        return login

    async def rehearse(self, name: str) -> Login:
        if login := self._made.get(name):
            return login
        return (await asyncio.to_thread(self._found, name))[0]

    async def directory_missing(self, path: str) -> bool:
        return path.startswith("/home/") and not (self._root / path.lstrip("/")).is_dir()

    def _find_or_make(self, name: str, wanted: int | None) -> Login:
        login, uids = self._found(name)
        if name not in uids:
            uid = wanted or next_uid(max(uids.values()))
            if uid in uids.values():
                raise Refused(
                    f"{name} is to have the number {uid}, and another user of the cluster has it.",
                    hint=f"Take that user out of {self._passwd}, or give them another number.",
                    code="uid-taken",
                )
            self._append("etc/group", f"{name}:x:{uid}:")
            self._append("etc/passwd", f"{name}:x:{uid}:{uid}::{login.home}:/bin/bash")
            uids[name] = uid
        self._make_home(name, uids[name])
        # Where there is one user for all, whatever is made is theirs already.
        return login if self._single_user else replace(login, uid=uids[name])

    @property
    def _passwd(self) -> Path:
        return self._root / "etc/passwd"

    def _found(self, name: str) -> tuple[Login, dict[str, int]]:
        """Return the user as they are or would be, and the numbers of all there are."""
        if self._single_user and name != self._single_user:
            raise Refused(
                f"This cluster runs every job as {self._single_user}; it has no user {name}.",
                hint="It was started without root. Started as root, each person has a user; here "
                "others can only look.",
                code="single-user",
            )
        if not _NAME.fullmatch(name):
            raise Refused(
                f"{name!r} cannot be a Linux user name.",
                hint="Use lower-case letters, digits, - and _, starting with a letter.",
                code="user-name",
            )
        lines = [line.split(":") for line in self._passwd.read_text().splitlines() if ":" in line]
        uids = {line[0]: int(line[2]) for line in lines}
        if uids.get(name, FIRST_UID) < FIRST_UID and not self._single_user:
            raise Refused(
                f"{name} is a system user of the cluster; nobody submits jobs as {name}.",
                hint="Submit as a person instead: clusterra login",
                code="user-name",
            )
        return Login(name=name, home=f"/home/{name}"), uids

    def _append(self, file: str, line: str) -> None:
        with (self._root / file).open("a") as out:
            out.write(f"{line}\n")

    def _make_home(self, name: str, uid: int) -> None:
        home = self._root / "home" / name
        if home.is_dir():
            return
        home.mkdir(mode=0o700, parents=True)
        if os.geteuid() == 0 and not self._single_user:
            os.chown(home, uid, uid)
