"""What machines cost without working, by cause.

A machine's price is paid from the moment it is asked for until it is gone. What jobs do not
pay of it is waste: all of it while it warms up, is idle, leaves or is closed, and of one that
works the part that no job has.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from clusterra.core.cost.bill import Stretch, share_of
from clusterra.core.cost.books import QUARTER, Entry, Payer, What, quarter_of
from clusterra.core.cost.charges import HOUR, Charge, seconds_between
from clusterra.core.cost.stints import Stint, Stints
from clusterra.core.scaling.fleet import Phase

QUARTERS = 4
"""In an hour."""

_CAUSES: Mapping[Phase, What] = {
    Phase.WARMING: What.WARMING,
    Phase.READY: What.IDLE,
    Phase.LEAVING: What.LEAVING,
    Phase.CLOSED: What.CLOSED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Waste:
    since: datetime
    until: datetime
    micros: Mapping[What, int] = field(default_factory=dict)
    seconds: Mapping[What, int] = field(default_factory=dict)
    unknown: frozenset[str] = frozenset()
    """Nodes without a price."""

    @property
    def total(self) -> int:
        return sum(self.micros.values())


def waste(
    nodes: Mapping[str, Stints], runs: Iterable[Stretch], since: datetime, until: datetime
) -> Waste:
    """Return what was wasted in a period; `runs` are the jobs that ran in it."""
    owed: dict[What, int] = defaultdict(int)
    seconds: dict[What, int] = defaultdict(int)
    unknown: set[str] = set()
    there = _by_node(runs, since, until)
    for name, stints in nodes.items():
        for stint in stints:
            begin, end = max(stint.since, since), min(stint.until or until, until)
            for piece in _pieces(stint, there[name], begin, end):
                cause = What.UNUSED if piece.jobs else _CAUSES[stint.phase]
                seconds[cause] += piece.seconds
                if stint.quote is None:
                    unknown.add(name)
                else:
                    owed[cause] += max(stint.quote.usd_per_hour - piece.paid, 0) * piece.seconds
    return Waste(
        since=since,
        until=until,
        micros={cause: amount // HOUR for cause, amount in owed.items() if amount >= HOUR},
        seconds={cause: length for cause, length in seconds.items() if length},
        unknown=frozenset(unknown),
    )


def by_quarters(
    nodes: Mapping[str, Stints], runs: Sequence[Stretch], since: datetime, until: datetime
) -> list[Waste]:
    """Return the waste of each quarter of an hour; the last may be cut short by `until`."""
    found: list[Waste] = []
    begin = quarter_of(since)
    while begin < until:
        end = min(begin + QUARTER, until)
        found.append(waste(nodes, runs, begin, end))
        begin = end
    return found


def entries(wasted: Sequence[Waste]) -> tuple[Entry, ...]:
    """Return what whole quarters of an hour add to the books, one entry for each cause."""
    return tuple(
        Entry(
            payer=Payer(),
            what=cause,
            # A rate that comes to exactly this amount in a quarter of an hour.
            charges=tuple(
                Charge(
                    since=each.since,
                    until=each.until,
                    usd_per_hour=each.micros[cause] * QUARTERS,
                )
                for each in wasted
                if each.micros.get(cause)
            ),
            until=wasted[-1].until,
        )
        for cause in What
        if any(each.micros.get(cause) for each in wasted)
    )


def _by_node(
    runs: Iterable[Stretch], since: datetime, until: datetime
) -> defaultdict[str, list[Stretch]]:
    there: defaultdict[str, list[Stretch]] = defaultdict(list)
    for run in runs:
        if run.since < until and run.until > since:
            for name in run.nodes:
                there[name].append(run)
    return there


class _Piece(NamedTuple):
    """A time in which the same jobs were on a node."""

    seconds: int
    jobs: int
    paid: int
    """What they paid of it, per hour."""


def _pieces(
    stint: Stint, runs: Iterable[Stretch], begin: datetime, end: datetime
) -> Iterator[_Piece]:
    """Cut a stint where a job comes or goes, in one sweep: a node may have had thousands."""
    price = stint.quote.usd_per_hour if stint.quote else 0
    turns: list[tuple[datetime, int, int]] = [(end, 0, 0)]
    for run in runs:
        if run.since < end and run.until > begin:
            share = share_of(price, run, stint)
            turns += [(max(run.since, begin), 1, share), (min(run.until, end), -1, -share)]
    last, jobs, paid = begin, 0, 0
    for moment, more, share in sorted(turns):
        if moment > last:
            yield _Piece(seconds_between(last, moment), jobs, paid)
            last = moment
        jobs, paid = jobs + more, paid + share
