"""Slurm's states and reasons in words.

Words come first and Slurm's code follows in parentheses, so that both a person
who never saw Slurm and one who will search its manual are served.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class StateWords:
    mark: str
    short: str
    """One word, for a table."""
    colour: str | None = None

    def __str__(self) -> str:
        return f"{self.mark} {self.short}"


_WAITING = StateWords(mark="◌", short="waiting", colour="yellow")
_RUNNING = StateWords(mark="●", short="running", colour="blue")

_STATES: dict[str, StateWords] = {
    "PENDING": _WAITING,
    "RUNNING": _RUNNING,
    "SUSPENDED": StateWords(mark="◌", short="suspended", colour="yellow"),
    "COMPLETED": StateWords(mark="✓", short="done", colour="green"),
    "FAILED": StateWords(mark="✗", short="failed", colour="red"),
    "CANCELLED": StateWords(mark="⊘", short="cancelled"),
    "TIMEOUT": StateWords(mark="✗", short="timeout", colour="red"),
    "OUT_OF_MEMORY": StateWords(mark="✗", short="memory", colour="red"),
    "NODE_FAIL": StateWords(mark="✗", short="node lost", colour="red"),
    "PREEMPTED": StateWords(mark="⊘", short="preempted", colour="yellow"),
    "BOOT_FAIL": StateWords(mark="✗", short="no boot", colour="red"),
    "DEADLINE": StateWords(mark="✗", short="deadline", colour="red"),
    "LOST": StateWords(mark="?", short="lost", colour="red"),
}

LIVE = frozenset({"PENDING", "RUNNING", "SUSPENDED"})

_FLAGS: dict[tuple[str, str], StateWords] = {
    ("RUNNING", "CONFIGURING"): StateWords(mark="●", short="starting", colour="blue"),
    ("RUNNING", "COMPLETING"): StateWords(mark="●", short="ending", colour="blue"),
    ("PENDING", "REQUEUED"): StateWords(mark="◌", short="requeued", colour="yellow"),
    ("PENDING", "SPECIAL_EXIT"): StateWords(mark="◌", short="held", colour="yellow"),
}

HELD = frozenset({"JobHeldUser", "JobHeldAdmin", "JobHoldMaxRequeue"})


def state_words(state: str, flags: list[str] | None = None, reason: str = "") -> StateWords:
    if state == "PENDING" and reason in HELD:
        return StateWords(mark="◌", short="held", colour="yellow")
    for flag in flags or []:
        if words := _FLAGS.get((state, flag)):
            return words
    return _STATES.get(state) or StateWords(mark="?", short=state.lower().replace("_", " "))


_REASONS: dict[str, str] = {
    "Priority": "jobs with a higher priority are ahead of it",
    "Resources": "what it asks for is in use",
    "Dependency": "another job has to end first",
    "DependencyNeverSatisfied": "the job it depends on can no longer end the way it needs",
    "BeginTime": "it is not to start yet",
    "JobHeldUser": "its owner holds it",
    "JobHeldAdmin": "held by an admin, or by Slurm after failed starts",
    "JobHoldMaxRequeue": "held: it was requeued too often",
    "MaxRequeue": "it was requeued too often",
    "JobArrayTaskLimit": "its array already runs as many tasks at once as it may",
    "ReqNodeNotAvail": "no node that fits it is up right now",
    "PartitionConfig": "no node of its partition can hold it as things are",
    "PartitionNodeLimit": "it asks for more nodes than its partition allows",
    "PartitionTimeLimit": "it asks for more time than its partition allows",
    "PartitionDown": "its partition is down",
    "PartitionInactive": "its partition is switched off",
    "Licenses": "a license it needs is in use",
    "Reservation": "its reservation has not begun",
    "ReservationDeleted": "its reservation was deleted",
    "Cleaning": "the nodes are being cleaned up after its last run",
    "Prolog": "the nodes are being made ready",
    "NodeDown": "a node it needs is down",
    "BadConstraints": "no node can ever have what it asks for",
    "FrontEndDown": "no front-end node is up",
    "SchedDefer": "Slurm is busy and will look at it soon",
    "BurstBufferResources": "burst buffer space is in use",
    "BurstBufferStageIn": "its data is being staged in",
    "BurstBufferOperation": "a burst buffer operation failed",
    "FedJobLock": "another cluster of the federation is looking at it",
    "PowerNotAvail": "the cluster's power budget is used up",
    "PowerReserved": "the cluster's power is reserved",
    "DeadLine": "it can no longer meet its deadline",
    "InvalidAccount": "its account does not exist",
    "InvalidQOS": "its QOS does not exist",
    "AccountNotAllowed": "its account may not use this partition",
    "QOSNotAllowed": "its QOS may not be used here",
    "QOSUsageThreshold": "its QOS asks for a better usage record",
    "AssociationJobLimit": "its account is at its limit of jobs",
    "AssociationResourceLimit": "its account is at its limit of resources",
    "AssociationTimeLimit": "its account is at its limit of time",
    "QOSJobLimit": "its QOS is at its limit of jobs",
    "QOSResourceLimit": "its QOS is at its limit of resources",
    "QOSTimeLimit": "its QOS is at its limit of time",
    "MaxMemPerLimit": "it asks for more memory than one CPU or node may have here",
    "AccountingPolicy": "an accounting limit is reached",
    "NonZeroExitCode": "its script ended with an error",
    "RaisedSignal": "it was ended by a signal",
    "TimeLimit": "it reached its time limit",
    "InactiveLimit": "it was idle for too long",
    "JobLaunchFailure": "it could not be started on its node",
    "OutOfMemory": "it ran out of memory",
}

_WHAT: tuple[tuple[str, str], ...] = (
    # Longer names first: `CPURunMinutes` also contains `CPU`.
    ("CPURunMinutes", "CPU time of running jobs"),
    ("CPUMinutes", "CPU time"),
    ("RunMinutes", "time of running jobs"),
    ("WallDuration", "time limit"),
    ("SubmitJob", "submitted jobs"),
    ("Submit", "submitted jobs"),
    ("Minutes", "time"),
    ("Billing", "billing units"),
    ("License", "licenses"),
    ("Energy", "energy"),
    ("GRES", "GPUs or other devices"),
    ("Wall", "time"),
    ("Node", "nodes"),
    ("Mem", "memory"),
    ("Jobs", "jobs"),
    ("CPU", "CPUs"),
    ("BB", "burst buffer"),
)

_LIMIT = re.compile(r"(Assoc|QOS)(Grp|Max|Min)(.*)")


def reason_words(reason: str) -> str:
    """Return why a job waits, in words and then Slurm's code; empty for no reason."""
    code = reason.partition(",")[0].strip()
    if not code or code == "None":
        return ""
    words = _REASONS.get(code) or _limit_words(code)
    if words:
        return f"{words} ({code})"
    # Slurm sometimes sends a sentence, with underscores where REST wanted no spaces.
    return " ".join(reason.replace("_", " ").split())


def _limit_words(code: str) -> str:
    match = _LIMIT.fullmatch(code)
    if match is None:
        return ""
    owner = "account" if match[1] == "Assoc" else "QOS"
    rest = match[3]
    what = next((words for key, words in _WHAT if key.lower() in rest.lower()), "resources")
    if match[2] == "Grp":
        return f"all jobs of its {owner} together are at their limit of {what}"
    if match[2] == "Min":
        return f"its {owner} asks for more {what} than it requests"
    each = next(
        (
            words
            for key, words in (
                ("PerJob", " for one job"),
                ("PerNode", " for one node"),
                ("PerUser", " for one person"),
                ("PerAccount", " for one account"),
                ("PU", " for one person"),
                ("PA", " for one account"),
            )
            if key in rest
        ),
        "",
    )
    return f"its {owner} is at its limit of {what}{each}"
