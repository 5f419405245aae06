"""A heartbeat between what travels and what it means: read on the way in, written on the way out.

The public agent is a program of its own, of which nothing can be changed: what it sends is
taken as it comes, and an answer has the members that it knows, with those left out that are
not set.
"""

import base64
import hashlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import msgspec

from clusterra.api.lenient import Members, Unreadable, members, read_as, rows_as
from clusterra.control.edge import Wanted
from clusterra.control.site import Site
from clusterra.core.errors import Invalid
from clusterra.core.scaling.edge import EdgeReport, EdgeWorker, Failed, Machine, Offering
from clusterra.core.scaling.shapes import Purchase, Shape
from clusterra.wire.agent import (
    CommandView,
    CountView,
    EdgeWorkerView,
    FailedView,
    Heartbeat,
    NodeClaimView,
    OfferingView,
    Orders,
    ShapeView,
)

MICRO = 1_000_000
_LIFECYCLES = frozenset(Purchase)
_NOTHING = msgspec.Raw(b"null")
_offerings = msgspec.json.Decoder(list[OfferingView])


def read_heartbeat(body: bytes) -> tuple[Heartbeat, bytes]:
    """Return a heartbeat, and its price table as it came: empty if there is none."""
    given = members(body)
    rest = {name: raw for name, raw in given.items() if name != "prices"}
    try:
        heartbeat = read_as(Heartbeat, rest)
    except Unreadable as missing:
        raise Invalid(
            f"This heartbeat has no {missing}.",
            hint="Say which cluster it is about: `cluster_id`, as `clusterra clusters list` shows it.",
            code="which-cluster",
            at=str(missing),
        ) from None
    prices = bytes(given.get("prices", _NOTHING))
    return _mended(heartbeat, rest), b"" if prices == b"null" else prices


def _mended(heartbeat: Heartbeat, given: Members) -> Heartbeat:
    """Read row by row what could not be read at once."""
    claims, failed = given.get("nodeclaims", _NOTHING), given.get("failed", _NOTHING)
    if heartbeat.nodeclaims is None and claims != _NOTHING:
        heartbeat = replace(heartbeat, nodeclaims=rows_as(NodeClaimView, claims, whole=True))
    if not heartbeat.failed and failed != _NOTHING:
        heartbeat = replace(heartbeat, failed=rows_as(FailedView, failed, whole=False) or ())
    if not heartbeat.capacity_pods:
        heartbeat = replace(heartbeat, capacity_pods=_counts(given.get("capacity_pods", _NOTHING)))
    return heartbeat


def _counts(raw: msgspec.Raw) -> Mapping[str, CountView]:
    try:
        shapes = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    except msgspec.MsgspecError:
        return {}
    found = {}
    for name, each in shapes.items():
        try:
            found[name] = msgspec.json.decode(each, type=CountView)
        except msgspec.MsgspecError:
            continue
    return found


def report_of(heartbeat: Heartbeat, *, address: str, now: datetime) -> EdgeReport:
    """Return what it says; `address` names an agent that does not name itself."""
    nodes, workers, claims = heartbeat.k8s_nodes, heartbeat.workers, heartbeat.nodeclaims
    return EdgeReport(
        at=now,
        agent=heartbeat.agent_id or heartbeat.agent_ip or address,
        version=heartbeat.agent_version,
        applied=heartbeat.last_applied_version,
        capacity={name: max(each.count, 0) for name, each in heartbeat.capacity_pods.items()},
        nodes=None if nodes is None else frozenset(nodes) - {""},
        workers=None if workers is None else tuple(_worker(each) for each in workers),
        failed=tuple(_failed(each) for each in heartbeat.failed),
        machines=None if claims is None else tuple(_machine(each) for each in claims),
        address=heartbeat.agent_url or heartbeat.agent_ip,
        heard_from=address,
        slurm_key_hash=heartbeat.slurm_key_hash,
    )


def _worker(view: EdgeWorkerView) -> EdgeWorker:
    return EdgeWorker(name=view.name, shape=view.shape, since=_moment(view.since), ready=view.ready)


def _failed(view: FailedView) -> Failed:
    return Failed(shape=view.shape, why=view.why, at=_moment(view.at), name=view.name)


def _machine(view: NodeClaimView) -> Machine:
    return Machine(
        name=view.name,
        instance_id=view.instance_id,
        instance_type=view.instance_type,
        lifecycle="spot" if view.lifecycle == "spot" else "on-demand",
        zone=view.zone,
        node=view.node_name,
        billable_from=None if view.billable_from is None else _moment(view.billable_from),
        launched=view.launched,
    )


def _moment(at: datetime) -> datetime:
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def offerings_in(prices: bytes) -> tuple[Offering, ...]:
    """Return the rows of a price table that say what something costs."""
    rows: Iterable[OfferingView]
    try:
        rows = _offerings.decode(prices)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        rows = rows_as(OfferingView, msgspec.Raw(prices), whole=False) or ()
    return tuple(
        Offering(
            instance_type=row.instance_type,
            lifecycle=row.lifecycle,
            zone=row.zone,
            usd_per_hour=round(row.usd_per_hour * MICRO),
        )
        for row in rows
        if row.instance_type and row.zone and row.lifecycle in _LIFECYCLES
        # Anything below half a millionth of a dollar would be free.
        if math.isfinite(row.usd_per_hour) and row.usd_per_hour * MICRO >= 0.5
    )


def orders_of(wanted: Wanted, site: Site, *, slurm_key_hash: str) -> bytes:
    """Return the answer: all that is wanted."""
    on_demand = wanted.purchase is not Purchase.SPOT
    orders = Orders(
        scaling_commands_version=wanted.fleet.version,
        scaling_commands=[
            CommandView(
                name=name, replicas=number, shape=_shape(site.shapes[name], on_demand=on_demand)
            )
            for name, number in sorted(wanted.fleet.desired.items())
            if number > 0
        ],
        protected_nodes=sorted(wanted.protected),
        slurm_key=_key_for(site.slurm_key, slurm_key_hash),
        retire=wanted.fleet.retire,
    )
    return msgspec.json.encode(_set(msgspec.to_builtins(orders)))


def _shape(shape: Shape, *, on_demand: bool) -> ShapeView:
    return ShapeView(
        arch=shape.arch,
        vcpus=shape.cpus,
        mem_gib=shape.memory_mib // 1024,
        gpu_count=shape.gpus or None,
        gpu_model=(shape.gpu_model if shape.gpus else "") or None,
        on_demand=on_demand or None,
        mem_mib=shape.memory_mib,
        features=sorted(shape.features),
    )


def _key_for(key: bytes, known: str) -> str | None:
    """Return Slurm's key as it travels, for an agent that does not have it."""
    if not key or hashlib.sha256(key).hexdigest() == known.lower():
        return None
    return base64.b64encode(key).decode()


def _set(value: Any) -> Any:
    """Leave out what is not set, at any depth."""
    if isinstance(value, dict):
        return {name: _set(each) for name, each in value.items() if each is not None}
    return [_set(each) for each in value] if isinstance(value, list) else value
