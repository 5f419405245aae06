"""Who may do what to what: one table, and the questions that are put to it.

A deed is something that can be done through us. Every route is one (`api/rights.py`
says which), so whoever reads TABLE has read what each role can and cannot do. What a
role may do, a token may do as far as its scopes reach, and never more.

A workspace that somebody is not in does not exist for them: that is asked before
this table is, and answered NotFound.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from clusterra.core.errors import Forbidden
from clusterra.core.jobs.job import Job


class Role(StrEnum):
    """What somebody is in a workspace; each may do all that those before it may."""

    VIEWER = "viewer"
    MEMBER = "member"
    ADMIN = "admin"
    OWNER = "owner"

    @property
    def rank(self) -> int:
        return list(Role).index(self)


class Who(StrEnum):
    """Who may do a deed that hangs on no role."""

    ANYBODY = "anybody"
    SOMEBODY = "anybody who is signed in"
    OPERATOR = "whoever runs the server"
    MACHINE = "the cluster itself, by its key"
    HOLDER = "whoever has the link"


class Scope(StrEnum):
    """What a token can be limited to."""

    READ = "read"
    """See clusters, jobs, events, people; change nothing."""

    JOBS = "jobs"
    """Submit jobs and change them; put and delete files."""

    ADMIN = "admin"
    """People, keys, settings, the whole ledger; as far as the person may."""

    SELF = "self"
    """One's own profile, tokens and sessions."""


class Deed(StrEnum):
    PASS = "come in at all"  # noqa: S105 - no password
    REPORT = "tell what happened on a cluster"
    SEE_METRICS = "read the server's metrics"
    KNOW_ONESELF = "see who one is and where"
    BE_ONESELF = "change one's own profile"
    KEEP_TOKENS = "handle one's own tokens and sessions"
    LET_IN = "let a terminal in"
    SEE_CLUSTERS = "see which clusters one has"
    SEE_CLUSTER = "see a cluster"
    SEE_JOBS = "see jobs"
    READ_OUTPUT = "read what a job wrote"
    SUBMIT = "submit jobs"
    CHANGE_JOBS = "change jobs"
    SEE_EVENTS = "see what happened"
    SEE_USAGE = "see what was spent"
    ADD_UP_USAGE = "see what was spent wherever one is"
    TAKE_LEDGER = "take the whole ledger away"
    SEE_AUDIT = "see who did what"
    SEE_PEOPLE = "see who is in a workspace"
    MANAGE_PEOPLE = "invite people, change their roles, remove them"
    LEAVE = "leave a workspace"
    SET_UP = "change a workspace's settings"
    KEEP_KEYS = "handle a cluster's keys"
    ADD_CLUSTER = "ask for a cluster to be added"
    KEEP_CLUSTERS = "add and remove clusters"
    SET_POLICY = "set how a fleet may grow and shrink"
    SEE_QUOTAS = "see what one may spend"
    SET_QUOTA = "set what people may spend"
    SET_PRICES = "say what machines cost"
    LOOK_FOR_WEBHOOKS = "ask for one's webhooks and automations"
    ASK_FOR_WEBHOOKS = "ask for webhooks and automations to be changed"
    SEE_WEBHOOKS = "see one's webhooks and automations"
    KEEP_WEBHOOKS = "have webhooks and automations"
    LOOK_FOR_TEMPLATES = "ask for templates"
    ASK_FOR_TEMPLATES = "ask for templates to be changed"
    SEE_TEMPLATES = "see templates"
    KEEP_TEMPLATES = "import and remove templates"
    SEE_FILES = "see and get files"
    CHANGE_FILES = "put, move and delete files"
    SET_RETENTION = "set how long files stay"
    USE_LINK = "use a link to a file"


EVERYBODY = frozenset(Role)
WORKING = frozenset({Role.MEMBER, Role.ADMIN, Role.OWNER})
RUNNING = frozenset({Role.ADMIN, Role.OWNER})


