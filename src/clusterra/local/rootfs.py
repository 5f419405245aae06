"""The root file system the daemons live in: found, built or brought, and never written.

One unpacked tree per suite is kept in the cache and shared by all clusters. It
is built beside its place and renamed into it, so an interrupted build is never
mistaken for a finished one; and it is counted over at each start, so a tree
that lost files is rebuilt and not run.
"""

import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from clusterra.core.errors import Invalid, Refused
from clusterra.local.build import MOUNT_FILES, MOUNT_POINTS, BuildFailed, build, unpack
from clusterra.local.state import write
from clusterra.local.tell import Teller

SUITES = ("forky", "trixie")
"""Debian releases with a Slurm we know: 26.05, and 24.11 where the first cannot be had."""
_APIS = range(42, 46)
"""The versions of Slurm's API that the control plane speaks, as in v0.0.42."""
_USUALLY = 30.0
_LAYOUT = 2
"""Raised when trees are made differently, so that those of an older Clusterra are made again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rootfs:
    path: Path
    slurm: str
    """The release, as `26.05.5`."""
    api_version: str
    suite: str = ""
    """The Debian release it was built of; empty if it was brought."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a tree in the cache was when it was finished."""

    suite: str
    slurm: str
    megabytes: int
    seconds: float
    digest: str
    layout: int = 0
    """Which way of making trees it was made in."""


def cache_directory(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "clusterra"


def obtain(cache: Path, *, suite: str | None, given: Path | None, teller: Teller) -> Rootfs:
    """Return a root file system that can be run: the one given, a cached one, or a new one."""
    if given is not None and given.is_dir():
        return inspect(given.absolute())
    with _locked(cache, teller) as lock:
        _sweep(cache)
        if given is not None:
            return inspect(_unpacked(cache, given, teller))
        if suite is not None:
            return _suite(cache, suite, lock, teller)
        try:
            return _suite(cache, SUITES[0], lock, teller)
        except BuildFailed as error:
            teller.trouble(f"{error.detail}\nFalling back to Debian {SUITES[1]} and Slurm 24.11.")
            return _suite(cache, SUITES[1], lock, teller)


def cached(cache: Path, suite: str) -> Manifest | None:
    """Return what the cache holds of a suite, without checking the tree."""
    place = _place(cache, suite)
    return _manifest(place) if place.is_dir() else None


def inspect(tree: Path) -> Rootfs:
    """Read from a tree which Slurm it holds, or refuse it with what it lacks."""
    version = _package_version(tree, "slurmctld")
    if version is None:
        raise Invalid(
            f"{tree} is not a root file system with Slurm in it.",
            hint="Build one with: clusterra rootfs --output FILE",
        )
    plugins = tree.glob("usr/lib/*/slurm*/data_parser_v0_0_*.so")
    spoken = {int(each.stem.rpartition("_")[2]) for each in plugins} & set(_APIS)
    if not spoken:
        raise Refused(
            f"Slurm {version} in {tree} speaks no version of the API between v0.0.{_APIS[0]} and "
            f"v0.0.{_APIS[-1]}.",
            hint="Use Slurm 24.11 or later: clusterra up --suite forky",
        )
    _mend_mount_points(tree)
    return Rootfs(path=tree, slurm=version, api_version=f"v0.0.{max(spoken)}")


def digest_of(tree: Path) -> str:
    """Return a number for the tree's names, sizes and modes: 25 ms for its 3,800 files.

    Enough to notice a cache that lost or cut files; not meant against an attacker, who could
    as well change this program.
    """
    rows = []
    directories = [str(tree)]
    while directories:
        with os.scandir(directories.pop()) as entries:
            for entry in entries:
                stat = entry.stat(follow_symlinks=False)
                is_directory = entry.is_dir(follow_symlinks=False)
                size = 0 if is_directory else stat.st_size
                rows.append(f"{entry.path[len(str(tree)) :]}\0{size}\0{stat.st_mode:o}\n")
                if is_directory:
                    directories.append(entry.path)
    return hashlib.sha256("".join(sorted(rows)).encode(errors="surrogateescape")).hexdigest()


def export(tree: Path, output: Path) -> None:
    """Pack a tree for a machine without a mirror; the name's ending says how to compress."""
    partial = output.with_name(f".{os.getpid()}.{output.name}")
    try:
        run = subprocess.run(
            ["tar", "-C", tree, "--exclude=./dev/*", "--numeric-owner", "-caf", partial, "."],
            capture_output=True,
            text=True,
            check=False,
        )
        if run.returncode != 0:
            why = (run.stderr.strip().splitlines() or ["tar said nothing"])[0]
            raise Refused(
                f"{output} could not be written: {why}",
                hint="Name another file with --output.",
            )
        partial.replace(output)
    finally:
        partial.unlink(missing_ok=True)


def _suite(cache: Path, suite: str, lock: int, teller: Teller) -> Rootfs:
    place = _place(cache, suite)
    known = _manifest(place)
    usually = known.seconds if known else _USUALLY

    def fill(tree: Path) -> None:
        build(suite, tree, usually=usually, lock=lock, teller=teller)

    return replace(inspect(_kept(place, fill, suite=suite, teller=teller)), suite=suite)


def _unpacked(cache: Path, tarball: Path, teller: Teller) -> Path:
    """Unpack a file once: what was unpacked from the same bytes is used again."""
    try:
        with tarball.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise Invalid(
            f"The root file system {tarball} cannot be read: {error.strerror}.",
            hint="Name a directory, or a .tar, .tar.gz, .tar.xz or .tar.zst file.",
        ) from None
    place = cache / f"slurm-{content[:16]}"
    return _kept(place, lambda tree: unpack(tarball, tree), suite="", teller=teller)


def _kept(place: Path, fill: Callable[[Path], None], *, suite: str, teller: Teller) -> Path:
    """Return the tree in its place, filled first if it is not there or not whole."""
    if place.exists():
        known = _manifest(place)
        if known is not None and known.layout != _LAYOUT:
            teller.note(f"The Slurm kept in {place} was made by an older Clusterra; renewing it.")
        elif known is not None and digest_of(place) == known.digest:
            return place
        else:
            teller.trouble(f"The Slurm kept in {place} is damaged; making it again.")
    partial = place.with_name(f"{place.name}.partial-{os.getpid()}")
    begun = time.monotonic()
    try:
        fill(partial)
        _empty_dev(partial)
        rootfs = inspect(partial)
        manifest = Manifest(
            suite=suite,
            slurm=rootfs.slurm,
            megabytes=_megabytes(partial),
            seconds=time.monotonic() - begun,
            digest=digest_of(partial),
            layout=_LAYOUT,
        )
        _discard(place)
        partial.rename(place)
        write(_manifest_file(place), msgspec.json.encode(manifest))
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    teller.done(
        f"Slurm {manifest.slurm} (first time only)",
        manifest.seconds,
        f"{manifest.megabytes} MB kept in {place}",
    )
    return place


def _empty_dev(tree: Path) -> None:
    """Leave no device behind: the host's are mounted there, and a copy of /dev/zero has no end."""
    shutil.rmtree(tree / "dev", ignore_errors=True)
    (tree / "dev").mkdir(exist_ok=True)


def _discard(place: Path) -> None:
    """Remove a tree; moved away first, so that half of one never stands in its place."""
    if place.exists():
        aside = place.with_name(f"{place.name}.partial-{os.getpid()}-old")
        place.rename(aside)
        shutil.rmtree(aside, ignore_errors=True)


def _sweep(cache: Path) -> None:
    """Remove what interrupted builds have left. The cache is locked, so none is under way."""
    for left in cache.glob("slurm-*.partial-*"):
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)


