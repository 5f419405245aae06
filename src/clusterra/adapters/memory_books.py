"""The books in a dict, by quarters of an hour and nothing else: what the real ones must agree with."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from clusterra.core.cost.books import (
    By,
    Entry,
    PaidRun,
    Payer,
    Run,
    RunQuery,
    Spending,
    Spent,
    Sums,
    What,
    paid_run,
    portions,
)


class MemoryBooks:
    def __init__(self) -> None:
        self._spent: defaultdict[tuple[str, Payer, What, datetime], Sums] = defaultdict(Sums)
        self._runs: dict[tuple[str, int, datetime, int], PaidRun] = {}

    def add(self, cluster: str, entries: Iterable[Entry]) -> None:
        for entry in entries:
            for at, sums in portions(entry):
                quarter = datetime.fromtimestamp(at, UTC)
                self._spent[cluster, entry.payer, entry.what, quarter] += sums
            if run := paid_run(cluster, entry):
                known = self._runs.get(key := _key(cluster, run.run))
                self._runs[key] = known.and_then(run) if known else run

    def spent(self, query: Spending) -> Sequence[Spent]:
        query.check()
        found: defaultdict[tuple[str, ...], Sums] = defaultdict(Sums)
        for (cluster, payer, what, at), sums in self._spent.items():
            if (
                cluster in query.clusters
                and query.since <= at < query.until
                and query.person in (None, payer.person)
                and what in query.what
            ):
                values = _values(cluster, payer, what)
                found[tuple(values[each] for each in query.by)] += sums
        return [Spent(key=key, sums=sums) for key, sums in sorted(found.items()) if sums]

    def paid_runs(self, query: RunQuery) -> Sequence[PaidRun]:
        meant = [
            each
            for each in self._runs.values()
            if each.cluster in query.clusters
            and query.person in (None, each.payer.person)
            and (each.why_unknown or not query.unknown)
            and each.since < query.until
            and (each.until > query.since or each.since == each.until == query.since)
        ]
        return sorted(meant, key=lambda paid: paid.rank, reverse=True)[: query.limit]


def _key(cluster: str, run: Run) -> tuple[str, int, datetime, int]:
    return cluster, run.job_id, run.born_at, run.restarts


def _values(cluster: str, payer: Payer, what: What) -> Mapping[By, str]:
    return {
        By.CLUSTER: cluster,
        By.PERSON: payer.person,
        By.ACCOUNT: payer.account,
        By.PARTITION: payer.partition,
        By.TEMPLATE: payer.template,
        By.WHAT: what.value,
    }
