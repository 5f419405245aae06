"""Keys of Slurms that were added, each in a file that only the server reads."""

from pathlib import Path

from clusterra.adapters.secret_file import secret_in
from clusterra.core.errors import Refused


class LocalJwtKeys:
    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def path(self, cluster: str) -> Path:
        return self._directory / f"{cluster}.jwt.key"

    def keep(self, cluster: str, key: bytes) -> None:
        path = self.path(cluster)
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            secret_in(path, lambda: key)
        except OSError as error:
            raise Refused(
                f"Slurm's key cannot be kept in {path}: {error.strerror}.",
                hint="Mend the permissions of the server's state directory.",
            ) from None

    def forget(self, cluster: str) -> None:
        self.path(cluster).unlink(missing_ok=True)
