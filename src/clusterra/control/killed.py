"""Tell a job that was killed for its memory from one that merely failed.

Where Slurm limits memory without cgroups it kills the job and calls it FAILED; the
reason stands only in what the job wrote. That line is looked for and nothing of it
is kept.
"""

import asyncio
from dataclasses import replace

from clusterra.core.errors import Refused, Unreachable
from clusterra.core.jobs.job import Job, JobState
from clusterra.ports import Logs

KILLED = 9
SAID = b"exceeded memory limit"
LAST_WORDS = 4096

PATIENCE = 3.0
"""Seconds: what is observed of other jobs waits for this."""


async def told_apart(job: Job, old: Job | None, logs: Logs) -> Job:
    """Return the job, OUT_OF_MEMORY if that is how it failed."""
    if job.state is not JobState.FAILED or job.signal != KILLED:
        return job
    if old is not None and old.state.ended:
        killed = old.state is JobState.OUT_OF_MEMORY
    else:
        killed = SAID in await _last_words(job, logs)
    return replace(job, state=JobState.OUT_OF_MEMORY) if killed else job


async def _last_words(job: Job, logs: Logs) -> bytes:
    try:
        async with asyncio.timeout(PATIENCE):
            output = await logs.read(job, stream="stderr", tail=LAST_WORDS)
    except (Refused, Unreachable, TimeoutError):
        return b""  # its output is out of our reach
    return output.data if output else b""
