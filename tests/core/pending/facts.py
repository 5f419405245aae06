"""The 25 situations in which a job waits, as constructed facts: what each must be called.

The same ones that real Slurm can be brought into are in `tests/e2e/test_why.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from clusterra.core.access import Caller
from clusterra.core.clusters import Node
from clusterra.core.jobs.job import Job, JobState
from clusterra.core.jobs.pending.facts import Facts, Line, Row
from clusterra.core.jobs.pending.why import Kind
from clusterra.core.limits import (
    Holder,
    Licence,
    Limit,
    Limits,
    Measure,
    PartitionRules,
    Per,
    Reservation,
    Rule,
)
from clusterra.core.scaling.demand import Demand
from clusterra.core.scaling.fleet import Fleet, Phase, Shortage, Worker
from clusterra.core.scaling.plan import Cause, Plan, Wait
from clusterra.core.scaling.planned import Planned
from clusterra.core.scaling.policy import Policy
from clusterra.core.scaling.shapes import Family, Price, Shape
from clusterra.core.seen import Seen
from tests.builders import NOON, a_job

ID = 41
NOW = NOON + timedelta(minutes=5)
SMALL = Shape(
    name="general-small",
    family=Family.GENERAL,
    size="small",
    arch="amd64",
    vcpus=8,
    memory_gib=32,
    cpus=7,
    memory_mib=30_000,
    price=Price(on_demand=384_000),
)
LARGE = replace(
    SMALL,
    name="general-large",
    size="large",
    vcpus=32,
    cpus=31,
    memory_mib=126_000,
    price=Price(on_demand=1_536_000),
)
NODE = Node(
    name="w1",
    state="MIXED",
    cpus=8,
    cpus_used=7,
    memory_mib=16_000,
    memory_used_mib=8_000,
    features=("general", "amd64"),
    partitions=("main",),
)
ANA, BEN = Caller(user="ana"), Caller(user="ben")


def running(id: int, **more: Any) -> Job:
    facts = {"started_at": NOON, "nodes": "w1", "time_limit_minutes": 60}
    return a_job(id, state=JobState.RUNNING, **(facts | more))


def waiting(reason: str, **more: Any) -> Job:
    return a_job(ID, reason=reason, time_limit_minutes=60, **more)


def facts(**more: Any) -> Facts:
    known: dict[str, Any] = {
        "now": NOW,
        "caller": ANA,
        "seen_at": NOW,
        "nodes": Seen((NODE,), NOW),
        "line": Line(waiting=1),
    }
    return Facts(**(known | more))


def planned(wait: Wait, **more: Any) -> Seen[Planned]:
    known: dict[str, Any] = {
        "demand": Demand(),
        "workers": (),
        "plan": Plan(desired={}, waits={ID: wait}),
        "fleet": Fleet(version=118),
        "policy": Policy(max_workers=4),
        "shapes": {each.name: each for each in (SMALL, LARGE)},
    }
    return Seen(Planned(**(known | more)), NOW)


def row(
    type: str, *, seq: int = 7, at: Any = NOON, actor: str = "system:slurm", **data: Any
) -> Row:
    return Row(seq=seq, id=f"id-{seq}", type=type, subject="fleet", actor=actor, at=at, data=data)


def limit(holder: Holder, per: Per, measure: Measure, amount: int, **more: Any) -> Limit:
    resource = more.pop("resource", "")
    rule = Rule(holder=holder, per=per, measure=measure, resource=resource)
    return Limit(rule=rule, amount=amount, **more)


def limits(*rows: Limit) -> dict[str, Any]:
    found = Limits(rows=rows, parents={"root": "", "lab": "root", "grp": "root", "sub": "grp"})
    return {"limits": Seen(found, NOW)}


def rules(**more: Any) -> dict[str, Any]:
    return {"rules": Seen((PartitionRules(**({"name": "main", "state": "UP"} | more)),), NOW)}


@dataclass(frozen=True)
class Situation:
    name: str
    job: Job
    kind: Kind
    says: tuple[str, ...]
    """Words that the sentence must have: the numbers and names of this situation."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    sooner: str = ""


_WARM = tuple(
    Worker(shape="general-large", phase=Phase.WARMING, since=NOW - timedelta(seconds=2))
    for _ in range(2)
)
_LATE = (Worker(shape="general-large", phase=Phase.WARMING, since=NOW - timedelta(minutes=9)),)

