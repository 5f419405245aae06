"""What differs between the API versions we speak.

Almost nothing that we use has changed; each version's file states its step and
nothing else. Fields that came or went are the decoder's business: it takes what is there.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    version: str
    """The data parser's version, as it stands in the path."""

    boot_time: bool = False
    """`/conf` says when slurmctld started."""

    requeue: bool = False
    """`/job/{id}/requeue` exists."""

    past_comments: bool = False
    """`/slurmdb/…/job/{id}` takes a comment on a job that has ended."""
