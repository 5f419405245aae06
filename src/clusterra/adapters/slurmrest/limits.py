"""Limits of associations, QOS and partitions as slurmrestd has them.

What sacctmgr calls what was found by setting each limit and looking: in an association
`max.jobs.per.count` is GrpJobs and `max.jobs.active` MaxJobs; in a QOS `active_jobs.count` is
GrpJobs and `jobs.active_jobs.per.user` MaxJobsPerUser. Found on 26.05.
"""

from collections.abc import Iterable, Iterator

import msgspec

from clusterra.adapters.slurmrest.decode import Amount, Envelope, whole
from clusterra.core.limits import Holder, Limit, Limits, Measure, PartitionRules, Per, Rule


class Trackable(msgspec.Struct, frozen=True):
    type: str = ""
    name: str | None = ""
    count: Amount = None

    @property
    def resource(self) -> str:
        return f"{self.type}/{self.name}" if self.name else self.type


class Association(msgspec.Struct, frozen=True):
    class Max(msgspec.Struct, frozen=True):
        class Jobs(msgspec.Struct, frozen=True):
            class Each(msgspec.Struct, frozen=True):
                count: Amount = None
                submitted: Amount = None
                wall_clock: Amount = None

            per: Each = Each()
            active: Amount = None
            total: Amount = None

        class Tres(msgspec.Struct, frozen=True):
            class Group(msgspec.Struct, frozen=True):
                minutes: list[Trackable] = []
                active: list[Trackable] = []

            class Minutes(msgspec.Struct, frozen=True):
                class Each(msgspec.Struct, frozen=True):
                    job: list[Trackable] = []

                per: Each = Each()

            class Each(msgspec.Struct, frozen=True):
                job: list[Trackable] = []
                node: list[Trackable] = []

            total: list[Trackable] = []
            group: Group = Group()
            minutes: Minutes = Minutes()
            per: Each = Each()

        class Whole(msgspec.Struct, frozen=True):
            class Account(msgspec.Struct, frozen=True):
                wall_clock: Amount = None

            account: Account = Account()

        jobs: Jobs = Jobs()
        tres: Tres = Tres()
        per: Whole = Whole()

    account: str = ""
    user: str = ""
    cluster: str = ""
    partition: str = ""
    parent_account: str = ""
    max: Max = Max()


class Qos(msgspec.Struct, frozen=True):
    class Limits(msgspec.Struct, frozen=True):
        class Max(msgspec.Struct, frozen=True):
            class ActiveJobs(msgspec.Struct, frozen=True):
                count: Amount = None

            class Jobs(msgspec.Struct, frozen=True):
                class Each(msgspec.Struct, frozen=True):
                    account: Amount = None
                    user: Amount = None

                class Active(msgspec.Struct, frozen=True):
                    class Each(msgspec.Struct, frozen=True):
                        account: Amount = None
                        user: Amount = None

                    per: Each = Each()

                count: Amount = None
                active_jobs: Active = Active()
                per: Each = Each()

            class Tres(msgspec.Struct, frozen=True):
                class Minutes(msgspec.Struct, frozen=True):
                    class Each(msgspec.Struct, frozen=True):
                        qos: list[Trackable] = []
                        job: list[Trackable] = []
                        account: list[Trackable] = []
                        user: list[Trackable] = []

                    total: list[Trackable] = []
                    per: Each = Each()

                class Each(msgspec.Struct, frozen=True):
                    account: list[Trackable] = []
                    job: list[Trackable] = []
                    node: list[Trackable] = []
                    user: list[Trackable] = []

                total: list[Trackable] = []
                minutes: Minutes = Minutes()
                per: Each = Each()

            class WallClock(msgspec.Struct, frozen=True):
                class Each(msgspec.Struct, frozen=True):
                    qos: Amount = None
                    job: Amount = None

                per: Each = Each()

            active_jobs: ActiveJobs = ActiveJobs()
            jobs: Jobs = Jobs()
            tres: Tres = Tres()
            wall_clock: WallClock = WallClock()

        class Min(msgspec.Struct, frozen=True):
            class Tres(msgspec.Struct, frozen=True):
                class Each(msgspec.Struct, frozen=True):
                    job: list[Trackable] = []

                per: Each = Each()

            tres: Tres = Tres()

        max: Max = Max()
        min: Min = Min()

    name: str = ""
    limits: Limits = Limits()


class QosReply(Envelope, frozen=True):
    qos: list[msgspec.Raw] | None = None


def of_association(found: Association) -> list[Limit]:
    jobs, tres = found.max.jobs, found.max.tres
    rows = [
        *_resources(Per.GROUP, Measure.AT_ONCE, tres.total),
        *_resources(Per.GROUP, Measure.MINUTES, tres.group.minutes),
        *_resources(Per.GROUP, Measure.RUN_MINUTES, tres.group.active),
        *_resources(Per.JOB, Measure.AT_ONCE, tres.per.job),
        *_resources(Per.JOB, Measure.MINUTES, tres.minutes.per.job),
        *_resources(Per.NODE, Measure.AT_ONCE, tres.per.node),
        *_count(Per.GROUP, Measure.JOBS, jobs.per.count),
        *_count(Per.GROUP, Measure.SUBMITTED, jobs.per.submitted),
        *_count(Per.GROUP, Measure.WALL, found.max.per.account.wall_clock),
        *_count(Per.USER, Measure.JOBS, jobs.active),
        *_count(Per.USER, Measure.SUBMITTED, jobs.total),
        *_count(Per.JOB, Measure.WALL, jobs.per.wall_clock),
    ]
    return _limits(Holder.ASSOCIATION, rows, of=found.account, user=found.user)


