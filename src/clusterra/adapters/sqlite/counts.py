"""How many jobs match a query, known until a job is written.

Every page of a list says how many jobs there are in all. Counting reads up to all of
them (10 ms for fifty thousand), and the list of a queue is asked for far more often than
the queue changes.
"""

from clusterra.adapters.sqlite.find import Binds

KEPT = 500
"""Queries remembered per cluster; a query about moments is never asked twice."""

Known = dict[tuple[str, tuple[object, ...]], int]


class Counts:
    """Counts by cluster: added in the event loop, forgotten by the writer's thread."""

    def __init__(self) -> None:
        self._known: dict[str, Known] = {}

    def now(self, cluster: str) -> Known:
        """Return what is known at present, to read from and to add to.

        Whoever counts asks for this first. If a job is written while they count, what they
        add afterwards is added to what nobody looks at any more.
        """
        known = self._known.setdefault(cluster, {})
        if len(known) >= KEPT:
            known.clear()
        return known

    def forget(self, cluster: str) -> None:
        """A job was written: to be called before anybody is told so."""
        self._known.pop(cluster, None)


def key(condition: str, binds: Binds) -> tuple[str, tuple[object, ...]]:
    return condition, tuple(binds.values())