SITUATIONS = (
    Situation(
        "held by its owner",
        waiting("JobHeldUser", priority=0),
        Kind.HELD,
        ("Held by ana@lab.example", "5m"),
        {"history": [row("job.held", actor="user:ana@lab.example", reason="JobHeldUser")]},
        "clusterra jobs release 41",
    ),
    Situation(
        "held by an admin",
        waiting("JobHeldAdmin", priority=0),
        Kind.HELD,
        ("an admin of Slurm",),
        {"history": [row("job.held", reason="JobHeldAdmin")]},
        "clusterra jobs release 41",
    ),
    Situation(
        "another job has to end well first",
        waiting("Dependency", dependency="afterok:18(unfulfilled)"),
        Kind.DEPENDENCY,
        ("job 18 (ben)", "end well", "running"),
        {"dependencies": {18: running(18, user="ben")}},
    ),
    Situation(
        "the other job has failed",
        waiting("DependencyNeverSatisfied", dependency="afterok:18(failed)"),
        Kind.DEPENDENCY,
        ("never start", "job 18 (ana)", "failed"),
        {"dependencies": {18: a_job(18, state=JobState.FAILED, ended_at=NOON)}},
        "clusterra jobs cancel 41",
    ),
    Situation(
        "not before a time",
        waiting("BeginTime", eligible_at=NOW + timedelta(hours=1)),
        Kind.BEGIN_TIME,
        ("1h 00m",),
    ),
    Situation(
        "others have reserved the nodes",
        waiting("ReqNodeNotAvail", reason_said="ReqNodeNotAvail, Reserved for maintenance"),
        Kind.RESERVATION,
        ("maint", "root", "w[1-4]", "30m 00s"),
        {
            "reservations": Seen(
                (
                    Reservation(
                        name="maint",
                        starts_at=NOW + timedelta(minutes=30),
                        ends_at=NOW + timedelta(minutes=90),
                        nodes="w[1-4]",
                        users=("root",),
                    ),
                ),
                NOW,
            )
        },
        "29 min",
    ),
    Situation(
        "its partition is down",
        waiting("PartitionDown"),
        Kind.PARTITION,
        ("main is down",),
        rules(state="DOWN"),
        "state=up",
    ),
    Situation(
        "more time than its partition allows",
        waiting("PartitionTimeLimit"),
        Kind.PARTITION,
        ("allows 5 min", "asks for 1 h"),
        rules(max_minutes=5),
        "--time 5",
    ),
    Situation(
        "more nodes than its partition allows",
        waiting("PartitionNodeLimit", nodes_wanted=2),
        Kind.PARTITION,
        ("1 node", "asks for 2"),
        rules(max_nodes=1),
        "at most 1 node",
    ),
    Situation(
        "CPUs of one person in a QOS",
        waiting("QOSMaxCpuPerUserLimit", qos="small"),
        Kind.LIMIT,
        ("QOS small", "8 CPUs", "7 CPUs in use", "asks for 2 CPUs"),
        {
            "live": [running(18, qos="small", cpus=7), running(19, qos="small", user="ben")],
            **limits(
                limit(Holder.QOS, Per.USER, Measure.AT_ONCE, 8, resource="cpu", of="small"),
                limit(Holder.QOS, Per.USER, Measure.AT_ONCE, 1, resource="cpu", of="other"),
            ),
        },
        "MaxTRESPerUser=cpu=9",
    ),
    Situation(
        "jobs of one person in a QOS",
        waiting("QOSMaxJobsPerUserLimit", qos="small"),
        Kind.LIMIT,
        ("QOS small", "1 running job", "one person"),
        {
            "live": [running(18, qos="small")],
            **limits(limit(Holder.QOS, Per.USER, Measure.JOBS, 1, of="small")),
        },
        "MaxJobsPerUser=2",
    ),
    Situation(
        "CPUs of an account with those below it",
        waiting("AssocGrpCpuLimit", account="grp"),
        Kind.LIMIT,
        ("Account grp", "4 CPUs", "3 CPUs in use"),
        {
            "live": [running(18, account="sub", cpus=3), running(19, account="lab", cpus=9)],
            **limits(
                limit(Holder.ASSOCIATION, Per.GROUP, Measure.AT_ONCE, 4, resource="cpu", of="grp")
            ),
        },
        "GrpTRES=cpu=5",
    ),
    Situation(
        "jobs of a person in an account",
        waiting("AssocMaxJobsLimit"),
        Kind.LIMIT,
        ("Account lab", "1 running job", "for ana"),
        {
            "live": [running(18), running(19, user="ben")],
            **limits(limit(Holder.ASSOCIATION, Per.USER, Measure.JOBS, 1, of="lab", user="ana")),
        },
        "sacctmgr modify user ana where account=lab set MaxJobs=2",
    ),
    Situation(
        "licences are taken",
        waiting("Licenses", licenses="matlab:2"),
        Kind.LICENCE,
        ("2 matlab", "1 of 4", "ben: 18"),
        {
            "licences": Seen((Licence(name="matlab", total=4, used=3, free=1),), NOW),
            "live": [running(18, user="ben", licenses="matlab:3")],
        },
    ),
    Situation(
        "a feature that nobody has",
        waiting("ReqNodeNotAvail", features="genral"),
        Kind.FEATURE,
        ("genral", "general"),
    ),
    Situation(
        "its node is down",
        waiting("ReqNodeNotAvail", reason_said="ReqNodeNotAvail, UnavailableNodes:w1"),
        Kind.NODE,
        ("w1 is down", "disk broke"),
        {"nodes": Seen((replace(NODE, state="DOWN", reason="disk broke"),), NOW)},
        "state=resume",
    ),
    Situation(
        "others come first",
        waiting("Priority", priority=1),
        Kind.PRIORITY,
        ("2 of 7",),
        {"line": Line(ahead=2, waiting=7, first=[a_job(18, user="ben"), a_job(19, user="ben")])},
    ),
    Situation(
        "the nodes there are, are full",
        waiting("Resources", cpus=4),
        Kind.CAPACITY,
        ("4 CPUs", "in use"),
        {"live": [running(18, user="ben", cpus=7)]},
        "1 CPU instead of 4",
    ),
    Situation(
        "its array runs only so many at once",
        waiting("JobArrayTaskLimit", array_id=ID, array_waiting="3-9%2"),
        Kind.ARRAY,
        ("at most 2", "2 tasks"),
        {"live": [running(n, array_id=ID, array_task=n - 42) for n in (43, 44)]},
        "arraytaskthrottle=4",
    ),
    Situation(
        "the fleet may not grow",
        waiting("Resources"),
        Kind.MAX_WORKERS,
        ("limit of 4 workers", "general-large"),
        {
            "planned": planned(
                Wait(cause=Cause.MAX_WORKERS, shape="general-large", workers=2),
                fleet=Fleet(version=118, desired={"general-large": 4}),
            )
        },
        "--max-workers 6",
    ),
    Situation(
        "the fleet may not cost more",
        waiting("Resources"),
        Kind.MAX_SPEND,
        ("$2.00", "$1.54", "$3.08"),
        {
            "planned": planned(
                Wait(cause=Cause.MAX_SPEND, shape="general-large", workers=1),
                fleet=Fleet(version=118, desired={"general-large": 1}),
                policy=Policy(max_usd_per_hour=2_000_000),
            )
        },
        "--max-usd-per-hour 3.08",
    ),
    Situation(
        "workers are starting",
        waiting("ReqNodeNotAvail"),
        Kind.PROVISIONING,
        ("2 general-large workers", "both are starting", "usually 3 s here"),
        {
            "planned": planned(
                Wait(cause=Cause.WARMING, shape="general-large", workers=2),
                workers=_WARM,
                fleet=Fleet(version=118, desired={"general-large": 2}),
            ),
            "starts": {"general-large": (2.0, 3.0, 4.0)},
            "fleet_rows": [
                row("node.registered", seq=8, node="general-large-1"),
                row("fleet.resized", seq=9, shape="general-large", before=0, after=2),
            ],
        },
    ),
    Situation(
        "the workers it needs did not come",
        waiting("ReqNodeNotAvail"),
        Kind.SHORTAGE,
        ("general-large did not come", "no machines left", "4m 00s"),
        {
            "planned": planned(
                Wait(cause=Cause.SHORTAGE, shape="general-large", workers=1),
                fleet=Fleet(
                    version=118,
                    shortages={
                        "general-large": Shortage(
                            until=NOW + timedelta(minutes=4), why="no machines left", failures=3
                        )
                    },
                ),
            ),
            "fleet_rows": [row("fleet.shortage", shape="general-large", why="no machines left")],
        },
    ),
    Situation(
        "nothing will ever hold it",
        waiting("ReqNodeNotAvail", cpus=200),
        Kind.NEVER,
        ("never start", "200 CPUs", "general-large", "31 CPUs"),
        {"planned": planned(Wait(cause=Cause.NEVER, shape="general-large"))},
        "at most 31 CPUs",
    ),
    Situation(
        "a worker that never comes",
        waiting("Resources"),
        Kind.PROVISIONING,
        ("asked for 9m 00s ago", "late"),
        {
            "planned": planned(
                Wait(cause=Cause.WARMING, shape="general-large", workers=1), workers=_LATE
            ),
            "starts": {"general-large": (2.0, 3.0, 4.0)},
            "fleet_rows": [row("node.registered", node="general-large-1")],
        },
    ),
    Situation(
        "its deadline cannot be kept",
        waiting("DeadLine"),
        Kind.DEADLINE,
        ("deadline",),
        {},
        "later deadline",
    ),
)