def of_qos(found: Qos) -> list[Limit]:
    most, least = found.limits.max, found.limits.min
    jobs, tres, minutes = most.jobs, most.tres, most.tres.minutes
    rows = [
        *_resources(Per.GROUP, Measure.AT_ONCE, tres.total),
        *_resources(Per.GROUP, Measure.MINUTES, minutes.total),
        *_resources(Per.GROUP, Measure.RUN_MINUTES, minutes.per.qos),
        *_resources(Per.JOB, Measure.AT_ONCE, tres.per.job),
        *_resources(Per.JOB, Measure.MINUTES, minutes.per.job),
        *_resources(Per.NODE, Measure.AT_ONCE, tres.per.node),
        *_resources(Per.USER, Measure.AT_ONCE, tres.per.user),
        *_resources(Per.USER, Measure.RUN_MINUTES, minutes.per.user),
        *_resources(Per.ACCOUNT, Measure.AT_ONCE, tres.per.account),
        *_resources(Per.ACCOUNT, Measure.RUN_MINUTES, minutes.per.account),
        *_resources(Per.JOB, Measure.AT_ONCE, least.tres.per.job, least=True),
        *_count(Per.GROUP, Measure.JOBS, most.active_jobs.count),
        *_count(Per.GROUP, Measure.SUBMITTED, jobs.count),
        *_count(Per.GROUP, Measure.WALL, most.wall_clock.per.qos),
        *_count(Per.USER, Measure.JOBS, jobs.active_jobs.per.user),
        *_count(Per.USER, Measure.SUBMITTED, jobs.per.user),
        *_count(Per.ACCOUNT, Measure.JOBS, jobs.active_jobs.per.account),
        *_count(Per.ACCOUNT, Measure.SUBMITTED, jobs.per.account),
        *_count(Per.JOB, Measure.WALL, most.wall_clock.per.job),
    ]
    return _limits(Holder.QOS, rows, of=found.name)


class _Row(msgspec.Struct, frozen=True):
    per: Per
    measure: Measure
    amount: int
    resource: str = ""
    least: bool = False


def _resources(
    per: Per, measure: Measure, found: Iterable[Trackable], *, least: bool = False
) -> Iterator[_Row]:
    for each in found:
        if (amount := whole(each.count)) is not None and amount >= 0:
            yield _Row(per, measure, amount, each.resource, least)


def _count(per: Per, measure: Measure, found: Amount) -> Iterator[_Row]:
    if (amount := whole(found)) is not None:
        yield _Row(per, measure, amount)


def _limits(holder: Holder, rows: Iterable[_Row], *, of: str, user: str = "") -> list[Limit]:
    return [
        Limit(
            rule=Rule(
                holder=holder,
                per=row.per,
                measure=row.measure,
                resource=row.resource,
                least=row.least,
            ),
            of=of,
            user=user,
            amount=row.amount,
        )
        for row in rows
    ]


class Gathered:
    """The limits of one person's jobs in one account, from rows as they come."""

    def __init__(self, *, user: str, account: str, cluster: str) -> None:
        self._user, self._account, self._cluster = user, account, cluster
        self._accounts: list[Association] = []
        self._own: list[Association] = []

    def add(self, rows: Iterable[Association]) -> None:
        for row in rows:
            if self._cluster and row.cluster not in ("", self._cluster):
                continue  # slurmdbd serves several clusters
            if not row.user:
                self._accounts.append(row)
            elif row.user == self._user and row.account == self._account:
                self._own.append(row)

    def limits(self, qos: Iterable[Qos]) -> Limits:
        parents = {row.account: row.parent_account for row in self._accounts}
        tree = Limits(parents=parents)
        above = [row for row in self._accounts if tree.under(self._account, row.account)]
        rows = [limit for row in self._own for limit in of_association(row)]
        # What an account limits per person or per job stands in the rows of its people too.
        rows += [
            limit
            for row in above
            for limit in of_association(row)
            if limit.rule.per is Per.GROUP or not self._own
        ]
        rows += [limit for each in qos for limit in of_qos(each)]
        return Limits(rows=tuple(rows), parents=parents)


class RulesInfo(msgspec.Struct, frozen=True):
    class Allowed(msgspec.Struct, frozen=True):
        allowed: str = ""
        deny: str = ""
        assigned: str = ""

    class Maximums(msgspec.Struct, frozen=True):
        time: Amount = None
        nodes: Amount = None
        cpus_per_node: Amount = None

    class Minimums(msgspec.Struct, frozen=True):
        nodes: Amount = None

    class Status(msgspec.Struct, frozen=True):
        state: list[str] = []

    name: str = ""
    accounts: Allowed = Allowed()
    qos: Allowed = Allowed()
    groups: Allowed = Allowed()
    maximums: Maximums = Maximums()
    minimums: Minimums = Minimums()
    partition: Status = Status()


def partition_rules(found: RulesInfo) -> PartitionRules:
    return PartitionRules(
        name=found.name,
        state=(found.partition.state or [""])[0],
        max_minutes=whole(found.maximums.time),
        max_nodes=whole(found.maximums.nodes),
        min_nodes=whole(found.minimums.nodes) or 0,
        max_cpus_per_node=whole(found.maximums.cpus_per_node),
        qos=found.qos.assigned,
        accounts=names(found.accounts.allowed),
        accounts_denied=names(found.accounts.deny),
        qos_allowed=names(found.qos.allowed),
        qos_denied=names(found.qos.deny),
        groups=names(found.groups.allowed),
    )


def names(text: str) -> tuple[str, ...]:
    return tuple(part for part in text.split(",") if part and part != "ALL")
