"""The history of a cluster's nodes, as far as money is concerned.

A stint is a time in which a node, what it is good for and its price stay the same. When any
of that changes, one ends and the next begins. So the stints of a node are at once when it was
there, what it was, and what it cost; a bill needs nothing else, however late it is made.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from clusterra.core.change import Kind
from clusterra.core.cost.prices import Quote
from clusterra.core.scaling.fleet import Phase


@dataclass(frozen=True, slots=True, kw_only=True)
class Stint:
    since: datetime
    """In whole seconds, as all times in a bill: Slurm's are."""

    until: datetime | None = None
    phase: Phase = Phase.READY
    cpus: int = 0
    memory_mib: int = 0
    gpus: int = 0
    quote: Quote | None = None
    why_not: str = ""
    """Why there is no price, where there is none."""

    def is_like(self, other: "Stint") -> bool:
        """Say whether nothing but the time is different, and since when a price has been known."""
        quote, known = self.quote, other.quote
        if quote is not None and known is not None:
            quote = replace(quote, at=known.at)
        return replace(self, since=other.since, until=other.until, quote=quote) == other


Stints = tuple[Stint, ...]
"""Of one node, oldest first; they do not overlap."""

STINTS: Kind[Stints] = Kind("stints", Stints)
"""By cluster and node."""


def followed(
    before: Mapping[str, Stints],
    now_there: Mapping[str, Stint],
    now: datetime,
    *,
    last_seen: datetime | None = None,
    anew: bool = False,
) -> Mapping[str, Stints]:
    """Return the stints of every node for which something has changed.

    After a time in which nobody looked, `last_seen` is when somebody last did: a node that is
    gone was there until then, as far as is known. With `anew` all machines were stopped
    meanwhile, and none is still the one it was.
    """
    changed: dict[str, Stints] = {}
    for name, stint in now_there.items():
        past = before.get(name, ())
        last = past[-1] if past and past[-1].until is None else None
        if last is not None and anew:
            past, last = (*past[:-1], _closed(last, last_seen or now)), None
        if last is None:
            changed[name] = (*past, _after(past, stint))
        elif not last.is_like(stint):
            changed[name] = (*past[:-1], replace(last, until=now), replace(stint, since=now))
    for name, past in before.items():
        if name not in now_there and past and past[-1].until is None:
            changed[name] = (*past[:-1], _closed(past[-1], last_seen or now))
    return changed


def _closed(stint: Stint, at: datetime) -> Stint:
    return replace(stint, until=max(stint.since, at))


def forgotten(stints: Mapping[str, Stints], before: datetime) -> Mapping[str, Stints]:
    """Return what is left of the nodes of which some stints ended before that; () for nothing."""
    kept = {
        name: tuple(each for each in past if each.until is None or each.until > before)
        for name, past in stints.items()
    }
    return {name: left for name, left in kept.items() if left != stints[name]}


def at(stints: Stints, when: datetime) -> Stint | None:
    """Return the stint that counts at a moment.

    Between two, and after the last, it is the one before; before the first it is the first:
    a job is seen to start on a node a moment before that is seen itself.
    """
    found = [each for each in stints if each.since <= when]
    return found[-1] if found else (stints[0] if stints else None)


def _after(past: Sequence[Stint], stint: Stint) -> Stint:
    """A node that is back was not there before it went."""
    gone = past[-1].until if past else None
    return replace(stint, since=max(stint.since, gone)) if gone else stint
