"""Look into what hooks said, at once.

A hook is a reason to look, not a fact: the job is fetched from Slurm and what is
seen is told, as if it had been noticed without the hook, only sooner. What was
said leaves the inbox in the commit that tells what came of it. Only of a job that
neither the controller nor accounting knows is told what the hook said, as its word.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from clusterra.control.hear import Inbox
from clusterra.control.site import Site
from clusterra.core.change import Record
from clusterra.core.errors import Unreachable
from clusterra.core.events.derive import reflects
from clusterra.core.events.heard import Heard, as_told
from clusterra.core.jobs.job import Job
from clusterra.core.seen import Seen
from clusterra.ports import Clock, Store

SINGLY = 40
"""Most jobs fetched one by one in a round; a crowd is left to the next look at the whole queue."""

AT_ONCE = 100
PATIENCE = timedelta(minutes=2)
"""How long Slurm may see a job otherwise than a hook said before Slurm is believed."""

Words = Sequence[Record[Heard]]


@dataclass(slots=True, kw_only=True)
class Heeder:
    site: Site
    store: Store
    clock: Clock
    inbox: Inbox

    async def heed(self) -> bool:
        """Look once into everything that was said; say whether some of it is left."""
        said: defaultdict[int, list[Record[Heard]]] = defaultdict(list)
        for record in await self.inbox.pending():
            said[record.value.job_id].append(record)
        if not said or self.site.recorder.begins is None:
            return bool(said)
        left = await self._settle(said)
        unknown: set[int] = set()
        for id in sorted(left, reverse=True)[:SINGLY]:
            if not self.site.budget.take(self.clock.now()):
                break
            seen_at = self.clock.now()
            found = await self.site.slurm.job(id)
            if not any(job.id == id for job in found):
                unknown.add(id)
            await self._seen(id, found, said[id], seen_at)
            left.discard(id)
        await self._look_up(unknown, said)
        if left:
            self.site.wake()
        return bool(left)

    async def _settle(self, said: Mapping[int, Words]) -> set[int]:
        """Drop what has been seen to be so already; return the jobs still to be looked at."""
        known = await self.store.jobs_by_id(self.site.cluster.id, said.keys())
        done: list[Record[Heard]] = []
        left: set[int] = set()
        for id, words in said.items():
            settled = [word for word in words if self._is_settled(word.value, known.get(id))]
            done += settled
            if len(settled) < len(words):
                left.add(id)
        await self.site.recorder.record((), settled=done)
        return left

    async def _seen(self, id: int, found: Collection[Job], words: Words, seen_at: datetime) -> None:
        mine = next((job for job in found if job.id == id), None)
        settled = [word for word in words if self._is_settled(word.value, mine)]
        await self.site.recorder.record(found, seen_at=seen_at, settled=settled)

    def _is_settled(self, heard: Heard, job: Job | None) -> bool:
        if job is None:
            return False
        return reflects(job, heard.what, heard.restarts) or (
            self.clock.now() - heard.at > PATIENCE and self.site.sky.since is not None
        )

    async def _look_up(self, unknown: Collection[int], said: Mapping[int, Words]) -> None:
        """Ask accounting for jobs that the controller does not hold; tell of the rest as heard."""
        ids = sorted(unknown)
        for start in range(0, len(ids), AT_ONCE):
            some = ids[start : start + AT_ONCE]
            seen_at = self.clock.now()
            known = await self._accounted(some)
            for id in some:
                if id in known:
                    await self._seen(id, [known[id]], said[id], seen_at)
                else:
                    await self._tell_as_heard(said[id])

    async def _accounted(self, ids: Collection[int]) -> Mapping[int, Job]:
        info = self.site.sky.info
        if not isinstance(info, Seen):
            raise Unreachable("Slurm has not been seen yet.")
        if not info.value.accounting:
            return {}
        return {job.id: job for job in await self.site.slurm.accounted(ids)}

    async def _tell_as_heard(self, words: Words) -> None:
        drafts = [as_told(word.value, self.site.cluster.id) for word in words]
        told = sorted((draft for draft in drafts if draft), key=lambda draft: draft.at)
        await self.site.recorder.tell(told, drops=words)
