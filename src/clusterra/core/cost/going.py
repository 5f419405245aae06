"""Which running jobs have to go because of a quota, and how their owners are told first.

The newest go first, of those that began together the most expensive: the least work is lost,
and whoever began last brought it about. A job whose end would save nothing stays. Somebody
who has been told goes before those who have not, so that a stream of new jobs cannot put off
for ever what was announced.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from clusterra.core.change import Kind
from clusterra.core.cost.open import Open
from clusterra.core.cost.quota import WORKSPACE
from clusterra.core.cost.quota_standing import Standing

AGAIN = timedelta(seconds=30)
"""How long after it was asked to end a job may still run before it is asked again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A running job, and where it runs."""

    cluster: str
    open: Open

    @property
    def key(self) -> str:
        id, born = self.open.job.key
        return f"{self.cluster}/{id}/{born}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Going:
    """A job that has to go, and because of whose quota."""

    running: Running
    standing: Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """What the owner of a job was told."""

    key: str
    period: str
    at: datetime
    cancels_at: datetime
    why: str
    asked_at: datetime | None = None
    """When the job was last asked to end."""


Notices = tuple[Notice, ...]

NOTICES: Kind[Notices] = Kind("quota_notices", Notices)
"""By cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Noticed:
    notices: Notices
    """As they are now to be kept; what is not in here is withdrawn."""

    new: Sequence[tuple[Going, Notice]] = ()
    due: Sequence[tuple[Going, Notice]] = ()
    """Those whose time has come: they are to be ended now."""


def to_go(
    running: Iterable[Running], standings: Iterable[Standing], told: Collection[str] = ()
) -> Sequence[Going]:
    """Return which jobs have to go so that everybody, and then the workspace, is within limits."""
    left = {each.key: each for each in running}
    found: list[Going] = []
    for standing in sorted(standings, key=lambda each: (each.whose == WORKSPACE, each.whose)):
        until = standing.month.period.until
        over = standing.over_by
        if standing.whose == WORKSPACE:  # what goes because of a person's quota is saved already
            over -= sum(each.running.open.to_come(until) for each in found)
        for each in sorted(left.values(), key=lambda each: _rank(each, told), reverse=True):
            if over <= 0:
                break
            saved = each.open.to_come(until)
            if saved > 0 and standing.whose in (WORKSPACE, each.open.payer.person):
                over -= saved
                found.append(Going(running=left.pop(each.key), standing=standing))
    return found


def noticed(before: Notices, going: Iterable[Going], now: datetime) -> Noticed:
    """Give notice to those who have to go, and say whose time has come."""
    known: Mapping[str, Notice] = {each.key: each for each in before}
    kept: list[Notice] = []
    new: list[tuple[Going, Notice]] = []
    due: list[tuple[Going, Notice]] = []
    for each in going:
        period = each.standing.month.period.name
        notice = known.get(each.running.key)
        if notice is None or notice.period != period:
            grace = timedelta(seconds=each.standing.quota.grace_seconds)
            notice = Notice(
                key=each.running.key,
                period=period,
                at=now,
                cancels_at=now + grace,
                why=each.standing.why_over(),
            )
            new.append((each, notice))
        elif now < notice.at:
            # The clock was put back. The grace is counted anew from here: nobody gets less time
            # than they were told, nor hours more.
            grace = notice.cancels_at - notice.at
            notice = replace(notice, at=now, cancels_at=now + grace, asked_at=None)
        if now >= notice.cancels_at and _may_ask(notice, now):
            notice = replace(notice, asked_at=now)
            due.append((each, notice))
        kept.append(notice)
    return Noticed(notices=tuple(kept), new=new, due=due)


def _may_ask(notice: Notice, now: datetime) -> bool:
    return notice.asked_at is None or abs(now - notice.asked_at) >= AGAIN


def _rank(each: Running, told: Collection[str]) -> tuple[bool, datetime, int, str]:
    job = each.open.job
    return each.key in told, job.started_at or job.born_at, each.open.usd_per_hour or 0, each.key
