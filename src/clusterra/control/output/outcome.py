"""Whether a job that is followed is over.

Asked of the store, and only when the ledger has said something of the job: Slurm is not asked for
whoever reads.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import structlog

from clusterra.control.find import known_job
from clusterra.control.follow import Hub, Reader
from clusterra.control.site import Site
from clusterra.core.events.event import EventQuery
from clusterra.core.jobs.job import Job, JobState
from clusterra.ports import Store

log = structlog.get_logger()

SETTLING = 30.0
"""Seconds that the processes of an ended job may take to end, and go on writing."""

LOOK = 0.5
"""Seconds between two looks at a job that is ending: no event says that its processes have gone."""


AFTER_FAILURE = 2.0


class Outcome:
    def __init__(
        self,
        site: Site,
        label: str,
        job: Job,
        *,
        store: Store,
        hub: Hub,
        told: Callable[[], None],
    ) -> None:
        """Call `told` whenever something was heard of the job."""
        self.job = job
        self._site = site
        self._label = label
        self._store = store
        self._hub = hub
        self._told = told
        self._ended_at: float | None = None
        self._is_past = False
        """Slurm has given its id to another job."""
        self._note(job)
        self._task = asyncio.create_task(self._run(), name=f"outcome {label}")

    @property
    def is_over(self) -> bool:
        """Nothing more is written by it, unless it is made to run again."""
        if self._ended_at is None or self._is_past:
            return self._is_past
        settled = asyncio.get_running_loop().time() - self._ended_at > SETTLING
        return settled or "COMPLETING" not in self.job.flags

    def close(self) -> None:
        self._task.cancel()

    async def _run(self) -> None:
        while True:
            try:
                await self._watch()
            except Exception:
                log.exception("output.job_not_seen", job=self._label)
                await asyncio.sleep(AFTER_FAILURE)
            else:
                return

    async def _watch(self) -> None:
        """Note what becomes of the job, until the server stops."""
        waits_in_array = self.job.array_id is not None and self.job.array_task is None
        query = EventQuery(
            subject="" if waits_in_array else f"job/{self.job.id}",
            types=("job.*",),
        )
        reader = await self._hub.follow(self._site.cluster.id, query, None, after=None)
        try:
            await self._look()
            while not reader.closed:
                if await reader.read() or self._is_ending():
                    await self._look()
                await self._news(reader)
        finally:
            reader.leave()

    async def _news(self, reader: Reader) -> None:
        if (news := reader.news()) is None:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK if self._is_ending() else None):
                await news

    async def _look(self) -> None:
        found = await known_job(self._site, self._label, store=self._store)
        if found is not None and _is_still(self.job, found):
            self._note(found)
        elif found is not None:
            self._is_past = True
            if not self.job.state.ended:
                self.job = replace(self.job, state=JobState.LOST)
        self._told()

    def _note(self, job: Job) -> None:
        self.job = job
        if not job.state.ended:
            self._ended_at = None
        elif self._ended_at is None:
            self._ended_at = asyncio.get_running_loop().time()

    def _is_ending(self) -> bool:
        return self._ended_at is not None and not self.is_over


def _is_still(job: Job, found: Job) -> bool:
    """Say whether this is the job that is followed, or the task that its array's entry stood for.

    Ids start over some day: whoever may read one job's output may not read that of the next to
    have its number.
    """
    from_array = job.array_task is None and job.array_id is not None
    return job.user == found.user and (
        job.key == found.key or (from_array and job.array_id == found.array_id)
    )
