"""How long files stay, location by location, and what has to go by that."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from clusterra.core.change import Kind
from clusterra.core.errors import Invalid
from clusterra.core.files.place import Location

LONGEST = 36_500


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    days: Mapping[str, int] = field(default_factory=dict)
    """By location; a location that is not in it keeps its files until somebody deletes them."""

    def of(self, location: Location) -> timedelta | None:
        days = self.days.get(location.value)
        return timedelta(days=days) if days else None


RETENTION: Kind[Retention] = Kind("retention", Retention)


def edited(retention: Retention, wanted: Mapping[str, int | None]) -> Retention:
    """Set some of the days; None or 0 keeps files for ever."""
    days = dict(retention.days)
    for name, count in wanted.items():
        if name not in list(Location):
            raise Invalid(
                f"There is no location {name[:40]!r}.",
                hint=f"The locations are: {', '.join(Location)}.",
                code="unknown-location",
                at=f"days.{name[:40]}",
            )
        if count is not None and not 0 <= count <= LONGEST:
            raise Invalid(
                f"Files cannot be kept for {count} days.",
                hint=f"Say 1 to {LONGEST:,} days, or 0 for ever.",
                at=f"days.{name}",
            )
        days.pop(name, None)
        if count:
            days[name] = count
    return replace(retention, days=days)


def is_over(modified_at: datetime, keep: timedelta, now: datetime) -> bool:
    """Say whether a file has been left alone for longer than it is kept."""
    return now - modified_at >= keep


def differences(before: Retention, after: Retention) -> tuple[str, ...]:
    """Say what changed, as `outputs: 30 days`."""
    return tuple(_words(before.days, after.days, Location))


def _words(
    before: Mapping[str, int], after: Mapping[str, int], names: Iterable[Location]
) -> Iterable[str]:
    for name in names:
        if before.get(name) != after.get(name):
            days = after.get(name)
            yield f"{name.value}: {f'{days} days' if days else 'for ever'}"
