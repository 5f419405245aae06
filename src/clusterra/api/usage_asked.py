"""What a request about usage asks for: which time, told apart how, of whom, in which form."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated
from zoneinfo import ZoneInfo

from fastapi import Query, Request

from clusterra.api.asked import moment
from clusterra.api.door import plane_of
from clusterra.core.cost.books import QUARTER, quarter_of
from clusterra.core.cost.dimensions import Dimension, check
from clusterra.core.cost.periods import Period, month_of, named, spanning, zone
from clusterra.core.errors import Invalid
from clusterra.core.quote import shown

JSON, CSV = "json", "csv"

Zone = Annotated[str, Query(description="Where days and months begin, as `Europe/Berlin`.")]
Format = Annotated[
    str, Query(description="`json`, or `csv`; left out, what the Accept header prefers.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedUsage:
    period: Period
    rounded: bool
    zone: ZoneInfo
    by: tuple[Dimension, ...]
    person: str
    limit: int
    as_csv: bool


def asked_usage(
    request: Request,
    period: Annotated[
        str, Query(description="A month `2026-11` or a day `2026-11-16`; left out, this month.")
    ] = "",
    since: Annotated[
        str, Query(description="Instead of a period: RFC 3339, a date, or an age as `7d`.")
    ] = "",
    until: Annotated[str, Query(description="Up to then; left out, now.")] = "",
    by: Annotated[
        str,
        Query(
            description="Told apart by these, with commas: person, workspace, account, partition, "
            "template, cluster, what, day or month; or by job alone."
        ),
    ] = "",
    tz: Zone = "UTC",
    person: Annotated[
        str, Query(description="Only what this person spent: an e-mail, a Linux user, or `me`.")
    ] = "",
    limit: Annotated[int, Query(ge=1, le=1000, description="How many jobs, by job.")] = 50,
    format: Format = "",
) -> AskedUsage:
    now, where = plane_of(request).clock.now(), zone(tz)
    meant, rounded = _meant(period, since, until, where, now)
    return AskedUsage(
        period=meant,
        rounded=rounded,
        zone=where,
        by=_dimensions(by),
        person=person,
        limit=limit,
        as_csv=wants_csv(request, format),
    )


def wants_csv(request: Request, format: str) -> bool:
    if format not in ("", JSON, CSV):
        raise Invalid(f"There is no format {shown(format)}.", hint="Say json or csv.", at="format")
    accepts = request.headers.get("accept", "").partition(",")[0].partition(";")[0].strip()
    return format == CSV or (not format and accepts == "text/csv")


def _meant(
    period: str, since: str, until: str, where: ZoneInfo, now: datetime
) -> tuple[Period, bool]:
    if period and (since or until):
        raise Invalid(
            "A period has its ends already.",
            hint="Say either period, or since and until.",
            at="period",
        )
    if period:
        return named(period, where), False
    if not since and not until:
        return month_of(now, where), False
    begin = _moment(since, where, now, at="since")
    end = _moment(until, where, now, at="until") or now
    if begin is None:
        raise Invalid("It is not said when it begins.", hint="Say since, as 7d.", at="since")
    wide = spanning(begin, end)
    first = quarter_of(wide.since)
    last = quarter_of(wide.until)
    last = last if last == wide.until else last + QUARTER
    return spanning(first, last), (first, last) != (wide.since, wide.until)


def _moment(text: str, where: ZoneInfo, now: datetime, *, at: str) -> datetime | None:
    """Read a moment; one without a zone is one of the zone asked for."""
    try:
        date = datetime.fromisoformat(text)
        found = date if date.tzinfo else date.replace(tzinfo=where)
        quarter_of(found)
    except ValueError:
        return moment(text, now, at=at)
    except OverflowError:
        raise Invalid(
            f"{shown(text)} is too long ago, or too far ahead.", hint="Say another year.", at=at
        ) from None
    return found


def _dimensions(text: str) -> tuple[Dimension, ...]:
    names = [each.strip() for each in text.split(",") if each.strip()]
    for name in names:
        if name not in set(Dimension):
            raise Invalid(
                f"Usage cannot be told apart by {shown(name)}.",
                hint=f"It can by {', '.join(Dimension)}.",
                at="by",
                code="unknown-dimension",
            )
    found = tuple(dict.fromkeys(map(Dimension, names)))
    check(found)
    return found
