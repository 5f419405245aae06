"""People, the workspaces they are in, and what they are there."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from clusterra.core.access import OthersJobs, Role
from clusterra.core.change import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Somebody at an identity provider."""

    issuer: str
    subject: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    id: str
    """`usr_…`"""

    email: str
    login: str
    """Their Linux user, wherever their jobs run."""

    uid: int
    created_at: datetime
    name: str = ""
    identity: Identity | None = None
    """Who they are at the provider since they first signed in there. Whoever comes with the
    same e-mail and is somebody else there, is somebody else."""

    preferences: Mapping[str, str] = field(default_factory=dict)

    @property
    def actor(self) -> str:
        return f"user:{self.email}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """A tenant: people, and the clusters that are theirs."""

    id: str
    """Short, in URLs; also the Slurm account of its people."""

    name: str
    others_jobs: OthersJobs = OthersJobs.DETAILS


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    workspace: str
    person: str
    role: Role
    since: datetime
    by: str = ""
    """Who gave it: an e-mail, or the rule that did (`domain lab.example`, `group hpc-admins`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """A name or number that belongs to one person for ever."""

    person: str


PERSON: Kind[Person] = Kind("person", Person)
WORKSPACE: Kind[Workspace] = Kind("workspace", Workspace)
MEMBERSHIP: Kind[Membership] = Kind("membership", Membership)
"""By `workspace/person`."""

EMAIL: Kind[Claimed] = Kind("email", Claimed)
LOGIN: Kind[Claimed] = Kind("login", Claimed)
LAST_UID: Kind[int] = Kind("last-uid", int)
"""One record, `people`: the last number given."""


def ledger_of(workspace: str) -> str:
    """Return the name of the ledger of a workspace's people; no cluster's can be the same."""
    return f"workspaces/{workspace}"


def workspace_of(ledger: str) -> str:
    """Return whose ledger it is, of one that is no cluster's."""
    return ledger.removeprefix(ledger_of(""))


def membership_id(workspace: str, person: str) -> str:
    return f"{workspace}/{person}"
