"""Whether a job could ever run on the nodes a cluster can have.

Slurm takes a job that nothing can hold and lets it wait for ever; where it is known
what there can be, the person is told at once. Only what is certain to be on one node counts:
tasks without a number of nodes can be spread, and whether the whole then fits is the planner's.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from clusterra.core.errors import Refused
from clusterra.core.jobs.request import JobRequest
from clusterra.core.scaling import sentences
from clusterra.core.scaling.demand import Need
from clusterra.core.scaling.serves import holds, nearest, right_kinds
from clusterra.core.scaling.shapes import Shape
from clusterra.core.words import count


@dataclass(frozen=True, slots=True, kw_only=True)
class Largest:
    """The largest node there can ever be."""

    cpus: int
    memory_mib: int


def check_fits(request: JobRequest, there: Largest | Mapping[str, Shape]) -> None:
    """Refuse a job that no node can hold: not the largest, or none of the shapes."""
    need = on_one_node(request.properties)
    if isinstance(there, Largest):
        _check_largest(need, there)
    elif there:
        _check_shapes(need, there)


def on_one_node(properties: Mapping[str, Any]) -> Need:
    """Return the least that a job asks of one of its nodes."""
    tasks = max(_number(properties.get("tasks")), 1)
    nodes = _most_nodes(properties.get("nodes")) or tasks
    tasks_there = max(_number(properties.get("tasks_per_node")), -(-tasks // nodes))
    cpus = max(
        tasks_there * max(_number(properties.get("cpus_per_task")), 1),
        _number(properties.get("minimum_cpus_per_node")),
    )
    gpus, model = _gpus(properties, tasks_there)
    memory = max(
        _number(properties.get("memory_per_node")),
        _number(properties.get("memory_per_cpu")) * cpus,
        _gpu_memory(properties) * gpus,
    )
    return Need(
        cpus=cpus,
        memory_mib=memory,
        gpus=gpus,
        gpu_model=model,
        features=str(properties.get("constraints") or ""),
    )


def _check_largest(need: Need, largest: Largest) -> None:
    if need.cpus > largest.cpus:
        raise Refused(
            f"No node here will ever have {need.cpus:,} CPUs; the largest has {largest.cpus}.",
            hint=f"Ask for at most {largest.cpus} CPUs per task, and for several tasks or nodes.",
            code="too-many-cpus",
            at="cpus",
        )
    if need.memory_mib > largest.memory_mib:
        raise Refused(
            f"No node here will ever have {_gib(need.memory_mib)} of memory; "
            f"the largest has {_gib(largest.memory_mib)}.",
            hint="Ask for less memory per node, or for more nodes.",
            code="too-much-memory",
            at="memory",
        )


def _check_shapes(need: Need, shapes: Mapping[str, Shape]) -> None:
    models = sorted({shape.gpu_model for shape in shapes.values() if shape.gpu_model})
    if need.gpu_model and need.gpu_model not in models:
        known = f"There are {', '.join(models)}." if models else "There are no GPUs here."
        raise Refused(
            f"No node here will ever have {need.gpu_model} GPUs.",
            hint=f"{known} Leave out the model to take any.",
            code="unknown-gpu-model",
            at="gpus",
        )
    if not right_kinds(need, shapes.values()):
        # Other nodes than ours may have that feature; whether any does, Slurm knows.
        need = replace(need, features="")
    kinds = right_kinds(need, shapes.values())
    near = nearest(need, shapes)
    if near is None:
        raise Refused(
            f"No node here will ever have {count(need.gpus, 'GPU')}; there are none.",
            hint="Ask for no GPUs, or send the job to another cluster.",
            code="too-many-gpus",
            at="gpus",
        )
    if any(holds(need, shape) for shape in kinds):
        return
    code, at, hint = _lacking(need, near)
    raise Refused(
        f"No node here will ever have {sentences.size(need)}; "
        f"the nearest is {near.name} with {sentences.offers(near)}.",
        hint=hint,
        code=code,
        at=at,
    )


def _lacking(need: Need, near: Shape) -> tuple[str, str, str]:
    """Return the code, the field and the advice for what the nearest shape is short of most."""
    over = {
        "gpus": need.gpus / max(near.gpus, 1),
        "cpus": need.cpus / near.cpus,
        "memory": need.memory_mib / max(near.memory_mib, 1),
    }
    at = max(over, key=lambda what: over[what])
    code = {"gpus": "too-many-gpus", "cpus": "too-many-cpus", "memory": "too-much-memory"}[at]
    hint = {
        "gpus": f"Ask for at most {near.gpus} GPUs per node, and for more nodes.",
        "cpus": f"Ask for at most {near.cpus} CPUs per task, and for several tasks or nodes.",
        "memory": "Ask for less memory per node, or for more nodes.",
    }[at]
    return code, at, hint


_MODEL = r"\d*[A-Za-z_][\w.-]*"
_GPU = re.compile(rf"(?:gres[/:])?gpu(?:[:=](?P<model>{_MODEL}))?(?:[:=](?P<number>\d+))?")


def _gpus(properties: Mapping[str, Any], tasks: int) -> tuple[int, str]:
    """Return how many GPUs are sure to be on one node, and of which model."""
    most, named = 0, ""
    for field, times, shared in (
        ("tres_per_node", 1, 1),
        ("tres_per_socket", 1, 1),
        ("tres_per_task", tasks, 1),
        ("tres_per_job", 1, _most_nodes(properties.get("nodes"))),
    ):
        number = 0
        for model, gpus in gpus_in(properties.get(field)):
            number += gpus
            named = model.lower() or named
        if number:
            most = max(most, -(-number * times // shared) if shared else 1)
    return most, named


def gpus_in(text: Any) -> Iterator[tuple[str, int]]:
    """Read the GPUs of `gres/gpu:a10g:2,license/x:1`: model and number of each."""
    for part in str(text or "").split(","):
        found = _GPU.fullmatch(part.strip())
        if found:
            yield found["model"] or "", int(found["number"] or 1)


def _gpu_memory(properties: Mapping[str, Any]) -> int:
    return sum(number for _, number in gpus_in(properties.get("memory_per_tres")))


def _most_nodes(nodes: Any) -> int:
    """Read `4` and `2-4`; anything else is not known."""
    found = re.fullmatch(r"(?:\d+-)?(\d+)", str(nodes or ""))
    return int(found[1]) if found else 0


def _number(value: Any) -> int:
    if isinstance(value, dict):
        value = value.get("number")
    return value if isinstance(value, int) else 0


def _gib(mib: int) -> str:
    return f"{mib / 1024:,.0f} GiB"
