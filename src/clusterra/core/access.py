"""Who may do what to what."""

from dataclasses import dataclass

from clusterra.core.errors import Forbidden
from clusterra.core.jobs.job import Job


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Whoever makes a request, once we know who it is."""

    user: str
    """The Linux user in whose name they act."""

    admin: bool = False


def check_may_change(caller: Caller, job: Job) -> None:
    """Raise Forbidden unless the caller may cancel, hold or edit this job."""
    if not caller.admin and caller.user != job.user:
        raise Forbidden(
            f"Job {job.label} belongs to {job.user}; you are {caller.user}.",
            hint=f"Ask {job.user} or an admin to do it.",
            code="foreign-job",
        )
