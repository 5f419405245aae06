"""Read what AWS answers when it does. Why it does not is `refusals`'.

Leniently: what is not understood is left out, as a price that is not known, and the rest
counts. Amounts are text all the way, never floats.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

import msgspec

from clusterra.adapters.aws.document import xml
from clusterra.core.money import micros_of

_MILLIONTH = Decimal("0.000001")


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What one machine type costs, as one line of an answer has it."""

    type: str
    usd_per_hour: int
    zone: str = ""
    at: str = ""
    """Since when, as AWS writes it: always alike and in UTC, so that text compares as time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    offers: tuple[Offer, ...]
    next: str
    """What to ask for the next one with; empty after the last."""


class _Answer(msgspec.Struct, rename="pascal"):
    price_list: list[str] = []
    """Each a product as JSON, as text."""

    next_token: str | None = None


class _Attributes(msgspec.Struct, rename="camel"):
    instance_type: str = ""


class _Product(msgspec.Struct):
    attributes: _Attributes


class _Dimension(msgspec.Struct, rename="camel"):
    unit: str
    price_per_unit: dict[str, str]


class _Term(msgspec.Struct, rename="camel"):
    price_dimensions: dict[str, _Dimension]


class _Terms(msgspec.Struct, rename="pascal"):
    on_demand: dict[str, _Term] = {}


class _Item(msgspec.Struct):
    product: _Product
    terms: _Terms


def products(body: bytes) -> Page | None:
    """Read a page of `GetProducts`; None if it is not one."""
    try:
        answer = msgspec.json.decode(body, type=_Answer)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return Page(
        offers=tuple(offer for text in answer.price_list for offer in _offers(text)),
        next=answer.next_token or "",
    )


def spot_history(body: bytes) -> Page | None:
    """Read a page of `DescribeSpotPriceHistory`; None if it is not one."""
    root = xml(body)
    if root is None or not root.tag.endswith("}DescribeSpotPriceHistoryResponse"):
        return None
    offers = []
    for item in root.iterfind("{*}spotPriceHistorySet/{*}item"):
        amount = _micros(item.findtext("{*}spotPrice", ""))
        if amount is not None:
            offers.append(
                Offer(
                    type=item.findtext("{*}instanceType", ""),
                    usd_per_hour=amount,
                    zone=item.findtext("{*}availabilityZone", ""),
                    at=item.findtext("{*}timestamp", ""),
                )
            )
    return Page(offers=tuple(offers), next=root.findtext("{*}nextToken", ""))


def _offers(text: str) -> Iterator[Offer]:
    try:
        item = msgspec.json.decode(text, type=_Item)
    except msgspec.DecodeError:
        return
    for term in item.terms.on_demand.values():
        for each in term.price_dimensions.values():
            amount = _micros(each.price_per_unit.get("USD", ""))
            if each.unit == "Hrs" and amount is not None:
                yield Offer(type=item.product.attributes.instance_type, usd_per_hour=amount)


def _micros(text: str) -> int | None:
    """Read a price; None if it is not one. Nothing is free: zero stands for not sold so."""
    try:
        # The price list has ten decimals. We have six, and no hour differs by what is rounded.
        amount = Decimal(text).quantize(_MILLIONTH)
    except InvalidOperation:
        return None
    micros = micros_of(str(amount))
    return micros if micros is not None and micros > 0 else None
