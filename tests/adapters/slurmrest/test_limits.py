"""What slurmrestd's limits mean: each was set with sacctmgr on a real Slurm, and looked at."""

import json
from typing import Any

from clusterra.adapters.slurmrest.decode import read
from clusterra.adapters.slurmrest.limits import (
    Association,
    Gathered,
    Qos,
    RulesInfo,
    of_association,
    of_qos,
    partition_rules,
)
from clusterra.adapters.slurmrest.reservations import (
    LicenceInfo,
    ReservationInfo,
    licence,
    reservation,
)
from clusterra.core.jobs.pending.limit_names import option
from clusterra.core.limits import Licence

NONE = {"set": False, "infinite": True, "number": 0}


def at(number: int) -> dict[str, Any]:
    return {"set": True, "infinite": False, "number": number}


def of(count: int, type: str = "cpu", name: str = "") -> list[dict[str, Any]]:
    return [{"type": type, "name": name, "id": 1, "count": count}]


ACCOUNT = {
    "account": "lab",
    "cluster": "dev",
    "parent_account": "root",
    "partition": "",
    "user": "",
    "max": {
        "jobs": {
            "per": {
                "count": at(50),
                "accruing": NONE,
                "submitted": at(500),
                "wall_clock": at(120),
            },
            "active": at(3),
            "accruing": NONE,
            "total": at(300),
        },
        "tres": {
            "total": of(20),
            "group": {"minutes": of(1000), "active": of(77)},
            "minutes": {"total": [], "per": {"job": of(98)}},
            "per": {"job": of(6), "node": of(5)},
        },
        "per": {"account": {"wall_clock": at(400)}},
    },
}
PERSON = {
    **ACCOUNT,
    "user": "ana",
    "parent_account": "",
    "max": {"jobs": {"active": at(3), "total": NONE}, "tres": {"total": []}},
}
QOS = {
    "name": "capped",
    "limits": {
        "max": {
            "active_jobs": {"accruing": NONE, "count": at(7)},
            "jobs": {
                "count": at(70),
                "active_jobs": {"per": {"account": at(11), "user": at(5)}},
                "per": {"account": at(12), "user": at(9)},
            },
            "tres": {
                "total": [*of(10), *of(2, "gres", "gpu")],
                "minutes": {
                    "total": of(100),
                    "per": {"qos": of(77), "job": of(99), "account": of(56), "user": of(55)},
                },
                "per": {
                    "account": of(3, "node"),
                    "job": of(4096, "mem"),
                    "node": of(5),
                    "user": of(1),
                },
            },
            "wall_clock": {"per": {"qos": at(200), "job": at(60)}},
        },
        "min": {"priority_threshold": NONE, "tres": {"per": {"job": of(2)}}},
    },
}


def as_set(limits: list[Any]) -> set[str]:
    """Return each limit as sacctmgr was told it."""
    return {option(each, each.amount) for each in limits}


def test_an_associations_limits_are_what_sacctmgr_set() -> None:
    assert as_set(of_association(read(json.dumps(ACCOUNT).encode(), Association))) == {
        *("GrpTRES=cpu=20", "GrpTRESMins=cpu=1000", "GrpTRESRunMins=cpu=77"),
        *("MaxTRESPerJob=cpu=6", "MaxTRESMinsPerJob=cpu=98", "MaxTRESPerNode=cpu=5"),
        *("GrpJobs=50", "GrpSubmitJobs=500", "GrpWall=400"),
        *("MaxJobs=3", "MaxSubmitJobs=300", "MaxWall=120"),
    }


def test_a_qos_limits_are_what_sacctmgr_set() -> None:
    assert as_set(of_qos(read(json.dumps(QOS).encode(), Qos))) == {
        *("GrpTRES=cpu=10", "GrpTRES=gres/gpu=2", "GrpTRESMins=cpu=100", "GrpTRESRunMins=cpu=77"),
        *("MaxTRESPerJob=mem=4096", "MaxTRESMinsPerJob=cpu=99", "MaxTRESPerNode=cpu=5"),
        *("MaxTRESPerUser=cpu=1", "MaxTRESRunMinsPerUser=cpu=55"),
        *("MaxTRESPerAccount=node=3", "MaxTRESRunMinsPerAccount=cpu=56", "MinTRESPerJob=cpu=2"),
        *("GrpJobs=7", "GrpSubmitJobs=70", "GrpWall=200", "MaxWall=60"),
        *("MaxJobsPerUser=5", "MaxSubmitJobsPerUser=9"),
        *("MaxJobsPerAccount=11", "MaxSubmitJobsPerAccount=12"),
    }


def test_only_the_persons_own_rows_and_the_accounts_above_are_gathered() -> None:
    rows = [
        ACCOUNT,
        PERSON,
        {**PERSON, "user": "ben"},
        {**ACCOUNT, "account": "root", "parent_account": ""},
        {**ACCOUNT, "account": "rival"},
        {**ACCOUNT, "cluster": "elsewhere"},
    ]
    gathered = Gathered(user="ana", account="lab", cluster="dev")
    gathered.add(read(json.dumps(each).encode(), Association) for each in rows)

    found = gathered.limits([])

    assert {(each.of, each.user) for each in found.rows} == {
        ("lab", "ana"),
        ("lab", ""),
        ("root", ""),
    }
    # What an account limits per person stands in the person's own row.
    assert [option(each, each.amount) for each in found.rows if each.user] == ["MaxJobs=3"]
    assert "MaxJobs=3" not in {option(each, each.amount) for each in found.rows if not each.user}


def test_a_reservation_says_when_where_and_for_whom() -> None:
    found = reservation(
        read(
            b'{"name":"maint","start_time":{"set":true,"number":1794845702},"node_list":"w[1-2]",'
            b'"users":"root,ana","accounts":"","flags":["SPEC_NODES"],"watts":{}}',
            ReservationInfo,
        )
    )

    assert (found.name, found.nodes, found.users) == ("maint", "w[1-2]", ("root", "ana"))
    assert found.starts_at is not None
    assert found.ends_at is None
    assert found.is_for("ana", "lab")
    assert not found.is_for("ben", "lab")


def test_a_licence_is_counted() -> None:
    told = b'{"LicenseName":"matlab","Total":4,"Used":3,"Free":1,"Remote":false,"Reserved":0}'

    assert licence(read(told, LicenceInfo)) == Licence(name="matlab", total=4, used=3, free=1)


def test_a_partition_says_whom_and_what_it_lets_in() -> None:
    found = partition_rules(
        read(
            b'{"name":"short","accounts":{"allowed":"lab,rival","deny":""},'
            b'"qos":{"allowed":"ALL","deny":"","assigned":"capped"},'
            b'"maximums":{"time":{"set":true,"number":5},"nodes":{"set":false,"infinite":true}},'
            b'"minimums":{"nodes":1},"partition":{"state":["DOWN"]}}',
            RulesInfo,
        )
    )

    assert (found.state, found.max_minutes, found.max_nodes) == ("DOWN", 5, None)
    assert (found.accounts, found.qos_allowed, found.qos) == (("lab", "rival"), (), "capped")
