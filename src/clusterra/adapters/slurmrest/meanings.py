"""The table from Slurm's error numbers to our words, each with a next step.

The numbers were collected from Slurm 24.11 and 26.05, most of them by provoking them.
Which error is raised when is decided in `errors`.
"""

from dataclasses import dataclass

from clusterra.core.errors import (
    ClusterraError,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    Refused,
    TooLarge,
    Unreachable,
)


@dataclass(frozen=True, slots=True)
class Meaning:
    """What one error number means. `{…}` is filled with what the person asked for."""

    kind: type[ClusterraError]
    code: str
    detail: str
    hint: str
    at: str = ""


KEY = Meaning(
    Refused,
    "slurm-rejects-key",
    "Slurm does not accept our token for {user}.",
    "Check that jwt_key is the very file slurmctld uses (AuthAltParameters=jwt_key=…) and that "
    "the clocks of both machines agree to the minute.",
)
CONTROLLER = Meaning(
    Unreachable,
    "controller-unreachable",
    "slurmrestd answers, but slurmctld behind it does not.",
    "Check that slurmctld is running; Slurm may be restarting.",
)
REJECTED = Meaning(
    Refused,
    "rejected-by-site",
    "This cluster's own rules (job_submit plugin) refused the job.",
    "slurmrestd does not pass their words on; ask an admin what the rules want.",
)
_ACCOUNTING = Meaning(
    Unreachable,
    "accounting-unreachable",
    "slurmrestd answers, but slurmdbd behind it does not.",
    "Check that slurmdbd and its database are running.",
)
_BUSY = Meaning(
    Unreachable,
    "slurm-busy",
    "Slurm is limiting how often it may be asked.",
    "Try again in a few seconds; lower slurm.max_calls_per_minute if this happens often.",
)
_ENDED = Meaning(
    Conflict, "job-ended", "Job {job} has already ended.", "There is nothing left to change on it."
)
_STARTED = Meaning(
    Conflict,
    "job-started",
    "Job {job} has already started, and this can only be done while a job waits.",
    "Cancel it and submit it again if you need this.",
)
_LENGTH = Meaning(
    TooLarge,
    "text-too-long",
    "Something in the job is longer than Slurm takes: the script, its name, a path or the comment.",
    "Names, paths and comments may have 1024 bytes, scripts 4 MiB (max_script_size).",
)
_NODES = Meaning(
    Refused,
    "no-such-nodes",
    "No node of this cluster can ever run this job as it was asked for.",
    "Ask for fewer CPUs, less memory, fewer GPUs or another constraint; "
    "`clusterra nodes list` shows what there is.",
)
_FEATURE = Meaning(
    Refused,
    "unknown-feature",
    "No node of this cluster has the feature {constraints}.",
    "`clusterra nodes list` shows the features there are.",
    at="constraints",
)
_RESERVATION = Meaning(
    Refused,
    "reservation",
    "The reservation {reservation} does not exist, is over, or is not for {user}.",
    "Leave it out, or ask an admin which reservations are yours.",
    at="reservation",
)
_GRES = Meaning(
    Refused,
    "unknown-gres",
    "This cluster does not have that kind of GPU or other generic resource.",
    "Ask for it as gres/gpu:1; `clusterra nodes list` shows the GPUs there are.",
    at="tres_per_node",
)

_FULL = Meaning(
    Refused,
    "queue-full",
    "Slurm's queue is full (MaxJobCount).",
    "Wait for jobs to end, submit an array instead of single jobs, or have an admin raise "
    "MaxJobCount.",
)

