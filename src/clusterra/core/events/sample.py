"""An event of any kind, made up: to try a webhook with before anything has happened.

What it says could be true, so that a message about it looks like the real ones. Its id says that
it is not, and it is in no ledger.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any

from clusterra.core.errors import Invalid
from clusterra.core.events.catalogue import CATALOGUE
from clusterra.core.events.catalogue.costs import ChargeFact
from clusterra.core.events.catalogue.fleet import WasteFact
from clusterra.core.events.catalogue.jobs import ArtifactTold
from clusterra.core.events.event import Draft
from clusterra.core.events.fact import Fact
from clusterra.core.events.interest import check_types

TEST = "test_"
"""Ids of events that were made up begin so."""

JOB = 41
NODE = "general-medium-2"
SHAPE = "general-medium"
RATE = 190_000
RAN = timedelta(minutes=2, seconds=4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The names that a made-up event uses, so that it is about somewhere the reader knows."""

    email: str = "ana@lab.example"
    user: str = "ana"
    workspace: str = "lab"
    cluster: str = "helix"


def sample(type: str, *, at: datetime, setting: Setting | None = None) -> Fact:
    """Return a fact of that kind, as it could have happened at that moment."""
    kind = CATALOGUE.get(type)
    if kind is None:
        check_types((type.replace("*", ""),))
        raise Invalid(
            f"{type} is more than one kind of event.", hint="Name one, as job.failed.", at="type"
        )
    setting = setting or Setting()
    known = _values(at, setting) | _of_its_own(type, at, setting)
    names = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: value for name, value in known.items() if name in names})


def sample_draft(
    type: str, *, token: str, at: datetime, actor: str = "", setting: Setting | None = None
) -> Draft:
    """Return an event around it; `token` is something that no other one has."""
    setting = setting or Setting()
    return Draft(
        id=f"{TEST}{token}",
        fact=sample(type, at=at, setting=setting),
        at=at,
        actor=actor or _actor(type, setting),
        subject=_subject(type, setting),
    )


def _actor(type: str, setting: Setting) -> str:
    if type.startswith(("admin.", "user.access.", "user.login", "user.logout")):
        return f"user:{setting.email}"
    return "system:slurm" if type.startswith(("job.", "node.")) else "system:clusterra"


def _subject(type: str, setting: Setting) -> str:
    kind = type.partition(".")[0]
    whole = {"job": f"job/{JOB}", "node": f"node/{NODE}", "fleet": "fleet", "cluster": "cluster"}
    if kind in ("user", "admin"):
        return f"user/{setting.email}"
    known = _IDS.get(kind)
    return f"{kind}/{known}" if known else whole.get(kind, "cluster")


_IDS = {"webhook": "whk_example", "automation": "aut_example"}

_STATES = {
    "job.submitted": "PENDING",
    "job.pending": "PENDING",
    "job.held": "PENDING",
    "job.released": "PENDING",
    "job.requeued": "PENDING",
    "job.suspended": "SUSPENDED",
    "job.completed": "COMPLETED",
    "job.cost.finalized": "COMPLETED",
    "job.failed": "FAILED",
    "job.cancelled": "CANCELLED",
    "job.timeout": "TIMEOUT",
    "job.out_of_memory": "OUT_OF_MEMORY",
    "job.node_fail": "NODE_FAIL",
    "job.preempted": "PREEMPTED",
    "job.lost": "LOST",
}


def _values(at: datetime, setting: Setting) -> dict[str, Any]:
    """Return what each field holds, by its name, where the kind of event makes no difference."""
    known = _job(at, setting) | _money(at) | _machines(at) | _people(at, setting)
    return known | _files(setting)


def _job(at: datetime, setting: Setting) -> dict[str, Any]:
    return {
        "job_id": JOB,
        "label": str(JOB),
        "name": "align",
        "user": setting.user,
        "account": "lab",
        "partition": "main",
        "state": "RUNNING",
        "cpus": 4,
        "memory_mib": 8192,
        "nodes_wanted": 1,
        "nodes": NODE,
        "time_limit_minutes": 60,
        "waited_seconds": 38,
        "started_at": at - RAN,
        "ran_seconds": int(RAN.total_seconds()),
        "ends_at": at + timedelta(minutes=6),
    }


def _money(at: datetime) -> dict[str, Any]:
    cost = RATE * int(RAN.total_seconds()) // 3600
    return {
        "usd_per_hour_micros": RATE,
        "basis": ("m6i.xlarge on-demand: $0.19/h (table)",),
        "estimated_micros": RATE,
        "charges": (ChargeFact(since=at - RAN, until=at, usd_per_hour_micros=RATE),),
        "seconds": int(RAN.total_seconds()),
        "cost_micros": cost,
        "total_micros": cost,
        "cancels_at": at + timedelta(minutes=5),
        "micros": 1_240_000,
        "limit_micros": 1_000_000,
        "usual_micros": 400_000,
        "causes": (WasteFact(cause="idle", micros=1_240_000, node_seconds=23_500),),
        "used": "41.20",
        "limit": "50.00",
        "currency": "USD",
        "period": f"{at:%Y-%m}",
        "mode": "warn",
    }


