"""How a slurmd is called, and whether it answers. What its answers mean is not in here."""

import asyncio
import re
import socket
from collections.abc import Collection

from clusterra.adapters.tcp import is_free
from clusterra.adapters.workers_local.place import Place
from clusterra.core.errors import Invalid, Refused
from clusterra.ports import WorkerShape

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,50}[a-z0-9])?")
_WORD = re.compile(r"[A-Za-z0-9_.-]+")
_LAST_PORT = 65535

GPU_WEIGHT = 1000
"""How many CPUs a GPU outweighs."""


def checked(shape: WorkerShape) -> WorkerShape:
    """Return a shape that can be put into a command; it came over the network."""
    if not _NAME.fullmatch(shape.name):
        raise Invalid(
            f"No worker can be called after the shape {shape.name!r}.",
            hint="A shape's name has up to 52 lower-case letters, digits and dashes.",
        )
    for word in (*shape.features, *filter(None, [shape.gpu_model])):
        if not _WORD.fullmatch(word):
            raise Invalid(
                f"The shape {shape.name} has the feature {word!r}, which Slurm cannot take.",
                hint="A feature has letters, digits, dots, dashes and underscores.",
            )
    return shape


def command(place: Place, shape: WorkerShape, name: str, port: int, *, first: bool) -> list[str]:
    """Return how to start it.

    At its `first` start it says that its machine was rebooted: what slurmctld believes to run
    there does not. Later the jobs live on without it, and are found again.
    """
    offers = [f"Port={port}", f"CPUs={shape.cpus}", f"RealMemory={shape.memory_mib}"]
    # Slurm fills the lightest first: those that are dear are left for jobs that need them.
    offers.append(f"Weight={shape.cpus + GPU_WEIGHT * shape.gpus}")
    if shape.features:
        offers.append(f"Feature={','.join(shape.features)}")
    if shape.gpus:
        model = f"{shape.gpu_model}:" if shape.gpu_model else ""
        offers.append(f"Gres=gpu:{model}{shape.gpus}")
    return [
        *(*place.launch, "slurmd", "-D", "-f", place.conf, "-Z"),
        *(("-b",) if first else ()),
        *("-N", name, "--conf", " ".join(offers)),
    ]


def free_port(first: int, taken: Collection[int]) -> int:
    for port in range(first, _LAST_PORT + 1):
        if port not in taken and is_free(port):
            return port
    raise Refused(
        f"No port from {first} up is free for another worker.",
        hint="Give the place a lower first_port.",
    )


async def answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.setblocking(False)
        try:
            await asyncio.get_running_loop().sock_connect(probe, ("127.0.0.1", port))
        except OSError:
            return False
        return True