@dataclass(frozen=True, slots=True)
class Right:
    who: frozenset[Role] | Who
    scope: Scope = Scope.READ


TABLE: Mapping[Deed, Right] = {
    Deed.PASS: Right(Who.ANYBODY),
    Deed.REPORT: Right(Who.MACHINE),
    Deed.SEE_METRICS: Right(Who.OPERATOR),
    Deed.KNOW_ONESELF: Right(Who.SOMEBODY),
    Deed.BE_ONESELF: Right(Who.SOMEBODY, Scope.SELF),
    Deed.KEEP_TOKENS: Right(Who.SOMEBODY, Scope.SELF),
    Deed.LET_IN: Right(Who.SOMEBODY, Scope.SELF),
    Deed.SEE_CLUSTERS: Right(Who.SOMEBODY),
    Deed.SEE_CLUSTER: Right(EVERYBODY),
    Deed.SEE_JOBS: Right(EVERYBODY),
    Deed.READ_OUTPUT: Right(WORKING),
    Deed.SUBMIT: Right(WORKING, Scope.JOBS),
    Deed.CHANGE_JOBS: Right(WORKING, Scope.JOBS),
    Deed.SEE_EVENTS: Right(EVERYBODY),
    Deed.SEE_USAGE: Right(EVERYBODY),
    # Of each workspace that one is in, SEE_USAGE is asked.
    Deed.ADD_UP_USAGE: Right(Who.SOMEBODY),
    Deed.TAKE_LEDGER: Right(RUNNING, Scope.ADMIN),
    Deed.SEE_AUDIT: Right(Who.SOMEBODY),
    Deed.SEE_PEOPLE: Right(EVERYBODY),
    Deed.MANAGE_PEOPLE: Right(RUNNING, Scope.ADMIN),
    Deed.LEAVE: Right(EVERYBODY, Scope.SELF),
    Deed.SET_UP: Right(RUNNING, Scope.ADMIN),
    Deed.KEEP_KEYS: Right(RUNNING, Scope.ADMIN),
    # Which workspace it is for stands in the request; there, KEEP_CLUSTERS is asked.
    Deed.ADD_CLUSTER: Right(Who.SOMEBODY, Scope.ADMIN),
    Deed.KEEP_CLUSTERS: Right(RUNNING, Scope.ADMIN),
    Deed.SET_POLICY: Right(RUNNING, Scope.ADMIN),
    Deed.SEE_QUOTAS: Right(EVERYBODY),
    Deed.SET_QUOTA: Right(RUNNING, Scope.ADMIN),
    Deed.SET_PRICES: Right(RUNNING, Scope.ADMIN),
    # Whose they are stands in the request or in the thing itself; there, the second two are asked.
    Deed.LOOK_FOR_WEBHOOKS: Right(Who.SOMEBODY),
    Deed.ASK_FOR_WEBHOOKS: Right(Who.SOMEBODY, Scope.ADMIN),
    Deed.SEE_WEBHOOKS: Right(EVERYBODY),
    Deed.KEEP_WEBHOOKS: Right(WORKING, Scope.ADMIN),
    # The same: of each workspace that is meant, the second two are asked.
    Deed.LOOK_FOR_TEMPLATES: Right(Who.SOMEBODY),
    Deed.ASK_FOR_TEMPLATES: Right(Who.SOMEBODY, Scope.ADMIN),
    Deed.SEE_TEMPLATES: Right(EVERYBODY),
    Deed.KEEP_TEMPLATES: Right(RUNNING, Scope.ADMIN),
    # One's own, and what is shared; a link to put something is asked for as CHANGE_FILES.
    Deed.SEE_FILES: Right(WORKING),
    Deed.CHANGE_FILES: Right(WORKING, Scope.JOBS),
    Deed.SET_RETENTION: Right(RUNNING, Scope.ADMIN),
    Deed.USE_LINK: Right(Who.HOLDER),
}


