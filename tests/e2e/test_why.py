"""Why a job waits, on a real Slurm that was brought into each situation.

The same situations stand as constructed facts in `tests/core/pending/facts.py`, and with them
those that a real Slurm cannot be brought into at will: a shortage and a worker that never
comes need a cloud that fails, a deadline that passes ends the job at once.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest

from clusterra.wire.why import WhyView
from tests.cluster import Land, Running, eventually

SLEEP = "sleep 600"
SMALL: dict[str, Any] = {"memory": "20M", "time": 10}


@dataclass(frozen=True)
class Case:
    name: str
    kinds: tuple[str, ...]
    """What its cause may be called."""
    says: tuple[str, ...] = ()
    wish: dict[str, Any] = field(default_factory=dict)
    """What the job asks for; `{name}` stands for the id of a job made before."""
    script: str = SLEEP
    then: tuple[str, ...] = ()
    """A command of Slurm's, run once the job is there; `{id}` is its id."""


PREPARED = (
    "scontrol create partitionname=wide nodes=ALL oversubscribe=force:16 state=up",
    "scontrol create partitionname=closed nodes=ALL state=down",
    "scontrol create partitionname=short nodes=ALL maxtime=5 state=up",
    "scontrol create partitionname=single nodes=ALL maxnodes=1 state=up",
    "sacctmgr -i add qos few_cpus",
    "sacctmgr -i modify qos few_cpus set MaxTRESPerUser=cpu=1",
    "sacctmgr -i add qos few_jobs",
    "sacctmgr -i modify qos few_jobs set MaxJobsPerUser=1",
    "sacctmgr -i add account few_together",
    "sacctmgr -i modify account few_together set GrpTRES=cpu=1",
    "sacctmgr -i add account few_each",
    "sacctmgr -i modify account few_each set MaxJobs=1",
    "sacctmgr -i add user {user} account=few_together",
    "sacctmgr -i add user {user} account=few_each",
    "sacctmgr -i modify user {user} set qos=normal,few_cpus,few_jobs",
)
WIDE = {"partition": "wide", **SMALL}
BEFORE: dict[str, dict[str, Any]] = {
    # On a partition where nodes are shared, so that each runs whatever else does.
    "licensed": {"script": f"#SBATCH --licenses=matlab:1\n{SLEEP}", **WIDE},
    "one_cpu": {"script": SLEEP, "qos": "few_cpus", **WIDE},
    "one_job": {"script": SLEEP, "qos": "few_jobs", **WIDE},
    "together": {"script": SLEEP, "account": "few_together", **WIDE},
    "each": {"script": SLEEP, "account": "few_each", **WIDE},
}
CASES = (
    Case("held by its owner", ("held",), ("Held by ",), {"hold": True}),
    Case(
        "held by an admin",
        ("held",),
        ("an admin",),
        {"begin": "now+1hour"},
        then=("scontrol", "hold", "{id}"),
    ),
    Case(
        "another job has to end first",
        ("dependency",),
        ("job {licensed}", "running"),
        {"dependency": "afterok:{licensed}"},
    ),
    Case(
        "the other job has failed",
        ("dependency",),
        ("never", "failed"),
        {"dependency": "afterok:{failed}"},
    ),
    Case("not before a time", ("begin-time",), ("it may in ",), {"begin": "now+1hour"}),
    Case("its partition is down", ("partition",), ("closed is down",), {"partition": "closed"}),
    Case(
        "more time than its partition allows",
        ("partition",),
        ("5 min", "10 min"),
        {"partition": "short"},
    ),
    Case(
        "more nodes than its partition allows",
        ("partition",),
        ("1 node", "asks for 2"),
        {"partition": "single", "nodes": 2},
    ),
    Case(
        "CPUs of one person in a QOS",
        ("limit",),
        ("few_cpus", "1 CPU", "1 CPU in use"),
        {**WIDE, "qos": "few_cpus"},
    ),
    Case(
        "jobs of one person in a QOS",
        ("limit",),
        ("few_jobs", "1 running job"),
        {**WIDE, "qos": "few_jobs"},
    ),
    Case(
        "CPUs of an account",
        ("limit",),
        ("few_together", "1 CPU", "1 CPU in use"),
        {**WIDE, "account": "few_together"},
    ),
    Case(
        "jobs of a person in an account",
        ("limit",),
        ("few_each", "1 running job"),
        {**WIDE, "account": "few_each"},
    ),
    Case(
        "licences are taken",
        ("licence",),
        ("1 matlab", "0 of 1", "{licensed}"),
        WIDE,
        script=f"#SBATCH --licenses=matlab:1\n{SLEEP}",
    ),
    Case("a feature that nobody has", ("feature",), ("h100",), {"constraint": "h100"}),
    Case("its array runs one at a time", ("array",), ("at most 1",), {**WIDE, "array": "0-3%1"}),
    Case("nothing will ever hold it", ("never",), ("60 CPUs",), {"cpus": 60}),
    Case("the nodes there are, are full", ("max-workers", "capacity"), (), {"cpus": 2}),
    Case(
        "others come first",
        ("priority", "max-workers", "capacity"),
        ("ahead of it",),
        {"cpus": 2},
    ),
    Case(
        "its reservation has not begun",
        ("reservation",),
        ("course", "begins in"),
        WIDE,
        script=f"#SBATCH --reservation=course\n{SLEEP}",
    ),
    Case(
        "its node is drained",
        ("node",),
        ("{node}", "disk broke"),
        WIDE,
        script=f"#SBATCH --nodelist={{node}}\n{SLEEP}",
    ),
)


