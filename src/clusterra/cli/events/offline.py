"""A ledger read from its database, without a server: for when there is none to ask.

The only command that opens the database itself. It writes nothing there.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from clusterra.adapters.archive_local import LocalArchive
from clusterra.adapters.ledger_key import open_key
from clusterra.adapters.sqlite.store import SqliteStore
from clusterra.cli.session import Session
from clusterra.client.find import default_state
from clusterra.control.export import export
from clusterra.core.errors import Invalid, NotFound
from clusterra.core.events.checkpoint import Key, origin_of
from clusterra.settings import load


def export_offline(session: Session) -> Iterator[bytes]:
    """Yield the lines of the ledger in the state directory that the session means."""
    state = session.state or default_state(session.environ)
    if not (state / "clusterra.db").exists():
        raise NotFound(
            f"There is no database in {state}.", hint="Name the state directory with --state."
        )
    settings = load(_settings_file(state), os.environ).ledger
    archive = settings.archive or state / "ledger"
    cluster = session.cluster or session.environ.get("CLUSTERRA_CLUSTER") or _only_one(archive)
    key = open_key(settings.key or state / "ledger.key")
    named = Key(name=origin_of(cluster), public=key.public)
    with asyncio.Runner() as runner:
        store = SqliteStore(state / "clusterra.db")
        try:
            lines = runner.run(
                export(cluster, key=named, store=store, archive=LocalArchive(archive))
            )
            while part := runner.run(_next(lines)):
                yield from part.removesuffix(b"\n").split(b"\n")
        finally:
            store.close()


async def _next(lines: AsyncIterator[bytes]) -> bytes:
    return await anext(lines, b"")


def _settings_file(state: Path) -> Path | None:
    file = state / "clusterra.toml"
    return file if file.exists() else None


def _only_one(archive: Path) -> str:
    found = sorted(path.name for path in archive.glob("*") if path.is_dir())
    if len(found) != 1:
        raise Invalid(
            f"There are {len(found)} ledgers in {archive}"
            + (f": {', '.join(found)}." if found else "."),
            hint="Say which cluster with --cluster.",
        )
    return found[0]
