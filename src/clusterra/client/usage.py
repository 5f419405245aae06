"""The part of the API about money: what was spent, what a job costs, the statement of a month.

It is reached as `client.usage` and asks through that client, which keeps the answer.
"""

from dataclasses import dataclass
from typing import Protocol
from urllib.parse import quote, urlencode

from clusterra.client.people import Ask
from clusterra.wire.usage import JobCostView, StatementView, UsageView

CSV = "text/csv"


class Fetch(Protocol):
    def __call__(self, path: str, kind: str) -> bytes: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WhichUsage:
    """What to sum up; empty is this month of everybody."""

    cluster: str = ""
    """Of this one; empty is all clusters of one's workspaces."""
    workspace: str = ""
    period: str = ""
    since: str = ""
    until: str = ""
    by: str = ""
    tz: str = ""
    person: str = ""
    limit: int | None = None


class Usage:
    def __init__(self, ask: Ask, fetch: Fetch) -> None:
        self._ask = ask
        self._fetch = fetch

    def show(self, wanted: WhichUsage) -> UsageView:
        return self._ask(UsageView, "GET", _where(wanted))

    def csv(self, wanted: WhichUsage) -> bytes:
        return self._fetch(_where(wanted), CSV)

    def job(self, cluster: str, job: str | int) -> JobCostView:
        path = f"{_cluster(cluster)}/jobs/{quote(str(job), safe='')}/cost"
        return self._ask(JobCostView, "GET", path)

    def statement(
        self, workspace: str, month: str, *, person: str = "", tz: str = ""
    ) -> StatementView:
        return self._ask(StatementView, "GET", _statement(workspace, month, person, tz))

    def statement_csv(self, workspace: str, month: str, *, person: str = "", tz: str = "") -> bytes:
        return self._fetch(_statement(workspace, month, person, tz), CSV)


def _where(wanted: WhichUsage) -> str:
    asked = {
        "workspace": "" if wanted.cluster else wanted.workspace,
        "period": wanted.period,
        "since": wanted.since,
        "until": wanted.until,
        "by": wanted.by,
        "tz": wanted.tz,
        "person": wanted.person,
        "limit": "" if wanted.limit is None else str(wanted.limit),
    }
    place = _cluster(wanted.cluster) if wanted.cluster else "/v1"
    return f"{place}/usage{_asking(asked)}"


def _statement(workspace: str, month: str, person: str, tz: str) -> str:
    path = f"/v1/workspaces/{quote(workspace, safe='')}/statements/{quote(month, safe='')}"
    return path + _asking({"person": person, "tz": tz})


def _cluster(cluster: str) -> str:
    return f"/v1/clusters/{quote(cluster, safe='')}"


def _asking(asked: dict[str, str]) -> str:
    given = {name: value for name, value in asked.items() if value}
    return f"?{urlencode(given)}" if given else ""