class Site:
    """A cluster with one worker, and Slurm's own commands on it."""

    def __init__(self, running: Running) -> None:
        self.running = running
        self.client = running.client()
        self.names: dict[str, str] = {}

    def slurm(self, *command: str, check: bool = True) -> str:
        return self.running.slurm_says(*command, check=check)

    def submit(self, script: str, **wish: Any) -> int:
        filled = {
            key: value.format(**self.names) if isinstance(value, str) else value
            for key, value in {**SMALL, **wish}.items()
        }
        return self.running.submit(script.format(**self.names), **filled)

    def why(self, id: int) -> WhyView:
        return self.client.why(self.running.cluster, id)

    def settled(self, id: int, kinds: tuple[str, ...]) -> WhyView:
        """Return the answer as soon as it is of such a kind; else what it is after a while."""
        answers: list[WhyView] = []

        def of_such_a_kind() -> bool:
            answers.append(self.why(id))
            return answers[-1].kind in kinds

        with suppress(pytest.fail.Exception):
            eventually(f"job {id} waits for {kinds}", of_such_a_kind, 12)
        return answers[-1]


@pytest.fixture(scope="module")
def site(land: Land, needs_root: None) -> Iterator[Site]:
    made = land.up(land.home / "why", workers=1)
    try:
        yield _prepared(Site(made))
    finally:
        made.down()
        rmtree(made.path)


def _prepared(site: Site) -> Site:
    running = site.running
    [node] = running.nodes(1)
    first = site.submit("true")
    user = running.wait_ended(first).user
    site.names |= {"node": node.name, "user": user}
    conf = Path(running.state) / "etc/slurm/slurm.conf"
    conf.write_text(conf.read_text() + "Licenses=matlab:1\n")
    site.slurm("scontrol", "reconfigure")
    site.slurm("scontrol", "update", "partitionname=main", "state=up")
    for command in PREPARED:
        site.slurm(*command.format(**site.names).split(), check=False)
    eventually(
        "the new partitions are known",
        lambda: len(site.client.partitions(running.cluster).partitions) == 5,
        90,
    )
    failed = site.submit("exit 1")
    running.wait_ended(failed)
    site.names["failed"] = str(failed)
    for name, wish in BEFORE.items():
        id = site.submit(**wish)
        site.names[name] = str(id)
        running.wait(id, until=lambda view: view.state == "RUNNING", timeout=20)
    site.slurm(
        *("scontrol", "create", "reservationname=course", "starttime=now+30minutes"),
        *("duration=60", f"users={user}", f"nodes={node.name}", "flags=ignore_jobs"),
    )
    return site


def _check(site: Site, case: Case) -> str:
    """Return what is wrong with the answer; nothing if it is right."""
    if case.name == "its node is drained":
        site.slurm(
            *("scontrol", "update", f"nodename={site.names['node']}"),
            *("state=drain", "reason=disk broke"),
        )
    id = site.submit(case.script, **case.wish)
    if case.then:
        site.slurm(*(word.format(id=id) for word in case.then))
    why = site.settled(id, case.kinds)
    unbacked = [link.claim for link in why.chain if not link.evidence]
    missing = [word for each in case.says if (word := each.format(**site.names)) not in why.summary]
    if why.kind not in case.kinds or missing or unbacked or not why.chain:
        return f"{case.name}: {why.kind}: {why.summary} (missing {missing}, no row: {unbacked})"
    return ""


def test_the_cause_is_named_in_every_situation_slurm_can_be_brought_into(site: Site) -> None:
    wrong = [said for case in CASES if (said := _check(site, case))]

    assert not wrong, "\n".join(wrong)


def test_the_terminal_says_it_in_one_sentence_first(site: Site) -> None:
    id = site.submit(SLEEP, hold=True)

    told = site.running.cli("jobs", "why", str(id)).stdout.splitlines()

    assert told[0].startswith("Held by ")
    assert told[-1].strip() == f"clusterra jobs release {id}"


def test_a_fleet_that_may_not_grow_or_cost_more_is_what_a_job_waits_for(
    land: Land, needs_root: None
) -> None:
    made = land.up(land.home / "why-fleet", workers=None)
    site = Site(made)
    try:
        made.cli("fleet", "policy", "set", "--max-usd-per-hour", "0.01")
        dear = site.submit(SLEEP, cpus=4)
        assert "$0.01 an hour" in site.settled(dear, ("max-spend",)).summary

        made.cli("fleet", "policy", "set", "--max-usd-per-hour", "none", "--max-workers", "1")
        made.wait(dear, until=lambda view: view.state == "RUNNING", timeout=30)
        more = site.submit(SLEEP, cpus=8)
        found = site.settled(more, ("max-workers",))
        assert found.kind == "max-workers"
        assert "--max-workers 2" in "".join(each.command for each in found.sooner)
        assert found.estimate is not None
    finally:
        made.down()
        rmtree(made.path)
