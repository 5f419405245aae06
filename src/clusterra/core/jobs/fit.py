"""Whether a job could ever run on one node of a cluster.

Slurm takes a job that nothing can hold and lets it wait for ever; where the
largest possible node is known, the person is told at once.
"""

from dataclasses import dataclass
from typing import Any

from clusterra.core.errors import Refused
from clusterra.core.jobs.request import JobRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Largest:
    """The largest node there can ever be."""

    cpus: int
    memory_mib: int


def check_fits(request: JobRequest, largest: Largest) -> None:
    cpus = _number(request.properties.get("cpus_per_task"))
    if cpus > largest.cpus:
        raise Refused(
            f"No node here will ever have {cpus:,} CPUs; the largest has {largest.cpus}.",
            hint=f"Ask for at most {largest.cpus} CPUs per task, and for several tasks or nodes.",
            code="too-many-cpus",
            at="cpus",
        )
    memory = _number(request.properties.get("memory_per_node"))
    if memory > largest.memory_mib:
        raise Refused(
            f"No node here will ever have {_gib(memory)} of memory; "
            f"the largest has {_gib(largest.memory_mib)}.",
            hint="Ask for less memory per node, or for more nodes.",
            code="too-much-memory",
            at="memory",
        )


def _number(value: Any) -> int:
    if isinstance(value, dict):
        value = value.get("number")
    return value if isinstance(value, int) else 0


def _gib(mib: int) -> str:
    return f"{mib / 1024:,.0f} GiB"
