"""What an admin may set about quotas, and what they may not.

An edit names only what is to be different, and is refused as a whole, in the admin's own
numbers. A limit below what is spent already is no mistake: what follows is said, and done.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from clusterra.core.cost.periods import zone
from clusterra.core.cost.quota import WORKSPACE, Mode, Quota, Quotas, Raise
from clusterra.core.errors import Invalid, Refused
from clusterra.core.money import MICROS, dollars
from clusterra.core.named import one_of
from clusterra.core.quote import shown
from clusterra.core.words import span

EVERYBODY = "everybody"
"""Whose quota counts for each person without one of their own. No e-mail is like this."""

AMOUNTS = ("month", "day", "job", "burn")
MOST = 100_000_000 * MICROS
MOST_PERCENT = 100
LONGEST_GRACE = 24 * 3600
DAY = timedelta(days=1)
LONGEST_RAISE = timedelta(days=366)
LONGEST_WHY = 500
"""Beyond these it is a slip of the hand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaEdit:
    """None leaves it as it is."""

    amounts: Mapping[str, int | None] = field(default_factory=dict)
    """Of `AMOUNTS`, in millionths of a dollar; None lifts the limit, what is not named stays."""

    mode: str | None = None
    buffer_percent: int | None = None
    grace_seconds: int | None = None
    zone: str | None = None
    waste_per_day: Mapping[str, int | None] = field(default_factory=dict)
    """As amounts; `waste_per_day` is its only name. These two are the workspace's alone."""


def edited(before: Quotas, whose: str, edit: QuotaEdit) -> Quotas:
    """Return the quotas after an edit of somebody's; raise Invalid if that makes no sense."""
    if edit == QuotaEdit():
        raise Invalid(
            "Nothing is to be changed.",
            hint="Say what: month, day, job, burn, mode, buffer_percent, grace_seconds.",
            code="nothing-to-change",
        )
    if whose != WORKSPACE and (edit.zone is not None or edit.waste_per_day):
        raise Invalid(
            "The time zone, and what may be wasted in a day, are the same for a whole workspace.",
            hint="Set them with `clusterra quota set workspace`.",
            at="zone" if edit.zone is not None else "waste_per_day",
        )
    after = before
    for name, amount in edit.waste_per_day.items():
        _check_amount(name, amount)
        after = replace(after, waste_per_day=amount)
    if edit.zone is not None:
        after = replace(after, zone=zone(edit.zone).key)
    old = _own(before, whose)
    quota = _quota(old, edit)
    if quota == old and (whose in (WORKSPACE, EVERYBODY) or whose in before.people):
        return after
    if whose == WORKSPACE:
        return replace(after, workspace=quota)
    if whose == EVERYBODY:
        return replace(after, everybody=quota)
    return replace(after, people={**before.people, whose: quota})


def like_everybody(before: Quotas, person: str) -> Quotas:
    """Return the quotas after somebody's own was taken away."""
    return replace(
        before, people={name: each for name, each in before.people.items() if name != person}
    )


def raised(
    before: Quotas, whose: str, *, micros: int, until: datetime, by: str, at: datetime, why: str
) -> Quotas:
    """Allow somebody more than the limit of the month for a while; 0 ends that."""
    others = {name: each for name, each in before.raises.items() if name != whose}
    if micros == 0:
        return replace(before, raises=others)
    if before.of(whose).month is None:
        raise Refused(
            f"{'The workspace' if whose == WORKSPACE else whose} has no limit of the month, so"
            " there is nothing to raise.",
            hint="Set one with `clusterra quota set --month`.",
            code="no-limit",
        )
    _check_amount("micros", micros)
    if until <= at:
        raise Invalid(
            f"The raise would have ended at {until:%Y-%m-%d %H:%M} UTC, which is past.",
            hint="Say a later moment, or for how many days.",
            at="until",
        )
    if until - at > LONGEST_RAISE:
        raise Invalid(
            f"A raise cannot last {math.ceil((until - at) / DAY):,} days.",
            hint=f"Say up to {LONGEST_RAISE.days}, or change the limit itself.",
            at="until",
        )
    if len(why) > LONGEST_WHY:
        raise Invalid(
            f"The reason has {len(why):,} characters.",
            hint=f"Say it in at most {LONGEST_WHY}.",
            at="why",
        )
    more = Raise(micros=micros, until=until, by=by, at=at, why=why)
    return replace(before, raises={**others, whose: more})


def differences(before: Quotas, after: Quotas, whose: str) -> tuple[str, ...]:
    """Tell each difference as `month: $300.00 → $400.00`."""
    old, new = _told(before, whose), _told(after, whose)
    return tuple(f"{name}: {old[name]} → {new[name]}" for name in new if old[name] != new[name])


def check_currency(name: str | None) -> None:
    if name is not None and name.upper() != "USD":
        raise Invalid(
            f"Amounts in {shown(name)} are not kept here.",
            hint="Everything is counted in US dollars: say USD, or leave it out.",
            at="currency",
            code="unknown-currency",
        )


def _own(quotas: Quotas, whose: str) -> Quota:
    """Return what an edit begins with: of somebody without a quota of their own, everybody's."""
    if whose == WORKSPACE:
        return quotas.workspace
    return quotas.people.get(whose, quotas.everybody)


def _quota(before: Quota, edit: QuotaEdit) -> Quota:
    after = before
    for name, amount in edit.amounts.items():
        _check_amount(name, amount)
    if edit.amounts:
        after = replace(after, **edit.amounts)  # type: ignore[arg-type]
    if edit.mode is not None:
        after = replace(after, mode=_mode(edit.mode))
    if edit.buffer_percent is not None:
        if not 0 <= edit.buffer_percent <= MOST_PERCENT:
            raise Invalid(
                f"The buffer cannot be {edit.buffer_percent:,} %.",
                hint=f"Say 0 to {MOST_PERCENT}: how far above its limit the month may be.",
                at="buffer_percent",
            )
        after = replace(after, buffer_percent=edit.buffer_percent)
    if edit.grace_seconds is not None:
        if not 0 <= edit.grace_seconds <= LONGEST_GRACE:
            raise Invalid(
                f"The grace cannot be {edit.grace_seconds:,} seconds.",
                hint=f"Say 0 to {LONGEST_GRACE:,} seconds (a day).",
                at="grace_seconds",
            )
        after = replace(after, grace_seconds=edit.grace_seconds)
    return after


def _mode(text: str) -> Mode:
    return one_of(Mode, text.replace("-", "_"), what="mode", at="mode")


def _check_amount(name: str, amount: int | None) -> None:
    if amount is not None and not 0 <= amount <= MOST:
        raise Invalid(
            f"{name} cannot be {dollars(amount)}.",
            hint=f"Say up to {dollars(MOST)}; null, or `none` in the terminal, is no limit.",
            at=name,
        )


def _told(quotas: Quotas, whose: str) -> Mapping[str, str]:
    quota = _own(quotas, whose)
    said = {name: _limit(getattr(quota, name)) for name in AMOUNTS}
    said |= {
        "mode": quota.mode.value,
        "buffer": f"{quota.buffer_percent} %",
        "grace": span(quota.grace_seconds),
    }
    if whose == WORKSPACE:
        said |= {"zone": quotas.zone, "waste per day": _limit(quotas.waste_per_day)}
    elif whose != EVERYBODY:
        said["own"] = "yes" if whose in quotas.people else "no, as everybody"
    return said


def _limit(micros: int | None) -> str:
    return "no limit" if micros is None else dollars(micros)
