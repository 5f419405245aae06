"""Standings and running jobs to test quotas with; amounts in dollars, where a test reads them."""

from datetime import datetime, timedelta
from typing import Any

from clusterra.core.cost.bill import Bill
from clusterra.core.cost.books import Payer
from clusterra.core.cost.charges import Charge
from clusterra.core.cost.estimate.priced import Priced
from clusterra.core.cost.going import Running
from clusterra.core.cost.open import Open
from clusterra.core.cost.periods import day_of, month_of, zone
from clusterra.core.cost.quota import Mode, Quota
from clusterra.core.cost.quota_standing import Figures, Standing
from clusterra.core.jobs.job import JobState
from clusterra.core.money import MICROS
from tests.builders import NOON, a_job

UTC_ZONE = zone("UTC")
MONTH, DAY = month_of(NOON, UTC_ZONE), day_of(NOON, UTC_ZONE)
ANA, BEN = "ana@lab.example", "ben@lab.example"


def usd(amount: float) -> int:
    return round(amount * MICROS)


def a_quota(mode: Mode = Mode.BLOCK_AND_KILL, **limits: Any) -> Quota:
    amounts = {"month", "day", "job", "burn"}
    known: dict[str, Any] = {
        name: usd(value) if name in amounts else value for name, value in limits.items()
    }
    return Quota(mode=mode, **known)


def a_standing(
    quota: Quota,
    *,
    whose: str = ANA,
    booked: float = 0,
    pending: float = 0,
    to_come: float = 0,
    waiting: float = 0,
    now: datetime = NOON,
    **more: Any,
) -> Standing:
    amounts = {
        "booked": usd(booked),
        "pending": usd(pending),
        "to_come": usd(to_come),
        "waiting": usd(waiting),
    }
    return Standing(
        whose=whose,
        quota=quota,
        month=Figures(period=MONTH, **amounts),
        day=Figures(period=DAY, **amounts),
        now=now,
        **more,
    )


def a_run(
    id: int,
    *,
    person: str = ANA,
    usd_per_hour: float | None = 1,
    minutes: int | None = 60,
    began: int = 0,
    cluster: str = "cluslab1",
) -> Running:
    """Return a job that began so many minutes ago and has as many left as its limit says."""
    started = NOON - timedelta(minutes=began)
    rate = None if usd_per_hour is None else usd(usd_per_hour)
    job = a_job(
        id,
        state=JobState.RUNNING,
        started_at=started,
        nodes="w1",
        time_limit_minutes=None if minutes is None else began + minutes,
    )
    charges = (Charge(since=started, until=NOON, usd_per_hour=rate),)
    return Running(
        cluster=cluster,
        open=Open(
            job=job,
            payer=Payer(person=person),
            bill=Bill(charges=charges, why_unknown="" if rate is not None else "No price."),
            usd_per_hour=rate,
            now=NOON,
        ),
    )


def a_cost(usd_per_hour: float | None = 1, minutes: int | None = 60, tasks: int = 1) -> Priced:
    """Return what a job costs, of whose array all tasks may run at once."""
    if usd_per_hour is None:
        return Priced(why_unknown="No price is known for x1.mega.", minutes=minutes)
    rate = usd(usd_per_hour)
    total = None if minutes is None else rate * minutes // 60 * tasks
    return Priced(usd_per_hour=rate * tasks, minutes=minutes, total=total, tasks=tasks)
