"""Everything between `clusterra up` and a running cluster: prepare, write, plan.

Nothing here is running yet when it returns; `supervisor` takes it from there.
"""

import os
import shutil
import socket
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from clusterra.core.errors import Conflict
from clusterra.local import slurm_conf, users
from clusterra.local.build import TEMPLATE
from clusterra.local.daemons import (
    AGENT,
    CTLD,
    DATABASE_MADE,
    DBD,
    RESTD,
    place,
    plan,
)
from clusterra.local.fleet import local_fleet
from clusterra.local.plan import Plan
from clusterra.local.rootfs import Rootfs, cache_directory, obtain
from clusterra.local.running import Running, SlurmAddress, running
from clusterra.local.settings_file import settings_toml
from clusterra.local.state import (
    SLURM_UID,
    Identity,
    Oidc,
    State,
    accept_slurm,
    give,
    hold_lock,
    lay_out,
    write,
)
from clusterra.local.tcp import PLANE, SLURMD, Ports, settle
from clusterra.local.tell import Teller

LAST_BREATH = 40
"""Seconds an earlier cluster may take to stop before a new start gives up on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What was asked for beside the state directory."""

    port: int | None = None
    workers: int | None = None
    """How many there are to be, always; None has as many as the jobs need."""
    agent: bool = True
    """Whether workers run on this machine at all."""
    suite: str | None = None
    rootfs: Path | None = None
    hook: bytes | None = None
    """The program for Slurm to call when something happens to a job; None for none."""
    owner: str = ""
    """E-mail of the first owner; empty is the one named before, or the Linux user's."""
    oidc: Oidc | None = None
    no_oidc: bool = False
    """Let links sign people in again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    plan: Plan
    running: Running


def take(state: State, teller: Teller) -> int | None:
    """Take the state's lock; None if its cluster is up already.

    One that is being started or stopped is waited for.
    """
    waiting = False
    give_up = time.monotonic() + LAST_BREATH
    while running(state) is not None or (lock := hold_lock(state)) is None:
        if running(state) is not None:
            return None
        if time.monotonic() > give_up:
            raise Conflict(
                f"Another clusterra has been starting or stopping the cluster in {state.path} "
                f"for {LAST_BREATH} s.",
                hint="See what it does: clusterra status",
            )
        if not waiting:
            teller.note("An earlier start or stop of this cluster is not finished; waiting for it.")
        waiting = True
        time.sleep(0.05)
    return lock


def prepare(
    state: State,
    identity: Identity,
    wishes: Wishes,
    *,
    environ: Mapping[str, str],
    teller: Teller,
    claims: ExitStack,
) -> Prepared:
    """Make ready whatever the daemons will find when they start. The caller holds the lock.

    `claims` are on its ports, to be held for as long as it runs.
    """
    rootfs, identity = _choose_rootfs(identity, wishes, environ, teller)
    identity = accept_slurm(state, identity, rootfs.slurm)
    identity = replace(
        identity,
        owner=wishes.owner or identity.owner,
        oidc=None if wishes.no_oidc else wishes.oidc or identity.oidc,
    )
    lay_out(state)
    state.remember(identity)
    single = users.single_user()
    ports = _ports(state, wishes, teller, claims)
    fleet = local_fleet(wishes.workers)
    slurm = slurm_conf.Slurm(
        cluster=identity.id,
        version=rootfs.slurm,
        ctld_port=ports[CTLD],
        slurmd_port=ports[SLURMD],
        dbd_port=ports[DBD],
        single=single,
        hooks=wishes.hook is not None,
        shapes=fleet.shapes,
    )
    if wishes.hook is not None:
        write(state.spool / "hook.sh", wishes.hook, mode=0o755)
    _write_users(state, rootfs, single)
    _write_slurm(state, slurm)
    _copy_database(state, rootfs)
    rest = f"http://127.0.0.1:{ports[RESTD]}"
    shipped = (rootfs.path / "etc/passwd").read_text()
    settings = settings_toml(
        state,
        cluster=identity.id,
        port=ports[PLANE],
        slurm=rest,
        service_user=slurm.user,
        user=single.name if single else users.caller(environ, shipped),
        single=single is not None,
        started_at=int(time.time()),
        owner=identity.owner,
        oidc=identity.oidc,
        fleet=fleet,
    )
    write(state.settings, settings.encode(), mode=0o600)
    write(state.place, place(state, str(rootfs.path), slurm, ports))
    return Prepared(
        plan=plan(
            state,
            str(rootfs.path),
            slurm,
            ports,
            agent=wishes.agent,
            environ=environ,
        ),
        running=Running(
            url=f"http://127.0.0.1:{ports[PLANE]}",
            token_file=str(state.token),
            cluster=identity.id,
            state=str(state.path),
            pid=os.getpid(),
            slurm=SlurmAddress(version=rootfs.slurm, api_version=rootfs.api_version, url=rest),
            single_user=single.name if single else "",
            workers=wishes.workers,
            agent_key_file="" if wishes.agent else str(state.agent_key(identity.id)),
        ),
    )


def _choose_rootfs(
    identity: Identity, wishes: Wishes, environ: Mapping[str, str], teller: Teller
) -> tuple[Rootfs, Identity]:
    """Return the root file system asked for, else the one this cluster ran on last."""
    given, suite = wishes.rootfs, wishes.suite
    if given is None and suite is None:
        given = Path(identity.rootfs) if identity.rootfs else None
        suite = identity.suite or None
    rootfs = obtain(cache_directory(environ), suite=suite, given=given, teller=teller)
    chosen = str(given.absolute()) if given else ""
    return rootfs, replace(identity, rootfs=chosen, suite="" if given else rootfs.suite)


def _ports(state: State, wishes: Wishes, teller: Teller, claims: ExitStack) -> Ports:
    try:
        remembered = msgspec.json.decode(state.ports.read_bytes(), type=dict[str, int])
    except (OSError, msgspec.MsgspecError):
        remembered = {}
    names = (CTLD, DBD, RESTD, SLURMD, PLANE, AGENT)
    ports = settle(names, remembered, asked=wishes.port, claims=claims)
    for sentence in ports.moved:
        teller.note(sentence)
    write(state.ports, msgspec.json.encode({**remembered, **ports.numbers}))
    return ports


def _write_users(state: State, rootfs: Rootfs, single: users.Person | None) -> None:
    for name, render in (("passwd", users.passwd), ("group", users.group)):
        file = state.path / "etc" / name
        present = file.read_text() if file.exists() else ""
        wanted = render((rootfs.path / "etc" / name).read_text(), present, single)
        if wanted != present:
            write(file, wanted.encode())
    write(state.path / "etc" / "hosts", users.hosts(socket.gethostname()).encode())
    if single is not None:
        (state.path / "home" / single.name).mkdir(mode=0o700, exist_ok=True)


def _write_slurm(state: State, slurm: slurm_conf.Slurm) -> None:
    for name, text in slurm_conf.files(slurm).items():
        # slurmdbd ends at once if anybody else could read its configuration.
        secret = name == "slurmdbd.conf"
        write(
            state.slurm_conf / name,
            text.encode(),
            mode=0o600 if secret else 0o644,
            owner=SLURM_UID if secret else 0,
        )
    for key, size in (("slurm.key", 1024), ("jwt_hs256.key", 32)):
        if not (state.slurm_conf / key).exists():
            write(state.slurm_conf / key, os.urandom(size), mode=0o600, owner=SLURM_UID)


def _copy_database(state: State, rootfs: Rootfs) -> None:
    """Begin with a copy of the ready-made empty database, where the root file system has one."""
    place = state.path / "var/lib/mysql"
    template = rootfs.path / TEMPLATE
    if (place / DATABASE_MADE).exists() or not template.is_dir():
        return
    shutil.rmtree(place)
    shutil.copytree(template, place)
    (place / DATABASE_MADE).touch()
    place.chmod(0o700)
    for each in (place, *place.rglob("*")):
        give(each, SLURM_UID)
