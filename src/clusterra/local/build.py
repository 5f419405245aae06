"""Build a root file system with Slurm and MariaDB in it, from a Debian mirror.

mmdebstrap does the work. It runs in namespaces of its own, so that whatever it
mounts is gone with it, however it ends. Where the result goes and whether it
may be trusted later is decided in `rootfs`.
"""

import os
import pwd
import selectors
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from clusterra.core.errors import Refused
from clusterra.local.mirror import mirror
from clusterra.local.progress import BuildProgress
from clusterra.local.tell import Teller

NEEDED_MB = 800
"""At its largest, packages and their contents together; what stays is about 300."""

TEMPLATE = "usr/share/clusterra/mysql"
"""An empty database inside the root file system: copying it takes 0.05 s, making one 0.5 to 4 s."""

MOUNT_POINTS = (
    *("etc/slurm", "home", "mnt", "run", "tmp", "var/tmp", "proc", "dev"),
    *("var/lib/slurm", "var/lib/mysql", "var/log/slurm"),
)
MOUNT_FILES = ("etc/hosts", "etc/passwd", "etc/group")

BUILD_AS_ROOT = (
    "Build it once as root:   sudo clusterra rootfs --output slurm.tar\n"
    "Then start with it:      clusterra up --rootfs slurm.tar"
)

_PACKAGES = (
    *("slurmctld", "slurmd", "slurmdbd", "slurmrestd", "slurm-client"),
    # Packaged apart from the rest, and without it nothing can sign in over REST.
    "slurm-wlm-jwt-plugin",
    "slurm-wlm-mysql-plugin",
    *("mariadb-server-core", "mariadb-client-core"),
    *("passwd", "hostname"),
    # What half of all jobs begin with.
    "python3",
)
_NOT_NEEDED = ("man", "doc", "locale", "info")
_DISK_FULL = "No space left on device"


class BuildFailed(Refused):
    code = "rootfs-build-failed"


def build(suite: str, into: Path, *, usually: float, lock: int, teller: Teller) -> None:
    """Fill the new directory `into`. Raises BuildFailed; what is left there then is useless."""
    find_mmdebstrap(teller)
    _need_space(into.parent)
    progress = BuildProgress(usually=usually)
    begun = time.monotonic()
    unprivileged = os.geteuid() != 0
    target = into.with_suffix(".tar") if unprivileged else into
    last: list[str] = []
    with subprocess.Popen(
        _command(suite, target, unprivileged=unprivileged),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
        # The cache stays locked for as long as anything writes to it.
        pass_fds=(lock,),
        start_new_session=True,
    ) as work:
        try:
            for line in _lines(work):
                elapsed = time.monotonic() - begun
                if line is None:
                    progress.pass_time(elapsed)
                else:
                    progress.hear(line, elapsed)
                    last = [*last[-40:], line]
                teller.progress(
                    f"Slurm of Debian {suite}: {progress.doing}",
                    progress.percent,
                    elapsed,
                    usually,
                )
        except BaseException:
            work.kill()
            target.unlink(missing_ok=True) if unprivileged else None
            raise
    if work.returncode != 0:
        raise _failure(suite, last, into.parent)
    if unprivileged:
        unpack(target, into)
        target.unlink()


