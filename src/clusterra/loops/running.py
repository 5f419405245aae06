"""The loops that run: those of the server from its start to its end, those of a cluster for as
long as it is looked after."""

import asyncio

from clusterra.control.plane import Plane
from clusterra.control.site import Site
from clusterra.loops.lanes import Lanes
from clusterra.loops.loop import Loop
from clusterra.loops.table import server_loops, site_loops

_SERVER = ""

LOOK_SECONDS = 30
"""Between two looks for deliveries that nobody told us of."""


class Running:
    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._tasks: dict[str, list[asyncio.Task[None]]] = {}
        self._lanes = Lanes(plane.webhooks)

    def start(self) -> None:
        """Start all there are, and from now on those of every cluster that is added."""
        self._start(_SERVER, [*server_loops(self._plane), self._lanes_loop()])
        for site in self._plane.sites.values():
            self._begin(site)
        self._plane.begin, self._plane.end = self._begin, self._end

    async def stop(self) -> None:
        """End all of them, and return when nothing runs any more."""
        for tasks in self._tasks.values():
            for task in tasks:
                task.cancel()
        for cluster in list(self._tasks):
            await self._end(cluster)
        await self._lanes.stop()

    def _lanes_loop(self) -> Loop:
        return Loop(name="deliver", round=self._lanes.look, every=LOOK_SECONDS, idle=LOOK_SECONDS)

    def _begin(self, site: Site) -> None:
        self._start(site.cluster.id, site_loops(self._plane, site))

    def _start(self, whose: str, loops: list[Loop]) -> None:
        self._tasks[whose] = [asyncio.create_task(loop.run(), name=loop.name) for loop in loops]

    async def _end(self, whose: str) -> None:
        tasks = self._tasks.pop(whose, [])
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
