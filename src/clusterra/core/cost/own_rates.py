"""What an admin may say that a CPU, a GiB and a GPU cost, and how a change of it is told."""

from collections.abc import Iterator
from datetime import datetime

from clusterra.core.cost.prices import Rates
from clusterra.core.errors import Invalid
from clusterra.core.money import MICROS, dollars, per_hour
from clusterra.core.quote import shown

CURRENCY = "USD"
MOST = 1_000 * MICROS
"""No CPU, GiB or GPU costs more per hour: whoever writes that meant another unit."""


def own_rates(*, cpu: int, gib: int, gpu: int, currency: str, since: datetime) -> Rates:
    """Return the rates, or refuse those that nobody can mean."""
    if currency.upper() != CURRENCY:
        raise Invalid(
            f"Costs are counted in {CURRENCY} here, not in {shown(currency)}.",
            hint=f"Convert the rates to dollars, and leave currency out or say {CURRENCY}.",
            code="unknown-currency",
            at="currency",
        )
    for name, rate in (("cpu", cpu), ("gib", gib), ("gpu", gpu)):
        at = f"{name}_usd_per_hour_micros"
        if rate < 0:
            raise Invalid(
                f"A {_NOUNS[name]} cannot cost {dollars(rate)} per hour.",
                hint="Say what it costs, or 0 if it is to cost nothing.",
                code="rate-negative",
                at=at,
            )
        if rate > MOST:
            raise Invalid(
                f"{per_hour(rate)} for a {_NOUNS[name]} is more than anything costs; the most is "
                f"{per_hour(MOST)}.",
                hint="Over HTTP, rates are in millionths of a dollar: 40000 is $0.04.",
                code="rate-absurd",
                at=at,
            )
    if not (cpu or gib or gpu):
        raise Invalid(
            "With all rates at 0 every job would cost nothing.",
            hint="Say what a CPU, a GiB or a GPU costs; to have list prices count again, take the "
            "rates away: clusterra prices clear",
            code="rates-zero",
        )
    return Rates(cpu=cpu, gib=gib, gpu=gpu, since=since.replace(microsecond=0))


_NOUNS = {"cpu": "CPU", "gib": "GiB of memory", "gpu": "GPU"}


def differences(before: Rates | None, after: Rates | None) -> tuple[str, ...]:
    """Return each rate that changed, as `CPU: $0.04/h → $0.05/h`."""
    return tuple(_differences(before, after))


def _differences(before: Rates | None, after: Rates | None) -> Iterator[str]:
    for name, noun in _NOUNS.items():
        old = None if before is None else getattr(before, name)
        new = None if after is None else getattr(after, name)
        if old != new:
            yield f"{noun}: {_said(old)} → {_said(new)}"


def _said(rate: int | None) -> str:
    return "list prices" if rate is None else per_hour(rate)
