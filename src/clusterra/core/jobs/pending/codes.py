"""Every reason Slurm has for a job that waits, and who answers it.

Collected from the tables of Slurm 24.11 and 26.05. Limits of accounting are not in here:
there are 150 of them, and `limit_names` reads them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from clusterra.core.jobs.job import Job
from clusterra.core.jobs.pending import causes, rows
from clusterra.core.jobs.pending.facts import Facts
from clusterra.core.jobs.pending.partitions import by_partition
from clusterra.core.jobs.pending.places import for_nodes
from clusterra.core.jobs.pending.why import Answer, Kind, Link, Sooner
from clusterra.core.jobs.pending.words import handle

Explainer = Callable[[Job, Facts, str], Answer]

FOR_THE_FLEET = frozenset(
    {
        "",
        "None",
        "Resources",
        "Priority",
        "ReqNodeNotAvail",
        "PartitionConfig",
        "NodeDown",
        "BadConstraints",
        "Constraints",
        "SchedDefer",
    }
)
"""Reasons behind which may stand that workers are to come: then the planner knows better."""

ASKS_RESERVATIONS = frozenset(
    {"Resources", "Priority", "ReqNodeNotAvail", "Reservation", "ReservationDeleted"}
    | {"ReservationInvalid", "Constraints"}
)
ASKS_RULES = frozenset(
    {"PartitionNodeLimit", "PartitionTimeLimit", "PartitionDown", "PartitionInactive"}
    | {"PartitionConfig", "AccountNotAllowed", "QOSNotAllowed"}
)
ASKS_LICENCES = frozenset({"Licenses"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Plain:
    """A reason that is a fact of its own: there is nothing to look up behind it."""

    kind: Kind
    says: str
    sooner: str = ""
    command: str = ""
    hopeless: bool = False
    in_line: bool = False

    def __call__(self, job: Job, facts: Facts, code: str) -> Answer:
        said = job.reason_said if job.reason_said not in ("", code) else ""
        words = self.says.format(job=job, partition=job.partition, account=job.account, qos=job.qos)
        claim = f"{words} ({code}{f': {said}' if said else ''})"
        evidence = (rows.of_job(job, facts, restarts=job.restarts),)
        hint = (
            (Sooner(say=self.sooner, command=self.command.format(id=handle(job))),)
            if self.sooner
            else ()
        )
        return Answer(
            kind=self.kind,
            summary=f"{claim}.",
            links=(Link(kind=self.kind, claim=claim, evidence=evidence),),
            sooner=hint,
            hopeless=self.hopeless,
            in_line=self.in_line,
        )


_RELEASE = "clusterra jobs release {id}"
_LOOK = "Slurm has not looked at it closely yet"

CODES: Mapping[str, Explainer] = {
    "": Plain(kind=Kind.SCHEDULER, says=_LOOK, in_line=True),
    "None": Plain(kind=Kind.SCHEDULER, says=_LOOK, in_line=True),
    "SchedDefer": Plain(
        kind=Kind.SCHEDULER, says="Slurm is busy and looks at it soon", in_line=True
    ),
    "Priority": for_nodes,
    "Resources": for_nodes,
    "ReqNodeNotAvail": for_nodes,
    "Constraints": for_nodes,
    "BadConstraints": for_nodes,
    "NodeDown": for_nodes,
    "FrontEndDown": Plain(kind=Kind.NODE, says="No front-end node is up"),
    "Dependency": causes.on_others,
    "DependencyNeverSatisfied": causes.on_others,
    "BeginTime": causes.begins_later,
    "JobHeldUser": causes.held_by_user,
    "JobHeldAdmin": causes.held_by_admin,
    "JobHoldMaxRequeue": Plain(
        kind=Kind.LAUNCH,
        says="It was queued again so often that Slurm holds it",
        sooner="find out why it fails to start, then release it",
        command=_RELEASE,
        hopeless=True,
    ),
    "JobLaunchFailure": causes.launch_failed,
    "PartitionNodeLimit": by_partition,
    "PartitionTimeLimit": by_partition,
    "PartitionDown": by_partition,
    "PartitionInactive": by_partition,
    "PartitionConfig": by_partition,
    "AccountNotAllowed": by_partition,
    "QOSNotAllowed": by_partition,
    "Reservation": causes.for_reservation,
    "ReservationDeleted": causes.for_reservation,
    "ReservationInvalid": causes.for_reservation,
    "Licenses": causes.for_licences,
    "JobArrayTaskLimit": causes.array_throttle,
    "Cleaning": Plain(kind=Kind.CLEANING, says="Its nodes are being cleaned up after its last run"),
    "Prolog": Plain(kind=Kind.PROLOG, says="Its nodes are being made ready for it"),
    "DeadLine": Plain(
        kind=Kind.DEADLINE,
        says="It can no longer be done by its deadline",
        sooner="submit it again with a later deadline or a shorter time limit",
        hopeless=True,
    ),
    "InvalidAccount": Plain(
        kind=Kind.ACCOUNT,
        says="Its account {account} is not valid here",
        sooner="submit it again under an account of yours",
        hopeless=True,
    ),
    "InvalidQOS": Plain(
        kind=Kind.ACCOUNT,
        says="Its QOS {qos} is not valid here",
        sooner="submit it again without that QOS",
        hopeless=True,
    ),
    "QOSUsageThreshold": Plain(
        kind=Kind.ACCOUNT,
        says="QOS {qos} takes no jobs of accounts that have used more than their share",
        sooner="submit it with another QOS, or wait until earlier use counts less",
    ),
    "MaxMemPerLimit": Plain(
        kind=Kind.PARTITION,
        says="It asks for more memory than partition {partition} gives a CPU or a node",
        sooner="ask for less memory, or for more CPUs with it",
        hopeless=True,
    ),
    "MaxPoweredUpNodes": Plain(
        kind=Kind.CAPACITY,
        says="As many nodes are powered up as Slurm may power up at once",
        in_line=True,
    ),
    "PowerNotAvail": Plain(kind=Kind.CAPACITY, says="The cluster's power is used up", in_line=True),
    "PowerReserved": Plain(
        kind=Kind.CAPACITY, says="The cluster's power is reserved", in_line=True
    ),
    "MpiPortsBusy": Plain(
        kind=Kind.CAPACITY, says="The ports that MPI needs are in use on its nodes", in_line=True
    ),
    "NvidiaImexChannels": Plain(
        kind=Kind.CAPACITY, says="All NVIDIA IMEX channels are in use", in_line=True
    ),
    "BurstBufferResources": Plain(
        kind=Kind.STORAGE, says="The burst buffer space it asks for is in use", in_line=True
    ),
    "BurstBufferStageIn": Plain(kind=Kind.STORAGE, says="Its data is being staged in"),
    "BurstBufferOperation": Plain(
        kind=Kind.STORAGE,
        says="A burst buffer operation failed",
        sooner="have an admin look at the burst buffer",
        hopeless=True,
    ),
    "FedJobLock": Plain(
        kind=Kind.SCHEDULER, says="Another cluster of the federation is looking at it"
    ),
    # These say how a run ended. A job that waits has one after it was queued again.
    "SystemFailure": Plain(kind=Kind.LAUNCH, says="Slurm itself failed while starting it"),
    "NonZeroExitCode": Plain(kind=Kind.LAUNCH, says="Its last run ended with an error"),
    "RaisedSignal": Plain(kind=Kind.LAUNCH, says="Its last run was ended by a signal"),
    "TimeLimit": Plain(kind=Kind.LAUNCH, says="Its last run reached its time limit"),
    "OutOfMemory": Plain(kind=Kind.LAUNCH, says="Its last run ran out of memory"),
    "InactiveLimit": Plain(kind=Kind.LAUNCH, says="Its last run was idle for too long"),
    "InvalidReason": Plain(kind=Kind.OTHER, says="Slurm gives no reason that it knows itself"),
    # So 24.11 spells it.
    "InvaildReason": Plain(kind=Kind.OTHER, says="Slurm gives no reason that it knows itself"),
}


def unknown(job: Job, facts: Facts, code: str) -> Answer:
    """Answer a reason that nobody here has heard of with Slurm's own word, and what can be seen."""
    said = job.reason_said or code
    claim = f"Slurm says: {' '.join(said.replace('_', ' ').split())}"
    inner = for_nodes(job, facts, "")
    return Answer(
        kind=Kind.OTHER,
        summary=f"{claim}.",
        links=(
            Link(kind=Kind.OTHER, claim=claim, evidence=(rows.of_job(job, facts),)),
            *inner.links,
        ),
        in_line=True,
    )