def find_mmdebstrap(teller: Teller) -> None:
    """Make sure there is an mmdebstrap, or say which command brings it."""
    if shutil.which("mmdebstrap") is not None:
        return
    command = "apt-get install -y mmdebstrap"
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise Refused(
            "Slurm has to be built once, and mmdebstrap, which does it, is not installed.",
            hint=f"Install it: sudo {command}\n"
            "Or bring a root file system that was built elsewhere: clusterra up --rootfs FILE",
        )
    teller.note(f"mmdebstrap is missing; installing it: {command}")
    begun = time.monotonic()
    environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    run = subprocess.run(command.split(), env=environ, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        # Lists that were never fetched, or are from before the mirror moved on.
        subprocess.run(["apt-get", "update"], capture_output=True, check=False)
        run = subprocess.run(
            command.split(), env=environ, capture_output=True, text=True, check=False
        )
    if run.returncode != 0:
        raise Refused(
            f"mmdebstrap could not be installed: {_last_error(run.stderr.splitlines())}",
            hint=f"Find out why with: {command}\n"
            "Or bring a root file system that was built elsewhere: clusterra up --rootfs FILE",
        )
    teller.done("mmdebstrap installed", time.monotonic() - begun)


def unpack(tarball: Path, into: Path) -> None:
    """Unpack a root file system, whatever it is compressed with."""
    into.mkdir()
    owner = ["--numeric-owner"] if os.geteuid() == 0 else ["--no-same-owner"]
    run = subprocess.run(
        # Device nodes cannot be made by everybody, and the host's are mounted there anyway.
        ["tar", "-xf", tarball, "-C", into, "--exclude=./dev/*", "--exclude=dev/*", "-p", *owner],
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode != 0:
        raise BuildFailed(
            f"{tarball} could not be unpacked: {_last_error(run.stderr.splitlines())}",
            hint="Check the file and the free space of the cache directory.",
        )


def _command(suite: str, target: Path, *, unprivileged: bool) -> list[str]:
    if unprivileged and not has_subuids():
        raise Refused(
            "Without root, Slurm can be built only by users who have a range of their own in "
            "/etc/subuid, and you have none.",
            hint=BUILD_AS_ROOT,
        )
    own_mounts = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    return [
        # If we are killed, so is the build.
        *("setpriv", "--pdeathsig", "KILL"),
        *([] if unprivileged else own_mounts),
        *("mmdebstrap", "--verbose", "--variant=essential"),
        f"--mode={'unshare' if unprivileged else 'root'}",
        '--aptopt=Acquire::Check-Valid-Until "false"',
        '--aptopt=APT::Install-Recommends "false"',
        *(f"--dpkgopt=path-exclude=/usr/share/{each}/*" for each in _NOT_NEEDED),
        f"--include={','.join(_PACKAGES)}",
        f"--customize-hook={_prepare_hook()}",
        suite,
        str(target),
        mirror(),
    ]


def _prepare_hook() -> str:
    """Return the shell commands that finish the tree `$1`: mount points and an empty database."""
    return f"""set -e; cd "$1"
        mkdir -p {" ".join(MOUNT_POINTS)} {TEMPLATE}
        echo 127.0.0.1 localhost > etc/hosts
        chroot . mariadb-install-db --no-defaults --user=root --force --datadir=/{TEMPLATE} \\
            --skip-test-db --auth-root-authentication-method=socket \\
            --innodb-log-file-size=32M > /dev/null
        chmod -R a+rX {TEMPLATE}"""


def _lines(work: subprocess.Popen[bytes]) -> Iterator[str | None]:
    """Yield what is printed, and None when nothing was for a moment."""
    assert work.stdout is not None
    descriptor = work.stdout.fileno()
    heard = b""
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while True:
            if not selector.select(0.25):
                yield None
                continue
            chunk = os.read(descriptor, 65536)
            if not chunk:
                return
            *lines, heard = (heard + chunk).replace(b"\r", b"\n").split(b"\n")
            for line in lines:
                yield line.decode(errors="replace")


def _need_space(directory: Path) -> None:
    free = shutil.disk_usage(directory).free // 10**6
    if free < NEEDED_MB:
        raise _too_full(directory, free)


def _too_full(directory: Path, free: int) -> Refused:
    return Refused(
        f"Building Slurm takes {NEEDED_MB} MB in {directory}, and {free} MB are free there.",
        hint="Free some space, or keep the cache elsewhere: XDG_CACHE_HOME=/big/disk clusterra up",
    )


def has_subuids() -> bool:
    """Whether this user may map a range of others, as building without root needs."""
    try:
        name = pwd.getpwuid(os.geteuid()).pw_name
        lines = Path("/etc/subuid").read_text().splitlines()
    except (KeyError, OSError):
        return False
    return any(line.startswith((f"{name}:", f"{os.geteuid()}:")) for line in lines)


def _failure(suite: str, lines: list[str], directory: Path) -> Refused:
    if any(_DISK_FULL in line for line in lines):
        return _too_full(directory, shutil.disk_usage(directory).free // 10**6)
    return BuildFailed(
        f"Slurm of Debian {suite} could not be built: {_last_error(lines)}",
        hint="Check that the mirror answers: apt-get update\n"
        "Or bring a root file system that was built elsewhere: clusterra up --rootfs FILE",
    )


def _last_error(lines: list[str]) -> str:
    """Return the line that says most: the first that calls itself an error, or the last."""
    errors = [line for line in lines if line.startswith(("E:", "Err:", "tar:", "Error"))]
    return (errors or lines or ["it said nothing"])[0 if errors else -1].strip()
