"""Moments as the database keeps them: whole microseconds since 1970, in UTC."""

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def number_of(moment: datetime) -> int:
    return (moment - EPOCH) // MICROSECOND


def moment_of(number: int) -> datetime:
    return EPOCH + number * MICROSECOND
