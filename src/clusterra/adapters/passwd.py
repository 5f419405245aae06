"""The Linux users of an embedded cluster, as its own passwd file has them."""

from pathlib import Path


def uid_of(root: Path, user: str) -> int | None:
    """Return the number of a user of the cluster whose file system begins at `root`."""
    for line in (root / "etc/passwd").read_text().splitlines():
        name, _, rest = line.partition(":")
        if name == user:
            return int(rest.split(":")[1])
    return None
