"""Open the database, and bring its tables up to date."""

import sqlite3
from importlib import resources
from pathlib import Path

from clusterra.core.errors import Refused


def connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
    db.execute("pragma journal_mode = wal")
    db.execute("pragma synchronous = full")
    # In KiB: the index that a search reads from end to end, for a hundred thousand jobs.
    db.execute("pragma cache_size = -16384")
    return db


def bring_up_to_date(db: sqlite3.Connection) -> None:
    """Apply the schema files that this database has not seen yet."""
    [version] = db.execute("pragma user_version").fetchone()
    folder = resources.files(__package__) / "schema"
    files = sorted(file.name for file in folder.iterdir() if file.name.endswith(".sql"))
    if version > len(files):
        raise Refused(
            f"The database has schema {version}; this version of Clusterra knows {len(files)}.",
            hint="It was written by a newer version: start that one, or choose another --state.",
        )
    for number, name in enumerate(files[version:], start=version + 1):
        script = (folder / name).read_text()
        db.executescript(f"begin; {script}; pragma user_version = {number}; commit;")
