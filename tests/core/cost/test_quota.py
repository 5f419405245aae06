"""Quotas: what keeps a job out, which running ones have to go, and how their owners are told."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterra.core.cost.admission import objections, uncounted
from clusterra.core.cost.estimate.priced import Priced
from clusterra.core.cost.going import AGAIN, Going, Running, noticed, to_go
from clusterra.core.cost.quota import WORKSPACE, Mode, Quota, Quotas, Raise
from clusterra.core.cost.quota_standing import Standing, follows, percent
from clusterra.core.money import MICROS
from tests.builders import NOON
from tests.core.cost.quotas import (
    ANA,
    BEN,
    MONTH,
    a_cost,
    a_quota,
    a_run,
    a_standing,
    usd,
)

# --- whose quota counts


def test_who_has_no_quota_of_their_own_has_everybodys() -> None:
    quotas = Quotas(everybody=a_quota(month=10), people={ANA: a_quota(month=40)})

    assert (quotas.of(ANA).month, quotas.of(BEN).month) == (usd(40), usd(10))
    assert quotas.of(WORKSPACE).month is None


def test_a_raise_counts_until_its_end_and_not_a_moment_longer() -> None:
    more = Raise(micros=usd(5), until=NOON, by="owner", at=NOON - timedelta(days=1))
    quotas = Quotas(everybody=a_quota(month=10), raises={BEN: more})

    assert quotas.of(BEN).month_now(NOON - timedelta(seconds=1)) == usd(15)
    assert quotas.of(BEN).month_now(NOON) == usd(10)
    assert quotas.of(ANA).month_now(NOON - timedelta(seconds=1)) == usd(10)


def test_a_raise_of_no_limit_is_no_limit() -> None:
    more = Raise(micros=usd(5), until=NOON + timedelta(days=1), by="owner", at=NOON)

    assert Quota(raised=more).month_now(NOON) is None


@pytest.mark.parametrize(
    ("spent", "limit", "share"),
    [(0, 10, 0), (799, 1000, 79), (800, 1000, 80), (1500, 1000, 150), (0, 0, 0), (1, 0, 100)],
)
def test_percent_is_rounded_down(spent: int, limit: int, share: int) -> None:
    assert percent(spent, limit) == share


# --- before a job is taken


@pytest.mark.parametrize(
    ("limits", "figures", "cost", "said"),
    [
        (
            {"month": 10},
            {"booked": 4, "pending": 3, "to_come": 2},
            a_cost(2, 60),
            (
                "This job would bring ana@lab.example to $11.00 this month; the limit is $10.00."
                " Spent so far: $4.00, running jobs have come to $3.00 and may add $2.00, this job $2.00."
            ),
        ),
        (
            {"day": 3},
            {"waiting": 2},
            a_cost(2, 60),
            (
                "This job would bring ana@lab.example to $4.00 today; the limit is $3.00."
                " Spent so far: $0.00, waiting jobs $2.00, this job $2.00."
            ),
        ),
        (
            {"job": 1},
            {},
            a_cost(2, 60),
            "This job would cost $2.00; ana@lab.example may spend $1.00 on one job.",
        ),
        (
            {"job": 1},
            {},
            a_cost(2, 60, tasks=10),
            "Each task of this array would cost $2.00; ana@lab.example may spend $1.00 on one job.",
        ),
        (
            {"burn": 5},
            {"burn": usd(3), "burn_waiting": usd(1)},
            a_cost(2),
            (
                "With this job, what ana@lab.example runs would cost $6.00 per hour; the limit is"
                " $5.00. What runs costs $3.00, what waits would cost $1.00, this job $2.00."
            ),
        ),
    ],
)
def test_each_limit_has_its_own_sentence_in_the_users_numbers(
    limits: dict[str, float], figures: dict[str, Any], cost: Priced, said: str
) -> None:
    (objection,) = objections([a_standing(a_quota(Mode.BLOCK, **limits), **figures)], cost)

    assert objection.sentence == said
    assert objection.blocks


@pytest.mark.parametrize("limit", ["month", "day", "job", "burn"])
def test_up_to_the_limit_is_within_it(limit: str) -> None:
    standing = a_standing(a_quota(Mode.BLOCK, **{limit: 2}))

    assert not objections([standing], a_cost(2, 60))
    assert objections([standing], a_cost(2.000_001, 60))


def test_a_job_without_a_time_limit_counts_to_the_end_of_each_period() -> None:
    quota = a_quota(Mode.BLOCK, month=10_000, day=11)  # twelve hours are left of the day

    (objection,) = objections([a_standing(quota)], a_cost(1, None))

    assert "$12.00 today" in objection.sentence


def test_of_a_job_that_is_longer_than_the_month_only_this_months_part_counts() -> None:
    late = MONTH.until - timedelta(hours=1)
    standing = a_standing(a_quota(Mode.BLOCK, month=5), now=late)

    assert not objections([standing], a_cost(5, 600))
    assert objections([standing], a_cost(6, 600))


def test_a_job_that_costs_nothing_is_taken_whatever_was_spent() -> None:
    assert not objections([a_standing(a_quota(Mode.BLOCK, month=1), booked=5)], a_cost(0))


def test_who_only_observes_is_told_nothing() -> None:
    standing = a_standing(a_quota(Mode.OBSERVE, month=1), booked=5)

    assert not objections([standing], a_cost())
    assert not uncounted([standing], a_cost(None))


def test_a_job_of_unknown_price_is_let_in_and_said_not_to_count() -> None:
    standing = a_standing(a_quota(Mode.BLOCK, month=1), booked=5)

    assert not objections([standing], a_cost(None))
    assert uncounted([standing], a_cost(None)) == (
        "It is not known what this job costs (No price is known for x1.mega); no quota counts it."
    )


def test_what_keeps_a_job_out_is_said_before_what_only_warns() -> None:
    warns = a_standing(a_quota(Mode.WARN, month=1), booked=50)
    blocks = a_standing(a_quota(Mode.BLOCK, month=10), whose=WORKSPACE, booked=10)

    first, second = objections([warns, blocks], a_cost())

    assert first.blocks
    assert first.sentence.startswith("This job would bring the workspace to $11.00")
    assert not second.blocks


def test_of_two_that_keep_it_out_the_one_broken_further_is_said() -> None:
    quota = a_quota(Mode.BLOCK, month=10, day=2)

    first, _ = objections([a_standing(quota, booked=10)], a_cost())

    assert "today" in first.sentence


# --- who has to go


def ids(going: list[Going]) -> list[int]:
    return [each.running.open.job.id for each in going]


def over(running: list[Running], **known: Any) -> Standing:
    """Return ana, who has spent nothing yet and whose jobs run to their limits."""
    theirs = [each for each in running if each.open.payer.person == ANA]
    to_come = sum(each.open.to_come(MONTH.until) for each in theirs) / MICROS
    return a_standing(a_quota(**known), to_come=to_come)


def test_the_newest_go_first_and_of_those_the_most_expensive() -> None:
    running = [
        a_run(1, began=30),
        a_run(2, began=10),
        a_run(3, began=10, usd_per_hour=3),
        a_run(4, began=20),
    ]

    assert ids([*to_go(running, [over(running, month=2)])]) == [3, 2]
    assert ids([*to_go(running, [over(running, month=0)])]) == [3, 2, 4, 1]


def test_nothing_goes_before_the_buffer_is_used_up() -> None:
    running = [a_run(1), a_run(2, began=1)]

    assert not to_go(running, [over(running, month=1, buffer_percent=100)])
    assert ids([*to_go(running, [over(running, month=1, buffer_percent=99)])]) == [1]


@pytest.mark.parametrize("mode", [Mode.OBSERVE, Mode.WARN, Mode.BLOCK])
def test_other_modes_end_nothing(mode: Mode) -> None:
    running = [a_run(1)]
    standing = over(running, month=0)

    assert not to_go(running, [replace(standing, quota=replace(standing.quota, mode=mode))])


def test_who_has_been_told_goes_before_a_newer_job() -> None:
    running = [a_run(1, began=30), a_run(2)]

    assert ids([*to_go(running, [over(running, month=1)], {running[0].key})]) == [1]


def test_what_goes_for_a_person_counts_for_the_workspace() -> None:
    running = [a_run(1), a_run(2, person=BEN, began=5)]
    ana = a_standing(a_quota(month=0), to_come=1)
    all_of_them = a_standing(a_quota(month=1), whose=WORKSPACE, to_come=2)

    assert ids([*to_go(running, [all_of_them, ana])]) == [1]
    assert ids([*to_go(running, [all_of_them])]) == [1]
    assert ids([*to_go(running, [replace(all_of_them, quota=a_quota(month=0)), ana])]) == [1, 2]


RUNS = st.lists(
    st.builds(
        lambda number, person, rate, minutes, began: a_run(
            number, person=person, usd_per_hour=rate, minutes=minutes, began=began
        ),
        st.integers(1, 10_000),
        st.sampled_from((ANA, BEN)),
        st.sampled_from((None, 0, 0.5, 1, 7)),
        st.sampled_from((None, 1, 60, 5_000)),
        st.integers(0, 5),
    ),
    unique_by=lambda each: each.key,
    max_size=12,
)


@given(RUNS, st.floats(0, 30), st.floats(0, 20), st.integers(0, 100))
def test_nobody_elses_jobs_go_and_what_is_left_is_within_the_limit_or_costs_nothing(
    running: list[Running], limit: float, booked: float, buffer: int
) -> None:
    standing = replace(over(running, month=limit, buffer_percent=buffer))
    figures = replace(standing.month, booked=usd(booked))
    standing = replace(standing, month=figures)

    going = to_go(running, [standing])

    assert {each.running.open.payer.person for each in going} <= {ANA}
    gone = {each.running.key for each in going}
    left = [each for each in running if each.open.payer.person == ANA and each.key not in gone]
    to_come = sum(each.open.to_come(MONTH.until) for each in left)
    most = usd(limit) * (100 + buffer) // 100
    assert usd(booked) + to_come <= most or to_come == 0
    if going:  # and not one more than it takes
        spared = going[-1].running.open.to_come(MONTH.until)
        assert usd(booked) + to_come + spared > most
    order = [(each.running.open.job.started_at, each.running.open.usd_per_hour) for each in going]
    assert order == sorted(order, reverse=True)


# --- how they are told


def going_of(id: int = 1, *, grace: int = 60, standing: Standing | None = None) -> Going:
    quota = a_quota(month=1, grace_seconds=grace)
    return Going(running=a_run(id), standing=standing or a_standing(quota, booked=1, to_come=1))


def test_they_are_told_first_and_ended_after_the_grace_and_not_before() -> None:
    told = noticed((), [going_of()], NOON)
    before = noticed(told.notices, [going_of()], NOON + timedelta(seconds=59))
    after = noticed(told.notices, [going_of()], NOON + timedelta(seconds=60))

    assert [notice.cancels_at for _, notice in told.new] == [NOON + timedelta(seconds=60)]
    assert (list(told.due), list(before.new), list(before.due)) == ([], [], [])
    assert len(after.due) == 1
    assert told.notices[0].why == (
        "ana@lab.example would have spent $2.00 in 2026-03 once all that runs has taken its time"
        " ($1.00 so far, $1.00 to come); the limit is $1.00"
    )


def test_a_job_that_does_not_end_is_asked_again_after_a_while() -> None:
    told = noticed((), [going_of(grace=0)], NOON)
    soon = noticed(told.notices, [going_of()], NOON + AGAIN - timedelta(seconds=1))
    later = noticed(told.notices, [going_of()], NOON + AGAIN)

    assert (len(told.due), len(soon.due), len(later.due)) == (1, 0, 1)


def test_who_is_within_the_limit_again_hears_no_more_of_it() -> None:
    told = noticed((), [going_of(1), going_of(2)], NOON)

    assert [each.key for each in noticed(told.notices, [going_of(2)], NOON).notices] == [
        going_of(2).running.key
    ]


def test_in_a_new_month_they_are_told_anew() -> None:
    told = noticed((), [going_of()], NOON)
    april = replace(MONTH, name="2026-04")
    standing = a_standing(a_quota(month=1, grace_seconds=60), booked=1, to_come=1)
    standing = replace(standing, month=replace(standing.month, period=april))

    anew = noticed(told.notices, [going_of(standing=standing)], NOON + timedelta(minutes=5))

    assert len(anew.new) == 1
    assert not anew.due


def test_a_clock_that_is_put_back_neither_hurries_nor_spares_anybody() -> None:
    told = noticed((), [going_of()], NOON)
    hour_back = NOON - timedelta(hours=1)
    back = noticed(told.notices, [going_of()], hour_back)

    assert not back.new
    assert not noticed(back.notices, [going_of()], hour_back + timedelta(seconds=59)).due
    assert noticed(back.notices, [going_of()], hour_back + timedelta(seconds=60)).due


# --- what an admin is told


@pytest.mark.parametrize(
    ("mode", "figures", "going", "said"),
    [
        (Mode.BLOCK, {"booked": 39, "to_come": 1}, 0, ""),
        (
            Mode.BLOCK_AND_KILL,
            {"booked": 41.2},
            2,
            (
                "ana@lab.example has spent $41.20 of $40.00; 2 running jobs will be cancelled from"
                " 12:05 UTC on."
            ),
        ),
        (
            Mode.BLOCK,
            {"booked": 30, "to_come": 20},
            0,
            (
                "ana@lab.example has spent $30.00 of $40.00, and what runs would bring that to $50.00;"
                " what would cost more is not taken."
            ),
        ),
        (
            Mode.WARN,
            {"booked": 41.2},
            0,
            "ana@lab.example has spent $41.20 of $40.00; nothing is stopped in the mode warn.",
        ),
    ],
)
def test_what_a_limit_does_at_once_is_said(
    mode: Mode, figures: dict[str, Any], going: int, said: str
) -> None:
    quota = a_quota(mode, month=40, grace_seconds=300)

    assert follows(a_standing(quota, **figures), going) == said
