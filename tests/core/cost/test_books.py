"""What an entry adds to the books: in the right quarters of an hour, and in all exactly itself."""

from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterra.core.cost.books import (
    QUARTER,
    Entry,
    Payer,
    Run,
    Spending,
    Sums,
    paid_run,
    portions,
    quarter_of,
    within,
)
from clusterra.core.cost.charges import Charge, accrued
from clusterra.core.errors import Invalid
from tests.builders import NOON

ANA = Payer(person="ana@lab.org")
DAY = timedelta(days=1)


def after(seconds: int) -> datetime:
    return NOON + timedelta(seconds=seconds)


def charged(since: int, seconds: int, usd_per_hour: int | None = 3600) -> Charge:
    return Charge(since=after(since), until=after(since + seconds), usd_per_hour=usd_per_hour)


def an_entry(*charges: Charge, why_unknown: str = "", cpus: int = 2, gpus: int = 0) -> Entry:
    return Entry(
        payer=ANA,
        charges=charges,
        cpus=cpus,
        gpus=gpus,
        until=max((each.until for each in charges), default=NOON),
        jobs=1,
        why_unknown=why_unknown,
    )


def placed(entry: Entry) -> dict[datetime, Sums]:
    return {datetime.fromtimestamp(at, UTC): sums for at, sums in portions(entry)}


def summed(entry: Entry) -> Sums:
    return sum((sums for _, sums in portions(entry)), Sums())


rates = st.none() | st.integers(0, 50_000_000)
charges = st.builds(charged, st.integers(0, 300_000), st.integers(0, 300_000), rates)
entries = st.builds(
    an_entry,
    charges,
    charges,
    charges,
    why_unknown=st.sampled_from(["", "", "No price is known."]),
    cpus=st.integers(0, 128),
    gpus=st.integers(0, 8),
)


def test_a_run_is_cut_at_every_quarter_of_an_hour_and_counted_where_it_ends() -> None:
    found = placed(an_entry(charged(600, 1500)))

    assert found == {
        NOON: Sums(micros=300, seconds=300, cpu_seconds=600),
        NOON + QUARTER: Sums(micros=900, seconds=900, cpu_seconds=1800),
        NOON + 2 * QUARTER: Sums(micros=300, jobs=1, seconds=300, cpu_seconds=600),
    }


def test_a_job_that_took_no_time_is_one_job_and_nothing_else() -> None:
    assert placed(an_entry()) == {NOON: Sums(jobs=1)}
    assert placed(an_entry(charged(0, 0))) == {NOON: Sums(jobs=1)}


def test_what_ends_as_a_quarter_begins_is_counted_there_and_costs_nothing_there() -> None:
    found = placed(an_entry(charged(0, 900)))

    assert found[NOON].jobs == 0
    assert found[NOON + QUARTER] == Sums(jobs=1)


def test_what_is_not_known_adds_time_and_no_money() -> None:
    found = summed(an_entry(charged(0, 3600), charged(3600, 60, None), why_unknown="No price."))

    assert found == Sums(jobs=1, unknown=1, seconds=3660, cpu_seconds=2 * 3660)


def test_a_month_of_quarters_is_all_there() -> None:
    month = charged(77, 30 * 86_400, 123_457)
    found = placed(an_entry(month))

    assert len(found) == 30 * 96 + 1
    assert summed(an_entry(month)).micros == 30 * 24 * 123_457
    assert {sums.micros for at, sums in found.items() if at not in (min(found), max(found))} == {
        30_864,
        30_865,
    }


def test_times_of_any_zone_are_the_same_times() -> None:
    zone = timezone(timedelta(hours=5, minutes=45))
    here = charged(600, 1500)
    there = Charge(
        since=here.since.astimezone(zone),
        until=here.until.astimezone(zone),
        usd_per_hour=here.usd_per_hour,
    )

    assert placed(an_entry(here)) == placed(an_entry(there))
    assert quarter_of((NOON + QUARTER * 1.5).astimezone(zone)) == NOON + QUARTER


@given(entries)
def test_portions_come_to_exactly_the_whole(entry: Entry) -> None:
    seconds = sum(each.seconds for each in entry.charges)

    assert summed(entry) == Sums(
        micros=0 if entry.why_unknown else accrued(entry.charges),
        jobs=1,
        unknown=1 if entry.why_unknown else 0,
        seconds=seconds,
        cpu_seconds=entry.cpus * seconds,
        gpu_seconds=entry.gpus * seconds,
    )


@st.composite
def lives(draw: st.DrawFn) -> Entry:
    """Draw an entry as bills have them: one charge after another, with pauses."""
    found, at = [], 0
    for _ in range(draw(st.integers(0, 4))):
        at += draw(st.integers(0, 50_000))
        found.append(charged(at, draw(st.integers(0, 150_000)), draw(rates)))
        at += found[-1].seconds
    why = draw(st.sampled_from(["", "", "No price is known."]))
    return an_entry(*found, why_unknown=why, gpus=1)


@given(lives(), st.integers(-10, 800), st.integers(-10, 800))
def test_within_is_what_the_quarters_of_a_period_come_to(entry: Entry, one: int, two: int) -> None:
    since, until = (NOON + n * QUARTER for n in sorted((one, two)))
    inside = (sums for at, sums in placed(entry).items() if since <= at < until)

    assert within(entry, since, until) == sum(inside, Sums())


@given(entries, st.sets(st.integers(-10, 800), min_size=2, max_size=6))
def test_within_agrees_however_a_period_is_cut(entry: Entry, cuts: set[int]) -> None:
    ends = [NOON + n * QUARTER for n in sorted(cuts)]
    parts = [within(entry, since, until) for since, until in pairwise(ends)]

    assert sum(parts, Sums()) == within(entry, ends[0], ends[-1])
    assert within(entry, NOON - DAY, NOON + 10 * DAY) == summed(entry)


def test_only_what_has_a_run_is_a_paid_run_and_it_begins_with_its_first_charge() -> None:
    run = Run(job_id=7, born_at=NOON)
    entry = Entry(payer=ANA, charges=(charged(60, 3600),), until=after(4000), run=run)
    paid = paid_run("cluslab1", entry)

    assert paid_run("cluslab1", an_entry(charged(0, 60))) is None
    assert paid is not None
    assert (paid.since, paid.until, paid.micros) == (after(60), after(4000), 3600)


def test_a_question_between_two_quarters_is_refused() -> None:
    Spending(clusters=(), since=NOON, until=NOON + QUARTER).check()
    with pytest.raises(Invalid, match="12:00:01 UTC"):
        Spending(clusters=(), since=NOON, until=after(1)).check()
