"""What one job has cost by now, as it is told."""

from dataclasses import dataclass

from clusterra.core.money import dollars, per_hour


@dataclass(frozen=True, slots=True, kw_only=True)
class CostSoFar:
    """All amounts in millionths of a dollar."""

    micros: int | None = 0
    """So far, earlier runs included; None if it is not known."""

    usd_per_hour: int | None = None
    """While it runs; None if it does not, or if that is not known."""

    estimated: int | None = None
    """In all, if it takes all its time; None without a limit or a price. Of one that has ended,
    what was estimated when it began."""

    why_unknown: str = ""
    final: bool = False
    """It has ended, and what it cost does not change any more."""

    @property
    def words(self) -> str:
        """Return `$0.19 so far, $0.38/h, at most $0.76`."""
        if self.micros is None:
            return f"not known: {self.why_unknown}"
        if self.final:
            return dollars(self.micros)
        if self.usd_per_hour is None:
            return f"{dollars(self.micros)} so far" if self.micros else "nothing yet"
        parts = [f"{dollars(self.micros)} so far", per_hour(self.usd_per_hour)]
        if self.estimated is not None:
            parts.append(f"at most {dollars(self.estimated)}")
        return ", ".join(parts)