MEANINGS: dict[int, Meaning] = {
    # Slurm itself could not be asked. When slurmctld is down, cancelling answers 1 (EPERM),
    # editing and requeueing 1000, and everything else 1800.
    1: CONTROLLER,
    **dict.fromkeys((1000, 1001, 1002, 1003, 1004, 1800, 1801, 1802, 1803), CONTROLLER),
    **dict.fromkeys((2027, 2131, 5003, 5004, 5005), CONTROLLER),
    **dict.fromkeys((1804, 1805), _BUSY),
    **dict.fromkeys((7000, 7008), _ACCOUNTING),
    # Who asks.
    **dict.fromkeys((1007, 6000, 6001, 6007, 6008, 9008), KEY),
    6010: Meaning(
        Refused,
        "unknown-linux-user",
        "The machine of slurmctld has no Linux user {user}.",
        "Create the user there (useradd, or your directory service), then put it into an account.",
    ),
    2002: Meaning(
        Forbidden,
        "not-your-job",
        "Slurm does not let {user} do this.",
        "Only the owner of a job and Slurm's operators may change it; some changes "
        "(priority, releasing what an admin holds) are for operators only.",
    ),
    2010: Meaning(
        Forbidden,
        "not-your-job",
        "Slurm does not let {user} act for another user.",
        "Only the owner of a job and Slurm's operators may change it.",
    ),
    2003: Meaning(
        Refused,
        "partition-not-allowed",
        "{user} is not in a group that may use the partition {partition}.",
        "Use another partition, or ask an admin of this cluster for access.",
        at="partition",
    ),
    2045: Meaning(
        Refused,
        "no-association",
        "{user} may not run jobs under the account {account} here.",
        "Ask for the user to be added to that account (sacctmgr add user), or leave the account "
        "out; the Linux user must also exist on the machine of slurmctld.",
        at="account",
    ),
    2050: Meaning(
        Refused,
        "limit-reached",
        "This job would pass a limit of {user}'s account or QOS.",
        "Wait for other jobs to end, ask for less, or have an admin raise the limit (sacctmgr).",
    ),
    2066: Meaning(
        Refused,
        "unknown-qos",
        "There is no QOS {qos} that {user} may use.",
        "Leave it out, or ask an admin which QOS your account has.",
        at="qos",
    ),
    2057: Meaning(
        Refused, "unknown-wckey", "There is no wckey {wckey}.", "Leave it out.", at="wckey"
    ),
    # Which job.
    2017: Meaning(
        NotFound,
        "unknown-job",
        "Slurm knows no job {job}.",
        "Check the id; a job that ended long ago can be looked at, not changed.",
    ),
    **dict.fromkeys((2021, 2084, 2085, 2086), _ENDED),
    **dict.fromkeys((2073, 2083), _STARTED),
    2024: Meaning(
        Conflict,
        "job-waiting",
        "Job {job} is waiting already.",
        "Only a job that runs or has ended can be queued again.",
    ),
    2042: Meaning(
        Conflict,
        "job-held",
        "Job {job} is held.",
        "Release it first; a held job has no priority to change.",
    ),
    2020: Meaning(
        Conflict, "job-busy", "Job {job} cannot be changed this moment.", "Try again in a second."
    ),
    2037: Meaning(
        Conflict,
        "not-requeueable",
        "Job {job} does not allow this.",
        "It may have been submitted as not to be requeued; submit it again instead.",
    ),
    2077: Meaning(
        Conflict, "job-suspended", "Job {job} is suspended.", "Have an operator resume it first."
    ),
    2172: Meaning(
        Conflict, "job-busy", "Job {job} cannot be signalled.", "Try again when it runs."
    ),
    # What it asks for.
    2000: Meaning(
        Refused,
        "unknown-partition",
        "There is no partition {partition} on this cluster.",
        "Leave the partition out to use the default, or pick one that the cluster has.",
        at="partition",
    ),
    2001: Meaning(
        Refused,
        "no-default-partition",
        "This cluster has no default partition.",
        "Name the partition to use.",
        at="partition",
    ),
    **dict.fromkeys(
        (2070, 2101),
        Meaning(
            Refused,
            "partition-closed",
            "The partition {partition} takes no jobs at present.",
            "Use another partition, or try again when an admin has opened it.",
            at="partition",
        ),
    ),
    2105: Meaning(
        Refused,
        "submissions-closed",
        "This cluster takes no jobs at present.",
        "Try again when an admin has opened it.",
    ),
    2004: Meaning(
        Refused,
        "nodes-not-in-partition",
        "The nodes asked for are not in the partition {partition}.",
        "Leave the nodes or the partition out.",
        at="required_nodes",
    ),
    2005: Meaning(
        Refused,
        "too-many-cpus",
        "This job asks for more CPUs than the partition has.",
        "Ask for fewer CPUs or nodes, or use another partition.",
        at="minimum_cpus",
    ),
    **dict.fromkeys(
        (2006, 2025, 2069),
        Meaning(
            Invalid,
            "counts",
            "The numbers of nodes, tasks and CPUs of this job do not go together.",
            "Give whole numbers above zero; nodes may be a range such as 2-4.",
            at="nodes",
        ),
    ),
    # 24.11 says "Resource temporarily unavailable" (EAGAIN) instead.
    **dict.fromkeys((11, 2007), _FULL),
    **dict.fromkeys((2014, 2015, 2044, 2178), _NODES),
    **dict.fromkeys((2029, 2133, 2171), _FEATURE),
    2018: Meaning(
        Refused,
        "unknown-node",
        "A node this job asks for by name does not exist.",
        "`clusterra nodes list` shows the nodes there are.",
        at="required_nodes",
    ),
    **dict.fromkeys((2072, 2102, 2115, 2119, 2134), _GRES),
    2012: _LENGTH,
    9205: _LENGTH,
    2038: Meaning(
        Invalid,
        "dependency",
        "Slurm does not understand the dependency {dependency}, or knows no such job.",
        "Write it as afterok:41 or afterany:41:42, with jobs that have not ended long ago.",
        at="dependency",
    ),
    2071: Meaning(
        Invalid,
        "dependency",
        "The dependency {dependency} makes jobs wait for each other.",
        "Break the circle.",
        at="dependency",
    ),
    2048: Meaning(
        Refused,
        "unknown-licence",
        "This cluster does not have the licence {licenses}.",
        "Leave it out, or ask an admin which licences there are.",
        at="licenses",
    ),
    2051: Meaning(
        Refused,
        "time-limit",
        "The time limit of this job is longer than the partition or account allows.",
        "Ask for less time, or use a partition with a longer limit.",
        at="time_limit",
    ),
    2124: Meaning(
        Invalid,
        "time-limit",
        "The least time asked for is longer than the time limit.",
        "Ask for less.",
        at="time_minimum",
    ),
    2054: Meaning(
        Invalid,
        "begin-time",
        "The time at which the job should begin is not one Slurm accepts.",
        "Give a moment in the future.",
        at="begin_time",
    ),
    **dict.fromkeys((2052, 2053, 2056), _RESERVATION),
    2063: Meaning(
        Invalid,
        "no-work-dir",
        "The job has no working directory.",
        "Give one that exists on the nodes, such as your home directory.",
        at="current_working_directory",
    ),
    2127: Meaning(
        Invalid,
        "no-environment",
        "The job has no environment.",
        "Give at least PATH, as a list of NAME=value.",
        at="environment",
    ),
    2019: Meaning(
        Refused,
        "script-not-stored",
        "slurmctld could not store the job's script and environment.",
        "Give it an environment with at least PATH: 24.11 says this when there is none. If it has "
        "one, slurmctld's disk may be full.",
        at="environment",
    ),
    2009: Meaning(
        Invalid, "no-script", "There is no script to run.", "Give a script.", at="script"
    ),
    2081: Meaning(
        Invalid,
        "array",
        "{array} is not an array this cluster takes.",
        "Write it as 0-99, 1,5,9 or 0-999%20; indices must stay below MaxArraySize.",
        at="array",
    ),
    2123: Meaning(Invalid, "nice", "That nice value is out of range.", "Give a smaller one."),
    2036: Meaning(
        Refused,
        "not-supported",
        "This Slurm is not set up to do that.",
        "Ask an admin of this cluster.",
    ),
    2090: Meaning(
        Refused,
        "slurm-internal",
        "Slurm met an error of its own.",
        "An admin will find the cause in slurmctld's log.",
    ),
    9000: Meaning(
        Invalid,
        "incomplete",
        "Slurm misses something in the request: {description}.",
        "Give a script, and ids as whole numbers.",
    ),
}

OF_NODES: dict[int, Meaning] = {
    2016: Meaning(
        Refused,
        "node-busy",
        "Jobs run on the node {node}.",
        "Wait until they are over, or mark the node as down.",
    ),
    2018: Meaning(
        NotFound,
        "node-not-found",
        "There is no node {node}.",
        "`clusterra nodes list` shows the nodes there are.",
    ),
    **dict.fromkeys(
        (2028, 2180),
        Meaning(
            Refused,
            "node-state",
            "The node {node} is not in a state from which this can be done.",
            "`clusterra nodes list` shows its state.",
        ),
    ),
}
"""What the same numbers mean when a node was to be changed."""
