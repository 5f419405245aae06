"""One cluster's directory: everything that is kept, and who may use it.

The root file system of the daemons is shared and never written; what belongs to
one cluster is here and is mounted over it. So the files of a job of `ana` are
STATE/home/ana/…, and taking the directory along takes the cluster along.

What is written into it (configuration, users, ports) is decided elsewhere.
"""

import fcntl
import os
import pwd
import secrets
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from clusterra.core.errors import Invalid, Refused
from clusterra.core.ids import cluster_id

OWN_UID = -1
SLURM_UID = 64030
"""Debian's number for its `slurm` user; the same in every root file system we build."""
SLURMREST_UID = 64031
"""slurmrestd refuses to run as root or as SlurmUser, so it gets a user of its own."""

_DIRECTORIES: tuple[tuple[str, int, int], ...] = (
    # path, mode, owner when started by root; without root everything belongs to one user
    ("etc", 0o755, OWN_UID),
    ("etc/slurm", 0o755, OWN_UID),
    ("home", 0o755, OWN_UID),
    # People's files, as jobs see them: to be walked through, and not listed.
    ("mnt", 0o755, OWN_UID),
    ("mnt/efs", 0o711, OWN_UID),
    ("tmp", 0o1777, OWN_UID),
    ("run", 0o755, OWN_UID),
    # slurmd dies if this one belongs to anybody but SlurmdUser.
    ("run/slurm", 0o755, OWN_UID),
    ("run/slurmctld", 0o755, SLURM_UID),
    ("run/slurmdbd", 0o755, SLURM_UID),
    ("run/mysqld", 0o755, SLURM_UID),
    # Jobs execute their script from slurmd's spool, so everybody may walk through here.
    ("var/lib/slurm", 0o755, SLURM_UID),
    ("var/lib/slurm/ctld", 0o700, SLURM_UID),
    ("var/lib/slurm/clusterra", 0o700, SLURM_UID),
    ("var/lib/slurm/clusterra/new", 0o700, SLURM_UID),
    ("var/lib/slurm/clusterra/tmp", 0o700, SLURM_UID),
    ("var/lib/mysql", 0o700, SLURM_UID),
    ("var/log/slurm", 0o755, SLURM_UID),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Oidc:
    """An identity provider, as it was named to `up`."""

    issuer: str
    client_id: str
    client_secret_file: str = ""
    domains: tuple[str, ...] = ()
    """E-mail domains whose people are members without being invited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What a cluster stays true to from one start to the next."""

    id: str
    uid: int
    """Who made it. Its files belong to this user and those it became inside."""
    slurm: str = ""
    """The newest Slurm that has run on it: an older one cannot read what that one wrote."""
    suite: str = ""
    rootfs: str = ""
    """A root file system that was named with --rootfs, so that it need not be named again."""
    owner: str = ""
    """E-mail of its first owner, where one was named."""
    oidc: Oidc | None = None
    """Where its people sign in; None where links let them in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    path: Path

    @property
    def token(self) -> Path:
        return self.path / "token"

    @property
    def settings(self) -> Path:
        return self.path / "clusterra.toml"

    @property
    def ports(self) -> Path:
        return self.path / "ports.json"

    @property
    def run(self) -> Path:
        """Where the running supervisor says how to reach it; absent while nothing runs."""
        return self.path / "run.json"

    @property
    def up_log(self) -> Path:
        return self.path / "up.log"

    @property
    def slurm_conf(self) -> Path:
        return self.path / "etc" / "slurm"

    @property
    def spool(self) -> Path:
        """Where Slurm's hooks write what they have to say; inside, HOOK's directory."""
        return self.path / "var/lib/slurm/clusterra"

    def collector_key(self, cluster: str) -> Path:
        return self.path / "keys" / f"{cluster}.key"

    def agent_key(self, cluster: str) -> Path:
        return self.path / "keys" / f"{cluster}.agent.key"

    @property
    def place(self) -> Path:
        """Where the agent reads how workers are started here."""
        return self.path / "run" / "place.json"

    @property
    def workers(self) -> Path:
        """What the agent keeps of its workers from one start of it to the next."""
        return self.path / "agent"

    def log(self, daemon: str) -> Path:
        return self.path / "var" / "log" / "slurm" / f"{daemon}.log"

    @property
    def identity(self) -> Identity | None:
        try:
            return msgspec.json.decode((self.path / "cluster.json").read_bytes(), type=Identity)
        except FileNotFoundError:
            return None
        except msgspec.MsgspecError as error:
            raise Invalid(
                f"{self.path / 'cluster.json'} is damaged: {error}.",
                hint="Restore that file, or start a new cluster with another --state DIR.",
            ) from None

    def remember(self, identity: Identity) -> None:
        write(self.path / "cluster.json", msgspec.json.encode(identity))


def open_state(path: Path) -> tuple[State, Identity]:
    """Find the cluster of a directory, or begin one there."""
    state = State(path=path.absolute())
    try:
        if not state.path.exists():
            state.path.mkdir(parents=True, mode=0o700)
        check_owner(state)
        identity = state.identity
        if identity is None:
            identity = Identity(id=cluster_id(os.urandom(2)), uid=os.geteuid())
            state.remember(identity)
    except OSError as error:
        raise _unwritable(state.path, error.strerror) from None
    return state, identity


def check_owner(state: State) -> None:
    """Refuse a directory that is somebody else's cluster, or that we cannot write to."""
    identity = state.identity
    if identity is not None and identity.uid != os.geteuid():
        raise Refused(
            f"The cluster in {state.path} belongs to {_name(identity.uid)}, "
            f"and you are {_name(os.geteuid())}.",
            hint=f"Run this as {_name(identity.uid)}, or start your own with --state DIR.",
        )
    nearest = next(each for each in (state.path, *state.path.parents) if each.exists())
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise _unwritable(state.path, "Permission denied")


def lay_out(state: State) -> None:
    """Make every directory, with its owner. Only for whoever holds the lock."""
    try:
        # Sockets and pid files of an earlier life would be taken for living ones.
        shutil.rmtree(state.path / "run", ignore_errors=True)
        for name, mode, owner in _DIRECTORIES:
            directory = state.path / name
            directory.mkdir(parents=True, exist_ok=True)
            directory.chmod(mode)
            give(directory, owner)
        if not state.token.exists():
            write(state.token, secrets.token_urlsafe(32).encode() + b"\n", mode=0o600)
    except OSError as error:
        raise _unwritable(state.path, error.strerror) from None


def give(path: Path, owner: int) -> None:
    """Hand a file to a user of the cluster; without root there is only one."""
    if os.geteuid() == 0 and owner != OWN_UID:
        os.chown(path, owner, owner)


def write(path: Path, content: bytes, *, mode: int = 0o644, owner: int = OWN_UID) -> None:
    """Write a file so that a reader sees the old one or the new one, never a part."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        os.fchmod(descriptor, mode)
    give(beside, owner)
    beside.replace(path)


def hold_lock(state: State) -> int | None:
    """Take the cluster, or return None if it is taken.

    The supervisor, the guard and the process between them share the lock, so it
    is free again only when the last process of the cluster has ended, however
    it ended.
    """
    descriptor = os.open(state.path / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def is_locked(state: State) -> bool:
    """Say whether any process of this cluster is alive."""
    try:
        descriptor = os.open(state.path / "lock", os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)


def accept_slurm(state: State, identity: Identity, version: str) -> Identity:
    """Note the Slurm about to run; refuse one older than what wrote the files."""
    if identity.slurm and _release(version) < _release(identity.slurm):
        raise Refused(
            f"The cluster in {state.path} was last run by Slurm {identity.slurm}; "
            f"Slurm {version} cannot read what that one wrote.",
            hint="Start it with --suite forky, or start a new cluster with another --state DIR.",
        )
    return replace(identity, slurm=version)


def _release(version: str) -> tuple[int, ...]:
    """Return `26.05.5` as (26, 5): files change between releases, not between fixes."""
    return tuple(int(part) for part in version.split(".")[:2])


def _name(uid: int) -> str:
    try:
        return f"{pwd.getpwuid(uid).pw_name} (uid {uid})"
    except KeyError:
        return f"uid {uid}"


def _unwritable(path: Path, why: str | None) -> Refused:
    return Refused(
        f"The state directory {path} cannot be written: {why}.",
        hint="Name another one with --state DIR or CLUSTERRA_STATE.",
    )
