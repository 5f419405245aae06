"""Money: whole millionths of a dollar among ourselves, dollars before people.

A float cannot hold a tenth of a cent exactly, and an hour has 3,600 seconds of them.
"""

from decimal import Decimal, InvalidOperation

MICROS = 1_000_000
"""Millionths in a dollar."""


def dollars(micros: int) -> str:
    """Return `$12.50`; below ten cents with as many digits as it takes to tell amounts apart."""
    amount = Decimal(micros) / MICROS
    if micros == 0 or abs(micros) >= MICROS // 10:
        places = 2
    else:
        places = 4 if abs(micros) >= MICROS // 1000 else 6
    return f"{'-' if amount < 0 else ''}${abs(amount):,.{places}f}"


def per_hour(micros: int | None) -> str:
    """Return `$0.34/h`; a dash where it is not known."""
    return "–" if micros is None else f"{dollars(micros)}/h"


def micros_of(text: str) -> int | None:
    """Read dollars, as `12.50` or `$12.50`; None if that is no amount of whole millionths."""
    try:
        amount = Decimal(text.strip().removeprefix("$")) * MICROS
    except InvalidOperation:
        return None
    if not amount.is_finite() or amount != amount.to_integral_value():
        return None
    return int(amount)
