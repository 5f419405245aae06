"""Which shapes may serve a need, which of them can hold it, and which one comes nearest."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from clusterra.core.scaling.demand import Need
from clusterra.core.scaling.features import satisfied
from clusterra.core.scaling.shapes import Family, Shape


def matches(need: Need, shape: Shape) -> bool:
    """Say whether it is the right kind, of whatever size."""
    if need.gpus and (not shape.gpus or (need.gpu_model and need.gpu_model != shape.gpu_model)):
        return False
    return not need.features or satisfied(need.features, shape.features)


def holds(need: Need, shape: Shape) -> bool:
    """Say whether an empty worker of this shape can be one of the job's nodes."""
    return (
        need.cpus <= shape.cpus and need.memory_mib <= shape.memory_mib and need.gpus <= shape.gpus
    )


def right_kinds(need: Need, shapes: Iterable[Shape]) -> list[Shape]:
    """Return the shapes that would be started for it, if they are large enough.

    Machines with GPUs are for jobs that ask for GPUs, or that leave nothing else by name.
    """
    kinds = [shape for shape in shapes if matches(need, shape)]
    if need.gpus:
        return kinds
    return [shape for shape in kinds if shape.family is not Family.GPU] or kinds


def settled(need: Need, shapes: Iterable[Shape]) -> Need:
    """Return the need as it is planned: one that no single node can hold, cut by its tasks.

    Slurm does not tell whether memory was asked for by CPU or by node. If one node could have it
    all, each is given that much: too much memory costs money, too little keeps the job waiting.
    """
    if need.tasks <= 1:
        return need
    kinds = right_kinds(need, shapes)
    if any(holds(need, shape) for shape in kinds):
        return need
    whole = max((shape.memory_mib for shape in kinds), default=0) >= need.memory_mib
    tasks, nodes = need.tasks, need.nodes

    def part(tasks_there: int) -> Need:
        def share(amount: int) -> int:
            return -(-amount * nodes * tasks_there // tasks)

        memory = need.memory_mib if whole else share(need.memory_mib)
        return replace(
            need,
            nodes=-(-tasks // tasks_there),
            cpus=max(share(need.cpus), 1),
            memory_mib=memory,
            gpus=share(need.gpus),
            tasks=1,
            nodes_most=0,
        )

    most = max((_tasks_held(part, tasks, shape) for shape in kinds), default=0)
    if most == 0 or -(-tasks // most) > (need.nodes_most or tasks):
        return need
    return part(-(-tasks // -(-tasks // most)))


def nearest(need: Need, shapes: Mapping[str, Shape]) -> Shape | None:
    """Return the shape that comes closest to holding it; of those, the smallest."""
    kinds = right_kinds(need, shapes.values()) or right_kinds(
        replace(need, features=""), shapes.values()
    )

    def lacks(shape: Shape) -> tuple[float, int, int, str]:
        cpus = max(need.cpus / shape.cpus, 1)
        memory = max(need.memory_mib / max(shape.memory_mib, 1), 1)
        gpus = max(need.gpus / max(shape.gpus, 1), 1)
        return cpus * memory * gpus, shape.cpus, shape.memory_mib, shape.name

    return min(kinds, key=lacks, default=None)


def _tasks_held(part: Callable[[int], Need], tasks: int, shape: Shape) -> int:
    """Return the most tasks of which one worker of this shape can be the node."""
    least, beyond = 0, tasks + 1
    while beyond - least > 1:
        middle = (least + beyond) // 2
        if holds(part(middle), shape):
            least = middle
        else:
            beyond = middle
    return least
