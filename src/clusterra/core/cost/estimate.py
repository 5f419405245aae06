"""What a job would cost, before it is submitted."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Priced:
    """A job on the workers that it would get. Amounts in millionths of a dollar."""

    shape: str = ""
    """Of the workers; empty where they are not ours to choose."""

    workers: int = 1
    """How many it is spread over."""

    tasks: int = 1
    """Of an array; amounts are for all of them together."""

    usd_per_hour: int | None = None
    """While it runs, at its share of each worker; None if it is not known."""

    minutes: int | None = None
    """Its time limit; None is no limit."""

    total: int | None = None
    """If it takes all its time; None if it has no limit, or no price is known."""

    basis: str = ""
    """What was priced, and who said so."""

    estimate: bool = False
    """Nobody pays it: see `Quote`."""

    why_unknown: str = ""