def _files(setting: Setting) -> dict[str, Any]:
    return {
        "artifacts": (ArtifactTold(key="result", name="y.bin", size=1_048_576, role="result"),),
        "owner": setting.email,
        "location": "outputs",
        "files": 3,
        "bytes": 3_145_728,
        "kept_days": 30,
    }


def _machines(at: datetime) -> dict[str, Any]:
    return {
        "node": NODE,
        "group": SHAPE,
        "action": "terminate",
        "instance_type": "g5.xlarge",
        "expected": "cpu",
        "actual": "gpu",
        "shape": SHAPE,
        "before": 1,
        "after": 2,
        "rule": "cheapest",
        "waiting_jobs": 3,
        "workers": 1,
        "since": at - timedelta(hours=1),
        "until": at + timedelta(minutes=15),
        "slurm_version": "25.11.2",
        "api_version": "v0.0.44",
        "part": "slurm",
        "unseen_seconds": 190,
        "lost": 3,
    }


def _people(at: datetime, setting: Setting) -> dict[str, Any]:
    return {
        "email": setting.email,
        "person": setting.email,
        "address": "192.0.2.7",
        "agent": "clusterra/0.1.0",
        "how": "oidc",
        "role": "member",
        "workspace": setting.workspace,
        "cluster": setting.cluster,
        "login": setting.user,
        "id": "example",
        "changed": ("max_workers: 8 → 12",),
        "why": "this is only a test",
        "expires_at": at + timedelta(days=90),
        "old_until": at + timedelta(days=1),
        "failures": 12,
        "percent": 50,
        "attempts": 11,
        "event_id": f"{TEST}event",
        "event_type": "job.failed",
        "cause": f"{TEST}cause",
        "cause_type": "job.out_of_memory",
    }


def _of_its_own(type: str, at: datetime, setting: Setting) -> dict[str, Any]:
    """Return what a kind of event holds that others with the same field do not."""
    kind = type.partition(".")[0]
    own: dict[str, Any] = {"state": _STATES[type]} if type in _STATES else {}
    if kind in _IDS:
        own |= {"id": _IDS[kind], "name": "ops"}
    elif kind == "user":
        own["user"] = setting.email
    elif kind == "admin":
        own["name"] = _ADMINISTERED.get(type.split(".")[1], "example")
    elif kind == "collector":
        own["until"] = at
    if type in ("user.cost.unusual", "fleet.cost.waste_high"):
        own["period"] = f"{at:%Y-%m-%d}"
    return own | _DETAILS.get(type, {})


_ADMINISTERED = {
    "token": "laptop",
    "key": "collector",
    "workspace": "others_jobs",
    "cluster": "helix",
    "webhook": "ops",
    "automation": "more-memory",
    "prices": "helix",
    "template": "relion",
}

_DETAILS: Mapping[str, dict[str, Any]] = {
    "job.pending": {"reason": "Resources"},
    "job.held": {"reason": "JobHeldUser"},
    "job.requeued": {"restarts": 1},
    "job.completed": {"exit_code": 0},
    "job.failed": {"exit_code": 3},
    "job.cost.over_estimate": {"estimated_micros": 190_000, "cost_micros": 260_000},
    "job.cancelled": {"why": ""},
    "node.drained": {"reason": "this is only a test"},
    "node.down": {"reason": "not responding"},
    "fleet.resized": {"reason": "3 jobs wait for workers"},
    "cluster.notice": {"name": "scheduled maintenance"},
    "user.login_failed": {"why": "not-invited"},
    "user.logout": {"why": ""},
    "user.quota.exceeded": {"used": "50.30"},
    "admin.workspace.changed": {"before": "hidden", "after": "shown"},
    "admin.automation.changed": {"changed": ("state: on → off",)},
    "admin.retention.changed": {"changed": ("outputs: 30 days",)},
    "admin.quota.changed": {"changed": ("month: $300.00 → $400.00",)},
    "admin.prices.changed": {"changed": ("CPU: $0.04 → $0.05",)},
    "automation.fired": {
        "name": "more-memory",
        "action": "retry",
        "made_job_id": JOB + 3,
        "changed": ("memory: 8 GiB → 12 GiB",),
    },
    "automation.refused": {"name": "more-memory", "action": "retry", "code": "quota-exceeded"},
    "automation.stopped": {"name": "more-memory", "action": "retry", "why": "3 of 3 were made"},
}
