"""Days and months in anybody's time zone: where they begin, and that none is lost between them."""

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterra.core.cost.books import quarter_of
from clusterra.core.cost.periods import (
    Period,
    day_of,
    days,
    month_of,
    months,
    named,
    spanning,
    zone,
)
from clusterra.core.errors import Invalid
from tests.builders import NOON

BERLIN = ZoneInfo("Europe/Berlin")
ZONES = (
    *("UTC", "Europe/Berlin", "America/New_York", "America/St_Johns", "America/Sao_Paulo"),
    *("America/Santiago", "America/Havana", "America/Nuuk", "Africa/Cairo", "Africa/Casablanca"),
    *("Asia/Beirut", "Asia/Gaza", "Asia/Kolkata", "Asia/Kathmandu", "Asia/Tehran"),
    *("Australia/Lord_Howe", "Pacific/Apia", "Pacific/Chatham", "Pacific/Kiritimati"),
)


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type,misc]


def hours(period: Period) -> float:
    return (period.until - period.since) / timedelta(hours=1)


def test_a_month_begins_where_its_people_are() -> None:
    moment = utc(2026, 10, 31, 20)

    assert month_of(moment, ZoneInfo("UTC")).name == "2026-10"
    assert month_of(moment, ZoneInfo("Asia/Kolkata")).name == "2026-11"
    assert named("2026-11", ZoneInfo("Asia/Kolkata")) == Period(
        name="2026-11", since=utc(2026, 10, 31, 18, 30), until=utc(2026, 11, 30, 18, 30)
    )
    assert named("2026-11", ZoneInfo("Asia/Kathmandu")).since == utc(2026, 10, 31, 18, 15)
    assert named("2026-11", ZoneInfo("America/New_York")) == Period(
        name="2026-11", since=utc(2026, 11, 1, 4), until=utc(2026, 12, 1, 5)
    )


def test_the_end_of_a_period_is_no_part_of_it() -> None:
    december = named("2026-12", BERLIN)

    assert december.since in december
    assert december.until not in december
    assert december.until == named("2027-01", BERLIN).since


@pytest.mark.parametrize(
    ("name", "long"),
    [
        ("2026-03-28", 24),
        ("2026-03-29", 23),
        ("2026-10-25", 25),
        ("2026-03", 31 * 24 - 1),
        ("2026-10", 31 * 24 + 1),
    ],
)
def test_a_day_has_as_many_hours_as_its_clocks_say(name: str, long: int) -> None:
    assert hours(named(name, BERLIN)) == long


@pytest.mark.parametrize(
    ("where", "name", "since", "long"),
    [
        ("America/Sao_Paulo", "2017-10-15", utc(2017, 10, 15, 3), 23),
        ("America/Sao_Paulo", "2018-02-17", utc(2018, 2, 17, 2), 25),
        ("Asia/Beirut", "2026-03-29", utc(2026, 3, 28, 22), 23),
        ("Asia/Beirut", "2026-10-24", utc(2026, 10, 23, 21), 25),
        ("America/Havana", "2026-11-01", utc(2026, 11, 1, 4), 25),
        ("Australia/Lord_Howe", "2026-04-05", utc(2026, 4, 4, 13), 24.5),
        ("Pacific/Apia", "2011-12-30", utc(2011, 12, 30, 10), 0),
    ],
)
def test_where_clocks_change_at_midnight_a_day_begins_with_its_first_moment(
    where: str, name: str, since: datetime, long: float
) -> None:
    day = named(name, ZoneInfo(where))

    assert (day.since, hours(day)) == (since, long)


def test_a_day_of_no_length_is_passed_over() -> None:
    apia = ZoneInfo("Pacific/Apia")

    names = [day.name for day in days(named("2011-12", apia), apia)]
    assert names[-2:] == ["2011-12-29", "2011-12-31"]


@pytest.mark.parametrize(
    ("year", "long"), [(2024, 29), (2026, 28), (2028, 29), (2000, 29), (2100, 28)]
)
def test_february_is_as_long_as_the_year_has_it(year: int, long: int) -> None:
    february = named(f"{year}-02", zone("UTC"))

    assert len(list(days(february, zone("UTC")))) == long


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "2026", "2026-13", "2026-00", "0000-01", "9999-12", "9999-12-31"),
        *("2026-02-29", "2026-11-31", "2026-1", "26-11", "2026-11-16T00:00", "2026-11\n"),
        *("-2026-11", "november", "2026-11-"),
    ],
)
def test_what_is_no_month_and_no_day_is_refused_in_words(text: str) -> None:
    with pytest.raises(Invalid, match="is no month and no day") as refused:
        named(text, BERLIN)

    assert refused.value.code == "bad-period"
    assert "2026-11" in refused.value.hint


def test_the_first_month_there_is_is_refused_where_it_begins_before_all_time() -> None:
    assert named("0001-01", zone("UTC")).since == utc(1, 1, 1)
    with pytest.raises(Invalid):
        named("0001-01", ZoneInfo("Asia/Kolkata"))


@pytest.mark.parametrize(
    "name", ["Mars/Olympus", "Europe", "../../etc/passwd", "/etc/passwd", "a\0b", "x" * 5000, "ü"]
)
def test_a_zone_that_there_is_not_is_refused_in_words(name: str) -> None:
    with pytest.raises(Invalid, match="There is no time zone") as refused:
        zone(name)

    assert refused.value.at == "tz"
    assert len(refused.value.detail) < 300


def test_no_zone_is_utc() -> None:
    assert zone("").key == "UTC"
    assert zone("Asia/Kolkata").key == "Asia/Kolkata"


def test_a_period_that_ends_before_it_begins_is_refused() -> None:
    assert spanning(NOON, NOON + timedelta(days=1)).until == NOON + timedelta(days=1)
    for until in (NOON, NOON - timedelta(days=1)):
        with pytest.raises(Invalid, match="ends before it begins"):
            spanning(NOON, until)


zones = st.sampled_from(ZONES).map(ZoneInfo)
moments = st.datetimes(datetime(2020, 1, 1), datetime(2037, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
lengths = st.timedeltas(timedelta(seconds=1), timedelta(days=100))


@given(zones, moments, lengths)
def test_days_and_months_are_a_whole_period_and_nothing_twice(
    where: ZoneInfo, since: datetime, length: timedelta
) -> None:
    period = spanning(since, since + length)
    for cut in (days, months):
        parts = list(cut(period, where))

        assert (parts[0].since, parts[-1].until) == (period.since, period.until)
        assert all(one.until == two.since for one, two in pairwise(parts))
        assert all(each.since < each.until for each in parts)
        assert len({each.name for each in parts}) == len(parts)


@given(zones, moments)
def test_a_moment_is_in_its_own_day_and_month_and_these_have_its_name(
    where: ZoneInfo, moment: datetime
) -> None:
    day, month = day_of(moment, where), month_of(moment, where)

    assert moment in day
    assert moment in month
    assert day.name == moment.astimezone(where).date().isoformat()
    assert (named(day.name, where), named(month.name, where)) == (day, month)


@given(zones, st.dates(date(1990, 1, 1), date(2037, 1, 1)))
def test_every_day_of_our_time_begins_on_a_quarter_of_an_hour(where: ZoneInfo, day: date) -> None:
    period = named(day.isoformat(), where)

    assert period.since == quarter_of(period.since)
