"""What an embedded cluster needs of this machine, each with the line that fixes it."""

import importlib.util
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import msgspec

from clusterra.adapters.tcp import is_free
from clusterra.core.errors import ClusterraError
from clusterra.local.build import BUILD_AS_ROOT, NEEDED_MB, has_subuids
from clusterra.local.rootfs import SUITES, cached
from clusterra.local.running import running
from clusterra.local.state import State, check_owner
from clusterra.local.supervisor import namespaces
from clusterra.local.tcp import DEFAULT, PLANE, holder

_LIBRARIES = ("aiohttp", "fastapi", "jwt", "uvicorn", "structlog")
_PROGRAMS = {
    "unshare": "util-linux",
    "setpriv": "util-linux",
    "mount": "mount",
    "chroot": "coreutils",
    "tar": "tar",
}
_STATE_MB = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    what: str
    ok: bool
    found: str
    fix: str = ""


def this_machine(state: State, cache: Path) -> list[Finding]:
    return [
        _python(),
        _programs(),
        _namespaces(),
        _slurm(state, cache),
        _space("disk for the cluster", state.path, _STATE_MB),
        _directory(state),
        _port(state),
    ]


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    missing = [name for name in _LIBRARIES if importlib.util.find_spec(name) is None]
    if missing:
        return Finding(
            what="python",
            ok=False,
            found=f"{version}, without {', '.join(missing)}",
            fix="pip install 'clusterra[server]'",
        )
    return Finding(what="python", ok=True, found=version)


def _programs() -> Finding:
    missing = [name for name in _PROGRAMS if shutil.which(name) is None]
    if missing:
        packages = " ".join(sorted({_PROGRAMS[name] for name in missing}))
        return Finding(
            what="programs",
            ok=False,
            found=f"{', '.join(missing)} missing",
            fix=f"sudo apt-get install -y {packages}",
        )
    return Finding(what="programs", ok=True, found=", ".join(_PROGRAMS))


def _namespaces() -> Finding:
    single = os.geteuid() != 0
    who = "unprivileged, everything as one user" if single else "root, jobs as their own users"
    try:
        run = subprocess.run(
            [*namespaces(single=single), "true"], capture_output=True, text=True, check=False
        )
        why = run.stderr.strip()
        allowed = run.returncode == 0
    except FileNotFoundError as error:
        allowed, why = False, str(error)
    if allowed:
        return Finding(what="namespaces", ok=True, found=who)
    fix = _userns_fix() if single else "docker run --privileged …   (or run it as an ordinary user)"
    return Finding(what="namespaces", ok=False, found=why or "not allowed", fix=fix)


def _userns_fix() -> str:
    """Return the switch that is off; different distributions have different ones."""
    for switch, off, on in (
        ("kernel/unprivileged_userns_clone", "0", "1"),
        ("kernel/apparmor_restrict_unprivileged_userns", "1", "0"),
        ("user/max_user_namespaces", "0", "15000"),
    ):
        try:
            if (Path("/proc/sys") / switch).read_text().strip() == off:
                return f"sudo sysctl -w {switch.replace('/', '.')}={on}"
        except OSError:
            continue
    return "sudo clusterra up   (user namespaces are not allowed here)"


def _slurm(state: State, cache: Path) -> Finding:
    if brought := _brought(state):
        return brought
    for suite in SUITES:
        if (manifest := cached(cache, suite)) is not None:
            return Finding(
                what="Slurm",
                ok=True,
                found=f"{manifest.slurm} of Debian {suite}, {manifest.megabytes} MB in {cache}",
            )
    if shutil.which("mmdebstrap") is None and (
        os.geteuid() != 0 or shutil.which("apt-get") is None
    ):
        return Finding(
            what="Slurm",
            ok=False,
            found="not built yet, and mmdebstrap is missing",
            fix="sudo apt-get install -y mmdebstrap",
        )
    if os.geteuid() != 0 and not has_subuids():
        return Finding(
            what="Slurm",
            ok=False,
            found="not built yet, and without root it takes a range in /etc/subuid",
            fix=BUILD_AS_ROOT,
        )
    space = _space("disk for Slurm", cache, NEEDED_MB)
    if not space.ok:
        return space
    return Finding(what="Slurm", ok=True, found="not built yet; the first `up` builds it")


def _brought(state: State) -> Finding | None:
    """Look at the root file system this cluster was started with, if one was named."""
    try:
        named = state.identity
    except ClusterraError:
        return None
    if named is None or not named.rootfs:
        return None
    if not Path(named.rootfs).exists():
        return Finding(
            what="Slurm",
            ok=False,
            found=f"{named.rootfs}, which this cluster was started with, is gone",
            fix="clusterra up --rootfs FILE",
        )
    return Finding(what="Slurm", ok=True, found=f"{named.slurm} in {named.rootfs}")


def _space(what: str, directory: Path, needed: int) -> Finding:
    while not directory.exists():
        directory = directory.parent
    free = shutil.disk_usage(directory).free // 10**6
    return Finding(
        what=what,
        ok=free >= needed,
        found=f"{free} MB free in {directory}, {needed} needed",
        fix="" if free >= needed else f"df -h {directory}   (free some space there)",
    )


def _directory(state: State) -> Finding:
    try:
        check_owner(state)
    except ClusterraError as error:
        return Finding(what="state", ok=False, found=error.detail, fix=error.hint)
    return Finding(what="state", ok=True, found=str(state.path))


def _port(state: State) -> Finding:
    try:
        port = msgspec.json.decode(state.ports.read_bytes(), type=dict[str, int])[PLANE]
    except (OSError, KeyError, msgspec.MsgspecError):
        port = DEFAULT
    if running(state) is not None:
        return Finding(what="port", ok=True, found=f"{port}, in use by this cluster")
    if is_free(port):
        return Finding(what="port", ok=True, found=f"{port} is free")
    return Finding(
        what="port",
        ok=False,
        found=f"{port} is taken{holder(port)}",
        fix="clusterra up --port 0   (takes a free one)",
    )
