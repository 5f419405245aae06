"""The Linux user that a person is: a name made of the e-mail, and a number.

Both are given once and never to anybody else, so that files and past jobs stay theirs.
"""

import re
from collections.abc import Iterator

from clusterra.core.errors import Invalid
from clusterra.core.quote import shown

FIRST_UID = 20_000
"""Far from the system's own users and from the people a machine usually has."""

TAKEN_BY_SYSTEMS = range(60_000, 66_000)
"""Daemons of Debian and of ours, and `nobody`, have numbers in here."""

LONGEST = 32
"""What useradd takes, and what Slurm's accounting has been seen to keep."""

RESERVED = frozenset(
    """root daemon bin sys sync games man lp mail news uucp proxy www-data backup list irc gnats
    nobody nogroup systemd systemd-network systemd-resolve systemd-timesync messagebus sshd ssh
    sudo wheel adm shadow utmp video audio disk docker kvm input render tty staff users
    slurm slurmrest slurmctld slurmdbd slurmd slurmrestd munge mysql mariadb postgres redis
    clusterra operator toor halt shutdown ftp dbus polkitd ec2-user ubuntu debian""".split()  # noqa: SIM905 - a list of sixty is read as words
)
"""Users that mean something to a machine or to Slurm; no person is ever one of them."""

_NAME = re.compile(r"[a-z_][a-z0-9_-]{0,31}")


def names_for(email: str) -> Iterator[str]:
    """Yield user names for somebody, best first, without end: `ana`, `ana-2`, `ana-3`, …"""
    wanted = _from(email)
    if wanted not in RESERVED:
        yield wanted
    number = 2
    while True:
        ending = f"-{number}"
        name = wanted[: LONGEST - len(ending)].rstrip("-_") + ending
        if name != wanted:  # a long one that ends so itself
            yield name
        number += 1


def check_login(name: str) -> str:
    """Return a name that was asked for; raise Invalid if nobody can have it."""
    if not _NAME.fullmatch(name):
        raise Invalid(
            f"{shown(name)} cannot be a Linux user name.",
            hint="Use up to 32 of a-z, 0-9, - and _, beginning with a letter.",
            at="login",
            code="user-name",
        )
    if name in RESERVED:
        raise Invalid(
            f"{name} is a user of the system; no person can be {name}.",
            hint="Choose another name, or leave it out: one is made from the e-mail.",
            at="login",
            code="user-name",
        )
    return name


def next_uid(last: int) -> int:
    """Return the number after the last one given."""
    number = max(last + 1, FIRST_UID)
    return TAKEN_BY_SYSTEMS.stop if number in TAKEN_BY_SYSTEMS else number


def _from(email: str) -> str:
    local = email.partition("@")[0].lower()
    name = re.sub(r"[^a-z0-9_]+", "-", local).strip("-_")
    if not name or not name[0].isalpha():
        name = f"u{name}"
    return name[:LONGEST].rstrip("-_")