@contextmanager
def _locked(cache: Path, teller: Teller) -> Iterator[int]:
    """Let one build at a time into the cache; the others wait for its result."""
    try:
        cache.mkdir(parents=True, exist_ok=True)
        lock = os.open(cache / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise Refused(
            f"The cache directory {cache} cannot be written: {error.strerror}.",
            hint="Keep it elsewhere: XDG_CACHE_HOME=/other/directory clusterra up",
        ) from None
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            teller.note("Another clusterra is building Slurm in the same cache; waiting for it.")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock
    finally:
        os.close(lock)


def _place(cache: Path, suite: str) -> Path:
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return cache / f"slurm-{suite}-{machine}"


def _manifest_file(place: Path) -> Path:
    return place.with_name(f"{place.name}.json")


def _manifest(place: Path) -> Manifest | None:
    try:
        return msgspec.json.decode(_manifest_file(place).read_bytes(), type=Manifest)
    except (OSError, msgspec.MsgspecError):
        return None


def _megabytes(tree: Path) -> int:
    blocks = sum(each.lstat().st_blocks for each in tree.rglob("*"))
    return blocks * 512 // 10**6


def _package_version(tree: Path, package: str) -> str | None:
    """Return the upstream version of an installed package: `26.05.5` of `26.05.5-1`."""
    try:
        status = (tree / "var/lib/dpkg/status").read_text()
    except OSError:
        return None
    found = re.search(rf"^Package: {package}\n(?:.+\n)*?Version: ([\d.]+)", status, re.MULTILINE)
    return found[1] if found else None


def _mend_mount_points(tree: Path) -> None:
    """Make the empty places that a cluster's own directories are mounted on, where they lack."""
    try:
        for name in MOUNT_POINTS:
            (tree / name).mkdir(parents=True, exist_ok=True)
        for name in MOUNT_FILES:
            (tree / name).touch() if not (tree / name).exists() else None
    except OSError as error:
        raise Refused(
            f"The root file system {tree} has no /{name}, and it cannot be made: {error.strerror}.",
            hint="Build one that has: clusterra rootfs --output FILE",
        ) from None
