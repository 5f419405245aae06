"""Where workers of this machine run, as whoever prepared the place wrote it down."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from clusterra.core.errors import Invalid


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    directory: Path
    """What is known of each worker. Outlives us as the workers do."""

    logs: Path | None = None
    """Where what slurmd prints goes; the same directory if left out."""

    first_port: int
    """Workers listen on this port and those after it."""

    launch: tuple[str, ...] = ()
    """What precedes `slurmd`: a command that enters the root file system, say."""

    env: Mapping[str, str] = field(default_factory=dict)
    """All that slurmd finds in its environment; the programs are looked for on its PATH."""

    conf: str = "/etc/slurm/slurm-node.conf"
    """slurmd's configuration, as seen from where it runs."""


def read_place(file: Path) -> Place:
    try:
        return msgspec.json.decode(file.read_bytes(), type=Place, dec_hook=_path)
    except OSError as error:
        raise Invalid(
            f"The place of the workers, {file}, cannot be read: {error.strerror}.",
            hint="Name the right file with --local.",
        ) from None
    except msgspec.MsgspecError as error:
        raise Invalid(
            f"{file} does not describe a place for workers: {error}.",
            hint='It is JSON such as {"directory": "/var/lib/workers", "first_port": 27000,'
            ' "launch": ["chroot", "/srv/slurm"], "env": {"PATH": "/usr/sbin:/usr/bin"}}.',
        ) from None


def _path(_: type, written: object) -> Path:
    if not isinstance(written, str):
        raise TypeError("a path is written as text")
    return Path(written)
