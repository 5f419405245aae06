"""Templates that lie in a directory, and where those that come with the program lie."""

from collections.abc import Iterator
from pathlib import Path

from clusterra.core.templates.read import SourceFile

SUFFIXES = (".yaml", ".yml")
MOST_FILES = 5_000
LARGEST = 1 << 20


def shipped() -> Path:
    """Return where our own are: in the package, or beside its source."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "catalog"
    return inside if inside.is_dir() else package.parents[1] / "catalog"


def template_files(directory: Path) -> Iterator[SourceFile]:
    """Yield every file below a directory that may be a template."""
    found = sorted(
        each for each in directory.rglob("*") if each.suffix in SUFFIXES and each.is_file()
    )
    for path in found[:MOST_FILES]:
        with path.open("rb") as file:
            # One byte too many is refused as too large by whoever reads it.
            raw = file.read(LARGEST + 1)
        yield SourceFile(name=str(path.relative_to(directory)), text=raw.decode("utf-8", "replace"))
