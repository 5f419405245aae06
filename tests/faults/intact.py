"""Hold a ledger to its promises, after whatever happened to it."""

import json
from pathlib import Path

from clusterra.adapters.archive_local import LocalArchive
from clusterra.adapters.clock import SystemClock
from clusterra.adapters.ledger_key import open_key
from clusterra.adapters.sqlite.store import SqliteStore
from clusterra.control.checkpoint import Checkpointer
from clusterra.control.export import export
from clusterra.core.events.reading import Verdict
from clusterra.core.events.verify import Memory, verify
from clusterra.ports import Clock


async def ids_of(state: Path, cluster: str, clock: Clock | None = None) -> list[str]:
    """Prove that the ledger is intact, and return the ids of all its events."""
    ids: list[str] = []
    chain = bytes(32).hex().encode()
    for lines in await _lines_of(state, cluster, clock or SystemClock()):
        report = verify(lines, memory=Memory(key=None))
        assert report.verdict is Verdict.INTACT, report.findings
        assert report.first == len(ids) + 1
        assert json.loads(lines[0])["chain"].encode() == chain
        events = [line for line in lines if not line.startswith(b"{")]
        ids += [json.loads(line[65:])["id"] for line in events]
        chain = events[-1][:64] if events else chain
    assert len(set(ids)) == len(ids)
    return ids


async def _lines_of(state: Path, cluster: str, clock: Clock) -> list[list[bytes]]:
    """Open what a death left behind as the next start would, and return all of the ledger."""
    archive = LocalArchive(state / "ledger")
    store = SqliteStore(state / "clusterra.db", clock=clock)
    try:
        ledger = Checkpointer(
            cluster=cluster,
            store=store,
            archive=archive,
            signer=open_key(state / "ledger.key"),
            clock=clock,
        )
        await ledger.open()
        assert ledger.why_held == ""
        await ledger.sign()
        cut = (await store.cut(cluster)).size
        parts = [
            b"".join([part async for part in archive.segment(cluster, first)])
            for first in await archive.segments(cluster)
            if first <= cut  # one that begins later was not finished, and will be replaced
        ]
        rest = await export(
            cluster, signed=ledger.signed, key=ledger.key, store=store, archive=archive
        )
        parts.append(b"".join([part async for part in rest]))
        return [part.removesuffix(b"\n").split(b"\n") for part in parts]
    finally:
        store.close()
