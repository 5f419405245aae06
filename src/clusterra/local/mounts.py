"""What of a cluster's directory lies over which path of the root file system, and laying it there.

The root file system is shared by clusters and never written to; all that changes is mounted
over it, in a mount namespace that ends with the cluster.
"""

import subprocess
from pathlib import Path

from clusterra.local.plan import Mount, Plan

OVER_ROOTFS = (
    ("etc/passwd", "etc/passwd"),
    ("etc/group", "etc/group"),
    ("etc/hosts", "etc/hosts"),
    ("etc/slurm", "etc/slurm"),
    ("home", "home"),
    ("mnt", "mnt"),
    ("run", "run"),
    ("tmp", "tmp"),
    ("tmp", "var/tmp"),
    ("var/lib/slurm", "var/lib/slurm"),
    ("var/lib/mysql", "var/lib/mysql"),
    ("var/log/slurm", "var/log/slurm"),
)


def mounts(state: Path, rootfs: str) -> tuple[Mount, ...]:
    return (
        *(
            Mount(source=str(state / ours), target=f"{rootfs}/{theirs}")
            for ours, theirs in OVER_ROOTFS
        ),
        Mount(source="/proc", target=f"{rootfs}/proc", recursive=True),
        Mount(source="/dev", target=f"{rootfs}/dev", recursive=True),
    )


def mount_all(plan: Plan) -> None:
    """Lay the cluster's own directories over a root file system nobody can write to."""
    _mount("--bind", plan.rootfs, plan.rootfs)
    # Refused in a user namespace on a file system that was itself mounted with restrictions;
    # then the daemons' good manners have to do.
    subprocess.run(["mount", "-o", "remount,bind,ro", plan.rootfs], check=False)
    for each in plan.mounts:
        _mount("--rbind" if each.recursive else "--bind", each.source, each.target)


def _mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True)
