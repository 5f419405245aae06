"""Slurm's names for limits that are reached, read part by part.

There are about 150 of them and their spelling has changed over the years (`Mins` and
`Minutes`, `Mem` and `Memory`), so they are understood, not listed:

    QOS   Max  Cpu  PerUser  Limit         Assoc  Grp  GRES  RunMinutes
    QOS   Min  Memory                      Max    Node PerAccount          (of a QOS)
"""

import re
from dataclasses import dataclass

from clusterra.core.limits import Holder, Limit, Measure, Per, Rule

_NAME = re.compile(r"(?:(Assoc|QOS)(Grp|Max|Min)|(Max)(?=\w+Per(?:Account|User)$))(\w+)")
_PER = re.compile(r"Per(Job|Node|User|Account)")
_RESOURCES = {
    "cpu": "cpu",
    "mem": "mem",
    "memory": "mem",
    "node": "node",
    "billing": "billing",
    "energy": "energy",
    "gres": "gres/",
    "license": "license/",
    "bb": "bb/",
    "unknown": "",
}
"""What a name calls a resource, and how the resource itself begins."""

OLD = {
    "AssociationJobLimit": (Holder.ASSOCIATION, (Measure.JOBS,)),
    "AssociationResourceLimit": (
        Holder.ASSOCIATION,
        (Measure.AT_ONCE, Measure.MINUTES, Measure.RUN_MINUTES),
    ),
    "AssociationTimeLimit": (Holder.ASSOCIATION, (Measure.WALL, Measure.MINUTES)),
    "QOSJobLimit": (Holder.QOS, (Measure.JOBS,)),
    "QOSResourceLimit": (Holder.QOS, (Measure.AT_ONCE, Measure.MINUTES, Measure.RUN_MINUTES)),
    "QOSTimeLimit": (Holder.QOS, (Measure.WALL, Measure.MINUTES)),
    "AccountingPolicy": (Holder.ASSOCIATION, tuple(Measure)),
}
"""Names that only say about what it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """Which limits a name can mean."""

    holder: Holder
    measures: tuple[Measure, ...]
    per: Per | None = None
    """None is not said."""

    resource: str = ""
    """How the resource begins; empty is any."""

    least: bool = False

    def means(self, rule: Rule) -> bool:
        return (
            rule.holder is self.holder
            and rule.measure in self.measures
            and self.per in (None, rule.per)
            and rule.resource.startswith(self.resource)
            and rule.least == self.least
        )


def named(code: str) -> Named | None:
    """Return what a reason code says about limits; None if it is not about one."""
    if code in OLD:
        holder, measures = OLD[code]
        return Named(holder=holder, measures=measures)
    match = _NAME.fullmatch(code)
    if match is None:
        return None
    scope, bound, _, rest = match.groups()
    holder = Holder.ASSOCIATION if scope == "Assoc" else Holder.QOS
    per, rest = _per(bound or "Max", rest)
    rest = re.sub(r"(Limit|NotSatisfied)$", "", rest)
    measure, thing = _measure(rest)
    if measure in (Measure.JOBS, Measure.SUBMITTED) and per is Per.JOB:
        per = Per.USER
    known = _RESOURCES.get(thing.lower())
    if known is None and measure in (Measure.AT_ONCE, Measure.MINUTES, Measure.RUN_MINUTES):
        return None
    return Named(
        holder=holder, measures=(measure,), per=per, resource=known or "", least=bound == "Min"
    )


def _per(bound: str, rest: str) -> tuple[Per, str]:
    match = _PER.search(rest)
    if match:
        return Per(match[1].lower()), _PER.sub("", rest)
    return (Per.GROUP if bound == "Grp" else Per.JOB), rest


def _measure(rest: str) -> tuple[Measure, str]:
    if rest.startswith("Wall"):
        return Measure.WALL, ""
    if rest.startswith("Submit"):
        return Measure.SUBMITTED, ""
    if rest.startswith("Job"):
        return Measure.JOBS, ""
    for ending, measure in (
        ("Run(Minutes|Mins)", Measure.RUN_MINUTES),
        ("Minutes|Mins", Measure.MINUTES),
    ):
        if found := re.fullmatch(rf"(\w+?)(?:{ending})", rest):
            return measure, found[1]
    return Measure.AT_ONCE, rest


_OPTIONS = {
    (Per.GROUP, Measure.AT_ONCE): "GrpTRES",
    (Per.GROUP, Measure.MINUTES): "GrpTRESMins",
    (Per.GROUP, Measure.RUN_MINUTES): "GrpTRESRunMins",
    (Per.GROUP, Measure.JOBS): "GrpJobs",
    (Per.GROUP, Measure.SUBMITTED): "GrpSubmitJobs",
    (Per.GROUP, Measure.WALL): "GrpWall",
    (Per.JOB, Measure.AT_ONCE): "MaxTRESPerJob",
    (Per.JOB, Measure.MINUTES): "MaxTRESMinsPerJob",
    (Per.JOB, Measure.WALL): "MaxWall",
    (Per.NODE, Measure.AT_ONCE): "MaxTRESPerNode",
    (Per.USER, Measure.AT_ONCE): "MaxTRESPerUser",
    (Per.USER, Measure.RUN_MINUTES): "MaxTRESRunMinsPerUser",
    (Per.USER, Measure.JOBS): "MaxJobsPerUser",
    (Per.USER, Measure.SUBMITTED): "MaxSubmitJobsPerUser",
    (Per.ACCOUNT, Measure.AT_ONCE): "MaxTRESPerAccount",
    (Per.ACCOUNT, Measure.RUN_MINUTES): "MaxTRESRunMinsPerAccount",
    (Per.ACCOUNT, Measure.JOBS): "MaxJobsPerAccount",
    (Per.ACCOUNT, Measure.SUBMITTED): "MaxSubmitJobsPerAccount",
}


def option(limit: Limit, amount: int) -> str:
    """Return how sacctmgr is told another amount: `GrpTRES=cpu=8`, `MaxJobs=4`."""
    rule = limit.rule
    name = "MinTRESPerJob" if rule.least else _OPTIONS[rule.per, rule.measure]
    if rule.holder is Holder.ASSOCIATION and rule.per is Per.USER:
        name = name.removesuffix("PerUser")
    return f"{name}={rule.resource}={amount}" if rule.resource else f"{name}={amount}"


def command(limit: Limit, amount: int) -> str:
    """Return the command with which an admin of Slurm changes it."""
    if limit.rule.holder is Holder.QOS:
        whose = f"qos {limit.of}"
    elif limit.user:
        whose = f"user {limit.user} where account={limit.of}"
    else:
        whose = f"account {limit.of}"
    return f"sacctmgr modify {whose} set {option(limit, amount)}"
