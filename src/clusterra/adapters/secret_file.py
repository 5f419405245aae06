"""A secret in a file that only we can read: made once, whole, and then kept."""

import os
from collections.abc import Callable
from pathlib import Path


def secret_in(path: Path, make: Callable[[], bytes]) -> bytes:
    """Return what the file holds; if there is none, make it first. Raises OSError."""
    if not path.exists():
        beside = path.with_name(f".{path.name}.new")
        beside.unlink(missing_ok=True)
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(make())
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    return path.read_bytes()
