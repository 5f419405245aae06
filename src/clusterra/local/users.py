"""The Linux users the daemons see: /etc/passwd, /etc/group and /etc/hosts of one cluster.

People are added later, just in time, by whoever lets them submit. Here are only
those without whom no daemon starts. Lines that are already in the files stay.
"""

import os
import pwd
from collections.abc import Mapping
from dataclasses import dataclass

from clusterra.local.state import SLURM_UID, SLURMREST_UID

ADMIN = "admin"
"""The person behind the first token when `up` is run by root itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    name: str
    uid: int
    gid: int

    @property
    def home(self) -> str:
        return f"/home/{self.name}"


def single_user() -> Person | None:
    """Return the one user that everything runs as, or None if root lets each run as their own."""
    uid = os.geteuid()
    if uid == 0:
        return None
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:
        name = f"user{uid}"
    return Person(name=name, uid=uid, gid=os.getegid())


def caller(environ: Mapping[str, str], reserved: str) -> str:
    """Return who asked root to start the cluster; `reserved` is the passwd of the system's own."""
    name = environ.get("SUDO_USER", "") or pwd.getpwuid(os.geteuid()).pw_name
    return ADMIN if name in _names(reserved) else name


def passwd(shipped: str, present: str, single: Person | None) -> str:
    """Return /etc/passwd: what is there, with everybody the daemons need."""
    lines = _lines(present or shipped)
    if single is None:
        return _with(
            lines, _entry("slurm", SLURM_UID, "/"), _entry("slurmrest", SLURMREST_UID, "/")
        )
    # Slurm records a job under the first name of its uid, so nobody else may have this one.
    others = [line for line in lines if line.split(":")[2] != str(single.uid)]
    return _with(
        [line for line in others if not line.startswith(f"{single.name}:")],
        f"{single.name}:x:{single.uid}:{single.gid}::{single.home}:/bin/bash",
    )


def group(shipped: str, present: str, single: Person | None) -> str:
    lines = _lines(present or shipped)
    if single is None:
        return _with(lines, f"slurm:x:{SLURM_UID}:", f"slurmrest:x:{SLURMREST_UID}:")
    others = [line for line in lines if line.split(":")[2] != str(single.gid)]
    return _with(
        [line for line in others if not line.startswith(f"{single.name}:")],
        f"{single.name}:x:{single.gid}:",
    )


def hosts(hostname: str) -> str:
    return f"127.0.0.1 localhost {hostname}\n"


def _entry(name: str, uid: int, home: str) -> str:
    return f"{name}:x:{uid}:{uid}::{home}:/usr/sbin/nologin"


def _with(lines: list[str], *wanted: str) -> str:
    have = _names("\n".join(lines))
    missing = [line for line in wanted if line.split(":")[0] not in have]
    return "".join(f"{line}\n" for line in [*lines, *missing])


def _names(text: str) -> set[str]:
    return {line.split(":")[0] for line in _lines(text)}


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.count(":") >= 2]
