"""One job per id: accounting lists earlier runs beside the last, and ids start over some day."""

from collections.abc import Iterable

from clusterra.core.jobs.job import Job


class Newest:
    """Which submission of each id is the newest seen so far."""

    def __init__(self) -> None:
        self._seen: dict[int, tuple[float, int]] = {}

    def is_news(self, job: Job) -> bool:
        """Say whether `job` is newer than what was seen under its id, and remember it if so."""
        age = job.submitted_at.timestamp(), job.restarts
        known = self._seen.get(job.id)
        if known is not None and age <= known:
            return False
        self._seen[job.id] = age
        return True


def newest(jobs: Iterable[Job]) -> list[Job]:
    """Keep the newest submission of each id."""
    kept: dict[int, Job] = {}
    seen = Newest()
    for job in jobs:
        if seen.is_news(job):
            kept[job.id] = job
    return list(kept.values())
