"""A line about a job where Slurm's own tools show it: its `admin_comment`.

slurmctld takes one while the job lives. After that only accounting does, and there the id of
an array means all of its tasks, so that a task is named by its label. What the line says is
not decided here.
"""

from collections.abc import Mapping
from contextlib import suppress

from clusterra.adapters.slurmrest.conversation import Conversation
from clusterra.adapters.slurmrest.decode import Envelope
from clusterra.adapters.slurmrest.errors import Act
from clusterra.core.errors import Conflict, Forbidden, NotFound, Refused
from clusterra.core.jobs.job import Job

LONGEST = 256
"""Characters. Slurm takes more, but its tools show them in a column."""

_UNCHANGED = 304
"""What accounting answers where it knows no such job."""


def one_line(text: str) -> str:
    """Return a text without what would move a cursor, and not longer than it may be."""
    return "".join(each if each.isprintable() else " " for each in text[:LONGEST])


async def stamp(slurm: Conversation, job: Job, text: str) -> bool:
    """Write the line, and say whether Slurm took it."""
    line = one_line(text)
    if not job.state.ended:
        with suppress(Conflict, NotFound):  # it has ended meanwhile
            return await _taken(slurm, f"/slurm/{{v}}/job/{job.id}", {"admin_comment": line}, job)
    dialect = await slurm.dialect()
    waiting_tasks = job.array_id is not None and job.array_task is None
    if waiting_tasks or not dialect.past_comments:
        return False
    comment = {"comment": {"administrator": line}}
    return await _taken(slurm, f"/slurmdb/{{v}}/job/{job.label}", comment, job)


async def _taken(slurm: Conversation, path: str, body: Mapping[str, object], job: Job) -> bool:
    reply = await slurm.act("POST", path, user=None, body=body)
    with suppress(Refused, Forbidden):  # as to a service that is no operator
        slurm.settled(reply, Envelope, Act.CHANGE, {"job": job.id})
        return reply.status != _UNCHANGED
    return False
