"""A control plane that delivers: real store, real loops, real sender, and no door.

    python -m bench.office --state DIR URL...

Each URL is an endpoint that hears of jobs that start. What would be observed is replaced by
events that the parent asks for, a line of JSON on the input each time:

    {"number": 500, "every": 0.02}    an event at a time, so many seconds apart
    {"number": 10000, "every": 0}     all of them in one commit, as when an array starts

The answer is a line too: when each event was about to be committed, by its id, and how much
processor time the process has used so far. Ends with its input.
"""

import argparse
import asyncio
import gc
import json
import logging
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import structlog
import uvloop

from bench.talk import CLUSTER, TOKEN, a_start
from clusterra.control.people.doing import Doer
from clusterra.control.plane import Plane
from clusterra.core.access import Role
from clusterra.core.change import Change
from clusterra.core.events.interest import Interest
from clusterra.core.webhooks.endpoint import Endpoint
from clusterra.core.webhooks.wish import Wish
from clusterra.loops.running import Running
from clusterra.serve import TURN
from clusterra.settings import ClusterSettings, ServerSettings, Settings
from clusterra.wiring import assembled

STARTS = Interest(types=("job.started",))


async def work(state: Path, urls: list[str]) -> None:
    (state / "token").write_text(TOKEN)
    nowhere = ClusterSettings(id=CLUSTER, slurm="", jwt_key=state / "none")
    settings = Settings(server=ServerSettings(port=0, state=state), clusters=(nowhere,))
    async with assembled(settings) as plane:
        running = Running(plane)
        running.start()
        await add_endpoints(plane, urls)
        gc.freeze()  # as the real server does
        _say({})
        try:
            while line := await asyncio.to_thread(sys.stdin.readline):
                asked = json.loads(line)
                committed = await _happen(plane, asked["number"], asked["every"])
                _say({"committed": committed, "cpu": time.process_time()})
        finally:
            await running.stop()


async def add_endpoints(plane: Plane, urls: Sequence[str]) -> list[Endpoint]:
    """Have each URL told of jobs that start."""
    by = Doer(actor="system:bench", role=Role.OWNER)
    made = []
    for number, url in enumerate(urls):
        wish = Wish(url=url, name=f"to {number}", interest=STARTS, allow_private=True)
        endpoint, _ = await plane.webhooks.endpoints.make(
            wish, plane.people.home, plane.people.operator, by=by, runs_the_server=True
        )
        made.append(endpoint)
    return made


async def _happen(plane: Plane, number: int, every: float) -> dict[str, float]:
    drafts = [a_start(each) for each in range(1, number + 1)]
    if not every:
        at = time.monotonic()
        await plane.store.commit(CLUSTER, Change(events=drafts))
        return {draft.id: at for draft in drafts}
    begin, committed = time.monotonic(), {}
    for place, draft in enumerate(drafts):
        await asyncio.sleep(max(0.0, begin + place * every - time.monotonic()))
        committed[draft.id] = time.monotonic()
        await plane.store.commit(CLUSTER, Change(events=[draft]))
    return committed


def _say(what: object) -> None:
    print(json.dumps(what), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.office")
    parser.add_argument("urls", nargs="+")
    parser.add_argument("--state", type=Path, required=True)
    asked = parser.parse_args()
    structlog.configure(
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR),
    )
    sys.setswitchinterval(TURN)  # as the real server does
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(work(asked.state, asked.urls))


if __name__ == "__main__":
    main()
