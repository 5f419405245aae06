"""What an admin may set about a fleet, and what they may not.

An edit names only what is to be different. It is refused as a whole, in the admin's own
numbers, if what would come of it makes no sense; the planner can then trust any policy.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches

from clusterra.core.errors import Invalid
from clusterra.core.money import MICROS, dollars
from clusterra.core.named import one_of
from clusterra.core.quote import shown
from clusterra.core.scaling.policy import Policy, Rule
from clusterra.core.scaling.shapes import Purchase, Shape

MOST_WORKERS = 10_000
MOST_USD_PER_HOUR = 1_000_000 * MICROS
LONGEST_IDLE = 7 * 24 * 3600
"""Beyond these it is a slip of the hand: a fleet of that size is not one cluster's."""

ARCHITECTURES = ("amd64", "arm64")


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyEdit:
    """None leaves it as it is."""

    rule: str | None = None
    max_workers: int | None = None
    max_usd_per_hour: int | None = None
    """In millionths of a dollar; 0 lifts the limit."""

    idle_seconds: int | None = None
    purchase: str | None = None
    architectures: tuple[str, ...] | None = None
    minimum: Mapping[str, int] | None = None
    """How many of these shapes are always kept; 0 keeps none. Other shapes stay as they are."""


def edited(before: Policy, edit: PolicyEdit, shapes: Mapping[str, Shape]) -> Policy:
    """Return the policy after an edit; raise Invalid if that is none."""
    if edit == PolicyEdit():
        raise Invalid(
            "Nothing is to be changed.",
            hint=f"Say what: {', '.join(each.name for each in fields(PolicyEdit))}.",
            code="nothing-to-change",
        )
    after = before
    if edit.rule is not None:
        after = replace(after, rule=one_of(Rule, edit.rule, what="rule", at="rule"))
    if edit.purchase is not None:
        after = replace(
            after, purchase=one_of(Purchase, edit.purchase, what="purchase", at="purchase")
        )
    if edit.max_workers is not None:
        _check_number("max_workers", edit.max_workers, MOST_WORKERS, "workers")
        after = replace(after, max_workers=edit.max_workers)
    if edit.idle_seconds is not None:
        _check_number("idle_seconds", edit.idle_seconds, LONGEST_IDLE, "seconds (a week)")
        after = replace(after, idle_seconds=edit.idle_seconds)
    if edit.max_usd_per_hour is not None:
        after = replace(after, max_usd_per_hour=_spend(edit.max_usd_per_hour))
    if edit.architectures is not None:
        after = replace(after, architectures=_architectures(edit.architectures))
    if edit.minimum is not None:
        after = replace(after, minimum=_minimum(before.minimum, edit.minimum, shapes))
    _check_holds_minimum(after, shapes)
    return after


def differences(before: Policy, after: Policy) -> tuple[str, ...]:
    """Tell each difference as `max_workers: 64 → 4`."""
    return tuple(
        f"{each.name}: {told(before, each.name)} → {told(after, each.name)}"
        for each in fields(Policy)
        if getattr(before, each.name) != getattr(after, each.name)
    )


def told(policy: Policy, name: str) -> str:
    """Return one setting of a policy as people say it."""
    match name:
        case "max_usd_per_hour":
            most = policy.max_usd_per_hour
            return "no limit" if most is None else dollars(most)
        case "architectures":
            return ", ".join(policy.architectures)
        case "minimum":
            kept = sorted(policy.minimum.items())
            return ", ".join(f"{number} {shape}" for shape, number in kept) or "none"
    return str(getattr(policy, name))


def _check_number(name: str, number: int, most: int, unit: str) -> None:
    if not 0 <= number <= most:
        raise Invalid(f"{name} cannot be {number:,}.", hint=f"Say 0 to {most:,} {unit}.", at=name)


def _spend(micros: int) -> int | None:
    if not 0 <= micros <= MOST_USD_PER_HOUR:
        raise Invalid(
            f"max_usd_per_hour cannot be {dollars(micros)}.",
            hint=f"Say up to {dollars(MOST_USD_PER_HOUR)}, or 0 for no limit.",
            at="max_usd_per_hour",
        )
    return micros or None


def _architectures(wanted: tuple[str, ...]) -> tuple[str, ...]:
    strange = [each for each in wanted if each not in ARCHITECTURES]
    if strange or not wanted or len(set(wanted)) < len(wanted):
        what = shown(strange[0]) if strange else "none at all" if not wanted else "one twice"
        raise Invalid(
            f"The architectures cannot be {what}.",
            hint=f"Say {' and '.join(ARCHITECTURES)}, the preferred one first, or one of them.",
            at="architectures",
        )
    return wanted


def _minimum(
    before: Mapping[str, int], wanted: Mapping[str, int], shapes: Mapping[str, Shape]
) -> Mapping[str, int]:
    for shape, number in wanted.items():
        # A shape that has left the table can still be let go of.
        if shape not in shapes and number != 0:
            raise Invalid(
                f"There is no shape {shown(shape)} here.",
                hint=_nearest(shape, shapes),
                at="minimum",
                code="unknown-shape",
            )
        _check_number("minimum", number, MOST_WORKERS, f"workers of {shape}")
    return {shape: number for shape, number in {**before, **wanted}.items() if number}


def _nearest(shape: str, shapes: Iterable[str]) -> str:
    near = get_close_matches(shape, shapes, n=3)
    if near:
        return f"Did you mean {' or '.join(near)}?"
    return "`clusterra fleet show --json` lists the shapes of this cluster."


def _check_holds_minimum(policy: Policy, shapes: Mapping[str, Shape]) -> None:
    kept = sum(policy.minimum.values())
    if kept > policy.max_workers:
        raise Invalid(
            f"At most {policy.max_workers} workers is less than the {kept} that are always kept"
            f" ({told(policy, 'minimum')}).",
            hint="Raise max_workers, or keep fewer with minimum.",
            at="max_workers",
            code="max-below-minimum",
        )
    prices = {
        name: shapes[name].usd_per_hour(policy.purchase)
        for name in policy.minimum
        if name in shapes
    }
    cost = sum((price or 0) * policy.minimum[name] for name, price in prices.items())
    if policy.max_usd_per_hour is not None and cost > policy.max_usd_per_hour:
        raise Invalid(
            f"At most {dollars(policy.max_usd_per_hour)} per hour is less than the {dollars(cost)}"
            f" of the workers that are always kept ({told(policy, 'minimum')}).",
            hint="Raise max_usd_per_hour, or keep fewer with minimum.",
            at="max_usd_per_hour",
            code="max-below-minimum",
        )
