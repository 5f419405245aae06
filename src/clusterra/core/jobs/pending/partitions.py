"""Why a job waits for its partition: the state that it is in, or a rule that the job does not meet."""

from clusterra.core.jobs.job import Job
from clusterra.core.jobs.pending import rows
from clusterra.core.jobs.pending.facts import Facts
from clusterra.core.jobs.pending.places import for_nodes
from clusterra.core.jobs.pending.why import Answer, Kind, Link, Sooner
from clusterra.core.jobs.pending.words import handle, listed, minutes
from clusterra.core.limits import PartitionRules
from clusterra.core.seen import Seen
from clusterra.core.words import count


def by_partition(job: Job, facts: Facts, code: str) -> Answer:
    """Say which rule of its partition it does not meet, or in what state the partition is."""
    if not isinstance(facts.rules, Seen):
        return Answer(
            kind=Kind.PARTITION,
            summary=f"Its partition {job.partition} does not let it start ({code}).",
            links=(
                Link(
                    kind=Kind.PARTITION,
                    claim=f"Slurm says {code}",
                    evidence=(rows.of_job(job, facts),),
                ),
            ),
        )
    names = job.partition.split(",")
    rules = next((each for each in facts.rules.value if each.name in names), None)
    if rules is None:
        return Answer(
            kind=Kind.PARTITION,
            summary=f"There is no partition {job.partition} any more.",
            links=(
                Link(
                    kind=Kind.PARTITION,
                    claim=f"It asks for {job.partition}, which is gone ({code})",
                    evidence=(rows.of_job(job, facts),),
                ),
            ),
            sooner=(Sooner(say="submit it again to another partition"),),
            hopeless=True,
        )
    broken, sooner = _broken(job, rules)
    if not broken and code == "PartitionConfig":
        return for_nodes(job, facts, code)
    words = "; ".join(broken) or f"partition {rules.name} does not let it start"
    closed = rules.state not in ("", "UP")
    return Answer(
        kind=Kind.PARTITION,
        summary=f"{words[0].upper()}{words[1:]} ({code}).",
        links=(
            Link(
                kind=Kind.PARTITION,
                claim=f"{words[0].upper()}{words[1:]}",
                evidence=(rows.of_rules(rules, facts), rows.of_job(job, facts)),
            ),
        ),
        sooner=tuple(sooner),
        hopeless=bool(broken) or closed,
    )


def _broken(job: Job, rules: PartitionRules) -> tuple[list[str], list[Sooner]]:
    broken: list[str] = []
    sooner: list[Sooner] = []
    name, nodes = rules.name, max(job.nodes_wanted, 1)
    if rules.state not in ("", "UP"):
        broken.append(f"partition {name} is {rules.state.lower()}")
        sooner.append(
            Sooner(
                say=f"have an admin open {name}",
                command=f"scontrol update partitionname={name} state=up",
            )
        )
    if rules.max_minutes is not None and (job.time_limit_minutes or 10**9) > rules.max_minutes:
        asks = "no limit" if job.time_limit_minutes is None else minutes(job.time_limit_minutes)
        broken.append(
            f"partition {name} allows {minutes(rules.max_minutes)}, and it asks for {asks}"
        )
        sooner.append(
            Sooner(
                say=f"ask for at most {minutes(rules.max_minutes)}",
                command=f"clusterra jobs edit {handle(job)} --time {rules.max_minutes}",
            )
        )
    if rules.max_nodes is not None and nodes > rules.max_nodes:
        broken.append(
            f"partition {name} allows {count(rules.max_nodes, 'node')} for a job, "
            f"and it asks for {nodes}"
        )
        sooner.append(Sooner(say=f"ask for at most {count(rules.max_nodes, 'node')}"))
    if nodes < rules.min_nodes:
        broken.append(
            f"partition {name} wants at least {count(rules.min_nodes, 'node')}, "
            f"and it asks for {nodes}"
        )
        sooner.append(Sooner(say=f"ask for at least {count(rules.min_nodes, 'node')}"))
    if rules.max_cpus_per_node is not None and -(-job.cpus // nodes) > rules.max_cpus_per_node:
        broken.append(
            f"partition {name} allows {count(rules.max_cpus_per_node, 'CPU')} on a node, "
            f"and it asks for {-(-job.cpus // nodes)}"
        )
        sooner.append(Sooner(say=f"ask for at most {count(rules.max_cpus_per_node, 'CPU')} a node"))
    if not _lets_in(rules.accounts, rules.accounts_denied, job.account):
        broken.append(f"partition {name} does not take jobs of account {job.account}")
        allowed = f" ({listed(rules.accounts)})" if rules.accounts else ""
        sooner.append(
            Sooner(say=f"submit it under another account{allowed} or to another partition")
        )
    if not _lets_in(rules.qos_allowed, rules.qos_denied, job.qos):
        broken.append(f"partition {name} does not take jobs of QOS {job.qos}")
        allowed = f" ({listed(rules.qos_allowed)})" if rules.qos_allowed else ""
        sooner.append(Sooner(say=f"submit it with another QOS{allowed}"))
    return broken, sooner


def _lets_in(allowed: tuple[str, ...], denied: tuple[str, ...], name: str) -> bool:
    return name not in denied and (not allowed or name in allowed)
