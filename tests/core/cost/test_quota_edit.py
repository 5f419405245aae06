"""What an admin may set about quotas; what they may not is refused in their own numbers."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from clusterra.core.cost.quota import WORKSPACE, Mode, Quota, Quotas
from clusterra.core.cost.quota_edit import (
    EVERYBODY,
    LONGEST_WHY,
    MOST,
    QuotaEdit,
    check_currency,
    differences,
    edited,
    like_everybody,
    raised,
)
from clusterra.core.errors import ClusterraError, Invalid, Refused
from tests.builders import NOON
from tests.core.cost.quotas import ANA, BEN, a_quota, usd

LIMITED = Quotas(everybody=a_quota(Mode.WARN, month=10))


def more(quotas: Quotas = LIMITED, whose: str = ANA, **known: Any) -> Quotas:
    fields: dict[str, Any] = {
        "micros": usd(5),
        "until": NOON + timedelta(days=7),
        "by": "owner@lab.example",
        "at": NOON,
        "why": "a revision is due",
    }
    return raised(quotas, whose, **(fields | known))


def test_what_is_not_named_stays_and_none_lifts_a_limit() -> None:
    before = Quotas(people={ANA: a_quota(month=40, day=5)})

    after = edited(before, ANA, QuotaEdit(amounts={"day": None}, mode="warn"))

    assert after.people[ANA] == Quota(month=usd(40), mode=Mode.WARN)


def test_a_persons_own_quota_begins_as_everybodys_and_leaves_that_alone() -> None:
    after = edited(LIMITED, ANA, QuotaEdit(amounts={"day": usd(2)}))

    assert after.people == {ANA: replace(LIMITED.everybody, day=usd(2))}
    assert after.everybody == LIMITED.everybody
    assert like_everybody(after, ANA) == LIMITED


def test_everybodys_and_the_workspaces_are_set_apart() -> None:
    all_of_them = edited(LIMITED, WORKSPACE, QuotaEdit(amounts={"month": 7}, zone="Asia/Kolkata"))
    each = edited(LIMITED, EVERYBODY, QuotaEdit(amounts={"month": 7}))

    assert (all_of_them.workspace.month, all_of_them.zone) == (7, "Asia/Kolkata")
    assert all_of_them.everybody == LIMITED.everybody
    assert (each.everybody.month, each.workspace) == (7, LIMITED.workspace)


def test_each_difference_is_told() -> None:
    edit = QuotaEdit(amounts={"month": usd(300), "burn": None}, mode="block-and-kill")
    after = edited(Quotas(people={ANA: a_quota(Mode.WARN, month=40)}), ANA, edit)
    before = Quotas(people={ANA: a_quota(Mode.WARN, month=40)})

    assert differences(before, after, ANA) == (
        "month: $40.00 → $300.00",
        "mode: warn → block_and_kill",
    )
    assert differences(LIMITED, edited(LIMITED, ANA, QuotaEdit(buffer_percent=10)), ANA) == (
        "buffer: 0 % → 10 %",
        "own: no, as everybody → yes",
    )


@pytest.mark.parametrize(
    ("edit", "said", "at"),
    [
        (QuotaEdit(), "Nothing is to be changed.", ""),
        (QuotaEdit(amounts={"month": -usd(5)}), "month cannot be -$5.00.", "month"),
        (QuotaEdit(amounts={"day": MOST + 1}), "day cannot be $100,000,000.00.", "day"),
        (QuotaEdit(buffer_percent=1000), "The buffer cannot be 1,000 %.", "buffer_percent"),
        (QuotaEdit(buffer_percent=-1), "The buffer cannot be -1 %.", "buffer_percent"),
        (
            QuotaEdit(grace_seconds=86_401),
            "The grace cannot be 86,401 seconds.",
            "grace_seconds",
        ),
        (QuotaEdit(mode="strict"), 'There is no mode "strict".', "mode"),
        (
            QuotaEdit(zone="UTC"),
            "The time zone, and what may be wasted in a day, are the same for a whole workspace.",
            "zone",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_in_the_admins_numbers(
    edit: QuotaEdit, said: str, at: str
) -> None:
    with pytest.raises(Invalid) as caught:
        edited(LIMITED, ANA, edit)

    assert (caught.value.detail, caught.value.at) == (said, at)
    assert caught.value.hint


def test_there_is_no_time_zone_that_nobody_knows() -> None:
    with pytest.raises(Invalid, match='There is no time zone "Mars/Olympus"'):
        edited(LIMITED, WORKSPACE, QuotaEdit(zone="Mars/Olympus"))


def test_both_ends_of_each_range_are_within_it() -> None:
    for edit in (
        QuotaEdit(amounts={"month": 0, "day": MOST}),
        QuotaEdit(buffer_percent=0, grace_seconds=0),
        QuotaEdit(buffer_percent=100, grace_seconds=86_400),
    ):
        assert edited(LIMITED, ANA, edit).people


@pytest.mark.parametrize("name", ["EUR", "euro", "", "bitcoin"])
def test_only_dollars_are_kept(name: str) -> None:
    check_currency(None)
    check_currency("usd")
    with pytest.raises(Invalid, match="are not kept here"):
        check_currency(name)


def test_somebody_is_allowed_more_and_keeps_everybodys_quota() -> None:
    after = more()

    assert after.people == {}
    assert after.of(ANA).month_now(NOON) == usd(15)
    assert after.of(BEN).month_now(NOON) == usd(10)
    assert more(after, micros=0) == LIMITED


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({"micros": -usd(1)}, "micros cannot be -$1.00."),
        ({"micros": MOST + 1}, "micros cannot be $100,000,000.00."),
        ({"until": NOON}, "The raise would have ended at 2026-03-02 12:00 UTC, which is past."),
        ({"until": NOON + timedelta(days=400)}, "A raise cannot last 400 days."),
        ({"why": "x" * (LONGEST_WHY + 1)}, "The reason has 501 characters."),
    ],
)
def test_a_raise_that_makes_no_sense_is_refused(known: dict[str, Any], said: str) -> None:
    with pytest.raises(ClusterraError) as caught:
        more(**known)

    assert caught.value.detail == said


def test_what_has_no_limit_cannot_be_raised() -> None:
    with pytest.raises(Refused, match="The workspace has no limit of the month"):
        more(whose=WORKSPACE)
