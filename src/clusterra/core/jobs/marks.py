"""What two cheap looks at a queue say has changed.

A mark is one short text per job that changes when the job's state does. From
two sets of marks follows which jobs must be looked at closely, and which have
left the controller and are to be looked up in accounting. Each is said of a part
of a long queue as well as of the whole.
"""

from collections.abc import Iterable, Mapping

from clusterra.core.jobs.job import JobState

SHARE_FOR_FULL_LIST = 4
"""A full list costs the controller about a quarter of a single look per job it lists (0.5 ms
against 2 ms, measured), so it pays once a quarter of the queue has changed."""

FEW = 200
"""Below this many, single looks are always better: a full list makes slurmrestd swell."""


def fresh(before: Mapping[int, str], after: Iterable[tuple[int, str]]) -> set[int]:
    """Return those of `after`, jobs and their marks, that are new or in another state."""
    return {id for id, mark in after if before.get(id) != mark}


def gone(before: Iterable[int], after: Mapping[int, str]) -> set[int]:
    """Return those of `before` that are not held any more."""
    return {id for id in before if id not in after}


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
