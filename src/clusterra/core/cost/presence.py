"""Which machines are paid for at a moment, and what each costs: what Slurm shows and the edge says.

Slurm knows what a node is and whether it can be used; the edge knows what kind of machine it
is, and those that Slurm does not know yet. An edge that is not heard takes nothing back: what
it said last counts until it says otherwise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from clusterra.core.clusters import Node
from clusterra.core.cost.prices import Book, Quote, Source
from clusterra.core.cost.stints import Stint, Stints
from clusterra.core.scaling.edge import EdgeReport, EdgeWorker, Machine
from clusterra.core.scaling.fleet import Phase
from clusterra.core.scaling.muster import phase_of
from clusterra.core.scaling.shapes import Purchase, Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence:
    """What is known at a moment."""

    nodes: Sequence[Node]
    report: EdgeReport | None
    """None while no agent is heard."""

    shapes: Mapping[str, Shape]
    book: Book
    purchase: Purchase
    now: datetime
    """In whole seconds."""

    def stints(self, before: Mapping[str, Stints]) -> Mapping[str, Stint]:
        """Return every machine that is paid for, by the name of its node, as it is now."""
        machines = {each.node: each for each in self._machines if each.node}
        told = {each.name: each.shape for each in self._workers}
        found = {
            node.name: self._known(
                node,
                machines.get(node.name),
                self._shape(node, told.get(node.name, "")),
                _present(before, node.name),
            )
            for node in self.nodes
        }
        return {**self._warming(before), **found}

    @property
    def _machines(self) -> Sequence[Machine]:
        return self.report.machines or () if self.report else ()

    @property
    def _workers(self) -> Sequence[EdgeWorker]:
        return self.report.workers or () if self.report else ()

    def _known(
        self, node: Node, machine: Machine | None, shape: Shape | None, last: Stint | None
    ) -> Stint:
        said = self.book.quote(node, machine, shape, self.purchase)
        if self.report is None and self.book.rates is None and last and _is_from_the_edge(last):
            said = last.quote or said
        return _priced(node, said, since=self.now, phase=phase_of(node))

    def _shape(self, node: Node, told: str) -> Shape | None:
        """Return what shape a node is: as it says itself, or as the edge does."""
        names = (each for each in (*node.features, told) if each in self.shapes)
        return self.shapes.get(next(names, ""))

    def _warming(self, before: Mapping[str, Stints]) -> Mapping[str, Stint]:
        """Return the machines that are on their way and that Slurm does not know yet."""
        if self.report is None:
            last = {name: _present(before, name) for name in before}
            return {
                name: stint
                for name, stint in last.items()
                if stint is not None and stint.phase is Phase.WARMING
            }
        found: dict[str, Stint] = {}
        for worker in self._workers:
            if shape := self.shapes.get(worker.shape):
                node = Node(
                    name=worker.name,
                    state="",
                    cpus=shape.cpus,
                    memory_mib=shape.memory_mib,
                    gpus=shape.gpus,
                )
                said = self.book.quote(node, None, shape, self.purchase)
                found[worker.name] = self._since(worker.since, node, said)
        for machine in self._machines:
            if machine.billable_from is not None:
                node = Node(name=machine.node or machine.name, state="")
                said = self.book.quote(node, machine, None, self.purchase)
                found[node.name] = self._since(machine.billable_from, node, said)
        return found

    def _since(self, since: datetime, node: Node, said: Quote | str) -> Stint:
        begun = min(since.replace(microsecond=0), self.now)
        return _priced(node, said, since=begun, phase=Phase.WARMING)


def _is_from_the_edge(stint: Stint) -> bool:
    """Say whether its price was that of a machine whose kind only the edge knows."""
    quote = stint.quote
    return quote is not None and not quote.estimate and quote.source is not Source.RATES


def _present(before: Mapping[str, Stints], name: str) -> Stint | None:
    last = before.get(name, ())[-1:]
    return last[0] if last and last[0].until is None else None


def _priced(node: Node, said: Quote | str, *, since: datetime, phase: Phase) -> Stint:
    known = Stint(
        since=since, phase=phase, cpus=node.cpus, memory_mib=node.memory_mib, gpus=node.gpus
    )
    return replace(known, quote=said) if isinstance(said, Quote) else replace(known, why_not=said)
