"""The time zone of this machine, by its name: where its owner's days and months begin."""

from collections.abc import Mapping
from pathlib import Path
from zoneinfo import ZoneInfo

_LOCALTIME = Path("/etc/localtime")
_ZONES = "zoneinfo/"


def local_zone(environ: Mapping[str, str], localtime: Path = _LOCALTIME) -> str:
    """Return `Europe/Berlin`; UTC where the machine's zone has no name."""
    said = environ.get("TZ", "").removeprefix(":")
    named = said or str(localtime.resolve())
    name = named.partition(_ZONES)[2] or (said if not named.startswith("/") else "")
    # Debian links to zoneinfo/posix/… and zoneinfo/right/… as well; those are no names.
    for prefix in ("posix/", "right/"):
        name = name.removeprefix(prefix)
    try:
        return ZoneInfo(name).key if name else "UTC"
    except (KeyError, ValueError, OSError):
        return "UTC"
