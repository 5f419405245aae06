"""How the planner says what it decided: in people's numbers, singular and plural."""

from collections.abc import Sequence
from datetime import datetime

from clusterra.core.money import per_hour
from clusterra.core.scaling.demand import Need
from clusterra.core.scaling.shapes import Family, Shape
from clusterra.core.words import count, listed


def gib(mib: int) -> str:
    """Whole GiB downwards, so that nobody asks for what is just not there; MiB below one."""
    return f"{mib // 1024:,} GiB" if mib >= 1024 else f"{mib} MiB"


def asked_gib(mib: int) -> str:
    """As much as was asked for, upwards."""
    return f"{-(-mib // 1024):,} GiB" if mib >= 1024 else f"{mib} MiB"


def size(need: Need) -> str:
    """`2 a10g GPUs, 8 CPUs and 32 GiB on each of 4 nodes`."""
    words = [count(need.cpus, "CPU")]
    if need.gpus:
        words.insert(0, count(need.gpus, f"{need.gpu_model} GPU".strip()))
    if need.memory_mib:
        words.append(asked_gib(need.memory_mib))
    nodes = f" on each of {need.nodes:,} nodes" if need.nodes > 1 else ""
    alone = " to itself" if need.exclusive and need.nodes == 1 else ""
    return listed(words) + nodes + alone


def jobs_need(number: int, need: Need) -> str:
    if number == 1:
        return f"1 job needs {size(need)}"
    return f"{number:,} jobs need {size(need)} each"


def offers(shape: Shape) -> str:
    words = [count(shape.cpus, "CPU"), gib(shape.memory_mib)]
    if shape.gpus:
        words.insert(0, count(shape.gpus, f"{shape.gpu_model} GPU"))
    return listed(words)


def starting(workers: dict[str, int]) -> str:
    """`2 general-large are starting`."""
    words = [f"{number:,} {shape}" for shape, number in sorted(workers.items())]
    return f"{listed(words)} {'is' if sum(workers.values()) == 1 else 'are'} starting"


def too_small(shape: Shape, need: Need) -> str:
    """`general-small: a job needs 12 CPUs, it offers 7`."""
    if need.cpus > shape.cpus:
        return f"{shape.name}: a job needs {count(need.cpus, 'CPU')}, it offers {shape.cpus}"
    if need.gpus > shape.gpus:
        return f"{shape.name}: a job needs {count(need.gpus, 'GPU')}, it offers {shape.gpus}"
    return (
        f"{shape.name}: a job needs {asked_gib(need.memory_mib)}, it offers {gib(shape.memory_mib)}"
    )


def no_size_of(family: Family, arch: str, need: Need) -> str:
    return f"{family}: no {arch} size of it holds {size(need)}"


def short(name: str, why: str, until: datetime) -> str:
    reason = f" ({why})" if why else ""
    return f"{name}: did not come lately{reason}; left alone until {until:%H:%M} UTC"


def grown(number: int, biggest: Need) -> str:
    """Say for how many jobs workers are started, and what the largest of these needs."""
    if number == 1:
        return f"1 waiting job needs {size(biggest)}"
    return f"{number:,} waiting jobs need up to {size(biggest)}"


def minimum(number: int) -> str:
    return f"{count(number, 'worker')} of it {'is' if number == 1 else 'are'} always kept"


def shrunk(number: int) -> str:
    return f"{count(number, 'worker')} had nothing to do and {'has' if number == 1 else 'have'} been drained"


def never(number: int, need: Need, near: Shape | None, *, why: str) -> str:
    head = f"{jobs_need(number, need)}; {why}"
    return f"{head}; the nearest is {near.name} with {offers(near)}" if near else head


def at_most_workers(number: int, need: Need, limit: int) -> str:
    return f"{jobs_need(number, need)}; the cluster is at its limit of {count(limit, 'worker')}"


def at_most_spend(number: int, need: Need, limit: int, shape: Shape, price: int | None) -> str:
    head = jobs_need(number, need)
    if price is None:
        return (
            f"{head}; spending is limited to {per_hour(limit)}, "
            f"and the price of {shape.name} is not known"
        )
    return (
        f"{head}; another {shape.name} at {per_hour(price)} "
        f"would go beyond the limit of {per_hour(limit)}"
    )


def scarce(number: int, need: Need, names: Sequence[str], until: datetime) -> str:
    return (
        f"{jobs_need(number, need)}; {listed(names)} did not come lately, "
        f"tried again at {until:%H:%M} UTC"
    )


def taken_up(number: int, need: Need, shape: str) -> str:
    return f"{jobs_need(number, need)}; the {shape} workers there are have no room at present"


def room(number: int, need: Need) -> str:
    return f"{jobs_need(number, need)}; there is room, Slurm starts {'it' if number == 1 else 'them'} next"
