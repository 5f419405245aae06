"""Work on a ledger and die at a named moment: `python -m tests.faults.dying`.

Nothing in the product knows of this. The moments are found from outside: SQLite tells which
statement it is about to run, Python's audit hooks which file is about to be opened or
renamed, and the event loop when an answer is about to be given.

Reads one JSON object per line, forks, works and dies in the child, and prints how it ended.
"""

import asyncio
import json
import os
import signal
import sqlite3
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from clusterra.adapters.archive_local import LocalArchive
from clusterra.adapters.clock import SystemClock
from clusterra.adapters.ledger_key import open_key
from clusterra.adapters.sqlite.store import SqliteStore
from clusterra.control.checkpoint import Checkpointer
from clusterra.control.seal import seal
from clusterra.core.change import Change
from tests.ledger import LAB, a_draft

ROUNDS = 6
LANES = 4
SEGMENT = 8

STATEMENTS = {
    "before a batch": "begin immediate",
    "before an id is written": "insert into event_id",
    "in the middle of a batch": "insert into event values",
    "before the head is written": "insert into ledger",
    "before the commit": "commit",
    "before a checkpoint is recorded": "insert into record values ('checkpoint'",
    "before a segment is recorded": "insert into record values ('segment'",
    "before a ledger is cut": "update ledger set sealed",
    "before sealed rows go": "delete from event",
    "while tables are made": "create table event",
}
FILES = {
    "before a checkpoint is archived": ("open", "/checkpoints", "a"),
    "before a segment is written": ("open", ".part", "w"),
    "before a segment gets its name": ("os.rename", ".part", ""),
    "before the key gets its name": ("os.rename", ".ledger.key.new", ""),
}
ANSWER = "after the commit, before the answer"
POINTS = (*STATEMENTS, *FILES, ANSWER)
FIRST = ("while tables are made", "before the key gets its name")
"""What happens only where nothing was before."""


@dataclass(slots=True, kw_only=True)
class Death:
    """Comes the n-th time that a moment passes."""

    point: str
    nth: int

    def passes(self) -> None:
        self.nth -= 1
        if self.nth == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def arrange(self) -> None:
        if self.point in STATEMENTS:
            connect: Callable[..., sqlite3.Connection] = sqlite3.connect

            def traced(*args: Any, **more: Any) -> sqlite3.Connection:
                made = connect(*args, **more)
                made.set_trace_callback(self._statement)
                return made

            vars(sqlite3)["connect"] = traced
        elif self.point in FILES:
            sys.addaudithook(self._audit)

    def _statement(self, text: str) -> None:
        if text.lower().strip().startswith(STATEMENTS[self.point]):
            self.passes()

    def _audit(self, event: str, args: Any) -> None:
        wanted, end, mode = FILES[self.point]
        if event == wanted and str(args[0]).endswith(end) and mode in str(args[1]):
            self.passes()

    def on_answers(self, loop: asyncio.AbstractEventLoop) -> None:
        """Writers hand over what they have done by this call, after the commit."""
        if self.point != ANSWER:
            return
        hand_over: Callable[..., Any] = loop.call_soon_threadsafe

        def dying(callback: Callable[..., Any], *args: Any, **more: Any) -> Any:
            if getattr(callback, "__name__", "") == "_settle":
                self.passes()
            return hand_over(callback, *args, **more)

        vars(loop)["call_soon_threadsafe"] = dying


async def work(state: Path, told: int, death: Death) -> None:
    """Append, sign and seal; write the ids of what was acknowledged to `told`."""
    death.on_answers(asyncio.get_running_loop())
    clock, archive = SystemClock(), LocalArchive(state / "ledger")
    signer = open_key(state / "ledger.key")
    store = SqliteStore(state / "clusterra.db", clock=clock)
    ledger = Checkpointer(cluster=LAB, store=store, archive=archive, signer=signer, clock=clock)
    await ledger.open()
    if ledger.why_held:
        os.write(told, f"held {ledger.why_held}\n".encode())
        return

    async def append(first: int) -> None:
        # Some of them were told before, by another lane or before a death.
        drafts = [a_draft(n) for n in range(first - 2, first + 3)]
        await store.commit(LAB, Change(events=drafts))
        os.write(told, "".join(f"{draft.id}\n" for draft in drafts).encode())

    for _ in range(ROUNDS):
        head = (await store.head(LAB)).size
        await asyncio.gather(*(append(head + 2 * lane) for lane in range(LANES)))
        await ledger.sign()
        await seal(
            LAB,
            keep=timedelta(0),
            most=SEGMENT,
            key=ledger.key,
            store=store,
            archive=archive,
            clock=clock,
        )
    store.close()


def live(state: Path, point: str, nth: int) -> None:
    death = Death(point=point, nth=nth)
    death.arrange()
    told = os.open(state / "acknowledged", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    asyncio.run(work(state, told, death))


def main() -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        child = os.fork()
        if child == 0:
            try:
                live(Path(asked["state"]), asked["point"], asked["nth"])
            except Exception:  # noqa: BLE001 - the child ends here, whatever it was
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
