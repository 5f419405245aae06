from datetime import UTC, datetime

import pytest

from clusterra.core.errors import Invalid
from clusterra.core.templates.cron import problem, read_cron


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("cron", "now", "due"),
    [
        ("0 6 * * 1", "2026-11-17T12:00", "2026-11-23T06:00"),
        ("*/15 * * * *", "2026-11-17T12:00", "2026-11-17T12:15"),
        ("*/15 * * * *", "2026-11-17T12:14:59", "2026-11-17T12:15"),
        ("0 0 1 * *", "2026-12-31T23:59", "2027-01-01T00:00"),
        ("0 0 29 2 *", "2026-01-01T00:00", "2028-02-29T00:00"),
        ("30 8-18/5 * * *", "2026-11-17T09:00", "2026-11-17T13:30"),
        ("0 0 13 * 5", "2026-11-14T00:00", "2026-11-20T00:00"),
        ("0 12 * * 7", "2026-11-17T00:00", "2026-11-22T12:00"),
        ("5,50 * * * *", "2026-11-17T12:05", "2026-11-17T12:50"),
    ],
)
def test_it_is_next_due(cron: str, now: str, due: str) -> None:
    assert read_cron(cron).after(at(now)) == at(due)


@pytest.mark.parametrize("cron", ["* * *", "60 * * * *", "a * * * *", "5-1 * * * *", "*/0 * * * *"])
def test_what_is_no_schedule_is_refused(cron: str) -> None:
    with pytest.raises(Invalid):
        read_cron(cron)


def test_five_minutes_are_often_enough() -> None:
    assert problem("*/5 * * * *") == ""
    assert "every 4 min" in problem("*/4 * * * *")
    assert "every 1 min" in problem("0,1 * * * *")
