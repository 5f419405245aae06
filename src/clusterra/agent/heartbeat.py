"""What a heartbeat says, and what its answer asks for: between what travels and what we mean."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from clusterra import __version__
from clusterra.core.errors import Unreachable
from clusterra.core.scaling.edge import EdgeWorker, Failed
from clusterra.ports import WorkerShape
from clusterra.wire.agent import (
    CommandView,
    CountView,
    EdgeWorkerView,
    FailedView,
    Heartbeat,
    Orders,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Self:
    """What an agent says of itself in every heartbeat."""

    cluster: str
    id: str
    """The same from one start to the next."""

    url: str = ""
    ip: str = ""
    version: str = __version__


def report(
    me: Self,
    seen: Sequence[EdgeWorker] | None,
    failed: Sequence[Failed],
    *,
    applied: int,
    protected: Sequence[str] | None,
    wait: float,
) -> Heartbeat:
    """Say what was `seen`; None is that it could not be."""
    counted = Counter(each.shape for each in seen or ())
    return Heartbeat(
        cluster_id=me.cluster,
        agent_version=me.version,
        capacity_pods={shape: CountView(count=number) for shape, number in counted.items()},
        last_applied_version=applied,
        agent_ip=me.ip,
        k8s_nodes=None if seen is None else [each.name for each in seen],
        # Processes of this machine are nobody's bill.
        nodeclaims=None if seen is None else [],
        agent_id=me.id,
        agent_url=me.url,
        workers=None if seen is None else [_worker(each) for each in seen],
        failed=[_failed(each) for each in failed],
        wait_seconds=wait,
        protected_nodes=protected,
    )


def read_orders(answer: bytes) -> Orders:
    try:
        return msgspec.json.decode(answer, type=Orders)
    except msgspec.MsgspecError as error:
        raise Unreachable(
            f"The server answered something an agent does not know: {error}.",
            hint="Check that the address is Clusterra's.",
        ) from None


def shape_of(command: CommandView) -> WorkerShape:
    shape = command.shape
    return WorkerShape(
        name=command.name,
        arch=shape.arch,
        cpus=shape.vcpus,
        memory_mib=shape.mem_mib or shape.mem_gib * 1024,
        gpus=shape.gpu_count or 0,
        gpu_model=shape.gpu_model or "",
        features=tuple(shape.features or (command.name,)),
        on_demand=bool(shape.on_demand),
    )


def _worker(worker: EdgeWorker) -> EdgeWorkerView:
    return EdgeWorkerView(
        name=worker.name, shape=worker.shape, since=worker.since, ready=worker.ready
    )


def _failed(failed: Failed) -> FailedView:
    return FailedView(shape=failed.shape, name=failed.name, why=failed.why, at=failed.at)
