"""Job output of a cluster whose files this process cannot see."""

from clusterra.core.errors import Refused
from clusterra.core.jobs.job import Job
from clusterra.ports import Output


class RemoteLogs:
    async def read(
        self, job: Job, *, stream: str = "stdout", tail: int | None = None, start: int = 0
    ) -> Output | None:
        del stream, tail, start
        raise Refused(
            f"The output of job {job.label} lies on its cluster, in {job.stdout or 'a file'}.",
            hint="Read it there: this server has no access to that cluster's files.",
            code="output-elsewhere",
        )
