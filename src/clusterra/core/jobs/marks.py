"""What two cheap looks at a queue say has changed.

A mark is one short text per job that changes when the job's state does. From
two sets of marks follows which jobs must be looked at closely, and which have
left the controller and are to be looked up in accounting.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from clusterra.core.jobs.job import JobState

SHARE_FOR_FULL_LIST = 4
"""A full list costs the controller about a quarter of a single look per job it lists (0.5 ms
against 2 ms, measured), so it pays once a quarter of the queue has changed."""

FEW = 200
"""Below this many, single looks are always better: a full list makes slurmrestd swell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    fresh: frozenset[int]
    """New, or in another state than before."""

    gone: frozenset[int]
    """Held before and not any more."""


def compare(before: Mapping[int, str], after: Mapping[int, str]) -> Changed:
    return Changed(
        fresh=frozenset(id for id, mark in after.items() if before.get(id) != mark),
        gone=frozenset(before.keys() - after.keys()),
    )


def wants_full_list(fresh: int, held: int) -> bool:
    return fresh > FEW and fresh * SHARE_FOR_FULL_LIST > held


_PLAIN = {state.value: state for state in JobState}


def plain_state(mark: str) -> JobState | None:
    """Return the state of a mark that speaks of one job, with nothing added to its state."""
    return _PLAIN.get(mark)


def ended(mark: str) -> bool:
    """Say whether a mark speaks of one job that has ended and been cleaned up."""
    state = plain_state(mark)
    return state is not None and state.ended
