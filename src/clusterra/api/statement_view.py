"""The statement of a month as the API shows it."""

from collections.abc import Callable, Iterator, Mapping

from clusterra.api.csv_file import Cell
from clusterra.api.usage_view import (
    job_spent_view,
    period_view,
    prices_view,
    spent_cells,
    spent_view,
    waste_views,
)
from clusterra.control.cost.statement import Part, Statement
from clusterra.control.cost.usage import Tally
from clusterra.wire.usage import NamedSpent, PersonStatement, StatementView

NameOf = Callable[[str], str]
"""What a cluster is called."""


def statement_view(
    found: Statement, *, workspace: str, name: str, tz: str, name_of: NameOf, with_waste: bool
) -> StatementView:
    return StatementView(
        workspace=workspace,
        workspace_name=name,
        period=period_view(found.month, tz),
        made_at=found.made_at,
        final=not found.why_provisional,
        why_provisional=list(found.why_provisional),
        work=spent_view(found.work),
        people=[_person(found, each, name_of) for each in found.parts],
        waste_micros=found.wasted.micros if with_waste else None,
        waste=waste_views(found.waste),
        prices=prices_view(found.prices),
    )


STATEMENT_COLUMNS = (
    "month",
    "day",
    "person",
    "cluster",
    "account",
    *(f"{name}_{unit}" for name in ("booked", "pending", "total") for unit in ("micros", "usd")),
    "jobs",
    "running",
    "unknown",
    "cpu_seconds",
    "gpu_seconds",
    "final",
    "currency",
)


def statement_rows(found: Statement, name_of: NameOf) -> Iterator[Mapping[str, Cell]]:
    """Yield a line for each person, day, cluster and account; they come to the total."""
    final = "no" if found.why_provisional else "yes"
    for part in found.parts:
        for line in part.lines:
            keys: Mapping[str, Cell] = {
                "month": found.month.name,
                "day": line.day,
                "person": line.person,
                "cluster": name_of(line.cluster),
                "account": line.account,
                "final": final,
                "currency": "USD",
            }
            yield {**keys, **spent_cells(spent_view(line.tally))}


def _person(found: Statement, part: Part, name_of: NameOf) -> PersonStatement:
    by_day = part.by(lambda line: line.day)
    return PersonStatement(
        person=part.person,
        spent=spent_view(part.total),
        days=[_named(day, by_day.get(day, Tally())) for day in found.days],
        clusters=_ranked(part.by(lambda line: name_of(line.cluster))),
        accounts=_ranked(part.by(lambda line: line.account)),
        dearest=[job_spent_view(each, name_of) for each in part.dearest],
        unknown=[job_spent_view(each, name_of) for each in part.unknown],
        running=[job_spent_view(each, name_of) for each in part.running],
    )


def _ranked(sums: Mapping[str, Tally]) -> list[NamedSpent]:
    ranked = sorted(sums.items(), key=lambda each: (-each[1].micros, each[0]))
    return [_named(name, tally) for name, tally in ranked]


def _named(name: str, tally: Tally) -> NamedSpent:
    return NamedSpent(
        name=name,
        micros=tally.micros,
        booked_micros=tally.booked.micros,
        pending_micros=tally.pending.micros,
        jobs=tally.booked.jobs,
    )