class OthersJobs(StrEnum):
    """What members of a workspace see of each other's jobs. Nobody but their owner and those
    who run the workspace reads what they wrote."""

    DETAILS = "details"
    """All that Slurm tells of them, and what happens to them."""

    QUEUE = "queue"
    """That they are there: whose, how large, since when; no names, no paths, no events."""

    HIDDEN = "hidden"
    """Nothing."""


ALL_SCOPES = frozenset(Scope)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Whoever makes a request, in the workspace that it is about."""

    user: str
    """The Linux user in whose name they act."""

    email: str = ""
    role: Role = Role.MEMBER
    scopes: frozenset[Scope] = field(default=ALL_SCOPES)
    others_jobs: OthersJobs = OthersJobs.DETAILS
    part: str = ""
    """The part of the system that acts by itself, where no person does: `quota`."""

    why: str = ""
    """What for; a person is not asked."""

    @property
    def admin(self) -> bool:
        return self.role in RUNNING

    @property
    def actor(self) -> str:
        """How the ledger names them."""
        return f"system:{self.part}" if self.part else f"user:{self.email or self.user}"


def check_scope(scopes: frozenset[Scope], deed: Deed) -> None:
    """Raise Forbidden unless a token with these scopes reaches that far."""
    if (needed := TABLE[deed].scope) not in scopes:
        has = ", ".join(sorted(scopes)) or "none"
        raise Forbidden(
            f"To {deed.value}, a token needs the scope `{needed.value}`; this one has: {has}.",
            hint=f"Make one that has it: clusterra tokens create --scope {needed.value}",
            code="scope",
        )


def check_may(role: Role, deed: Deed, *, workspace: str) -> None:
    """Raise Forbidden unless this role may do that."""
    may = TABLE[deed].who
    if isinstance(may, Who) or role in may:
        return
    least = min(may, key=lambda each: each.rank)
    raise Forbidden(
        f"To {deed.value} in {workspace}, one has to be {_a(least)}; you are {_a(role)}.",
        hint=f"Ask an owner of {workspace} to make you {_a(least)}.",
        code="role",
    )


def may_keep(role: Role, owner: str, person: str) -> bool:
    """Say whether somebody may see and change what a person made for themselves: that person, and
    admins."""
    return role in RUNNING or owner == person


def check_may_change(caller: Caller, job: Job) -> None:
    """Raise Forbidden unless the caller may cancel, hold or edit this job."""
    if not caller.admin and caller.user != job.user:
        raise Forbidden(
            f"Job {job.label} belongs to {job.user}; you are {caller.user}.",
            hint=f"Ask {job.user} or an admin to do it.",
            code="foreign-job",
        )


def check_may_read_output(caller: Caller, job: Job) -> None:
    """Raise Forbidden unless the caller may read what this job wrote."""
    if not caller.admin and caller.user != job.user:
        raise Forbidden(
            f"What job {job.label} writes is for {job.user}, who submitted it.",
            hint=f"Ask {job.user} for it, or an admin.",
            code="foreign-job",
        )


def check_may_see_cost(caller: Caller, job: Job) -> None:
    """Raise Forbidden unless the caller may know what this job costs."""
    if not sees_whole(caller, job.user):
        raise Forbidden(
            f"What job {job.label} costs is for {job.user}, who submitted it.",
            hint=f"Ask {job.user} for it, or an admin.",
            code="foreign-job",
        )


def sees_whole(caller: Caller, user: str) -> bool:
    """Say whether the caller sees all that Slurm tells of this user's jobs."""
    return sees_everybodys(caller) or caller.user == user


def sees_everybodys(caller: Caller) -> bool:
    """Say whether the caller sees all of everybody's jobs, and so what everybody spends."""
    return caller.admin or caller.others_jobs is OthersJobs.DETAILS


def sees(caller: Caller, user: str) -> bool:
    """Say whether the caller sees that this user's jobs exist."""
    return sees_whole(caller, user) or caller.others_jobs is OthersJobs.QUEUE


def _a(role: Role) -> str:
    return f"{'an' if role in RUNNING else 'a'} {role.value}"
