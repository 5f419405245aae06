"""Stop a cluster, or a server, from outside: ask its supervisor and wait until nothing is left."""

import os
import signal
import time
from contextlib import suppress

from clusterra.core.errors import Unreachable
from clusterra.local.running import running
from clusterra.local.state import State, is_locked

PATIENCE = 90
"""Six stages may each take 15 s in the worst case."""


def stop(state: State) -> float | None:
    """Return how many seconds it took until no process was left; None if there was none."""
    begun = time.monotonic()
    up = running(state)
    if up is None and not is_locked(state):
        return None
    asked = False
    while is_locked(state) or (up is not None and up.supervisor.alive):
        # One that is still starting has not said yet who it is; it is asked when it has.
        up = up or running(state)
        if up is not None and not asked and up.supervisor.alive:
            with suppress(ProcessLookupError):
                os.kill(up.pid, signal.SIGTERM)
            asked = True
        if time.monotonic() - begun > PATIENCE:
            raise Unreachable(
                f"The cluster in {state.path} was asked to stop and is still there after "
                f"{PATIENCE} s.",
                hint=f"See what it waits for in {state.up_log}"
                + (f"\nEnd it at once with: kill -9 {up.pid}" if up else ""),
            )
        time.sleep(0.02)
    state.run.unlink(missing_ok=True)
    return time.monotonic() - begun
