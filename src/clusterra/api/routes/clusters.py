"""Clusters, nodes and partitions over HTTP; adding clusters and removing them."""

import base64
import binascii
from collections import Counter
from dataclasses import asdict, replace

from fastapi import APIRouter, Request
from starlette.responses import Response

from clusterra.api import body
from clusterra.api.admit import Guarded, caller_of, guest_of, in_workspace
from clusterra.api.door import plane_of
from clusterra.api.openapi import takes
from clusterra.api.sight import sight
from clusterra.api.workspace_meant import workspace_meant
from clusterra.control.connect import NewCluster
from clusterra.control.plane import Plane
from clusterra.control.site import NOT_YET, Site
from clusterra.core.access import Caller, Deed
from clusterra.core.clusters import Node, Partition
from clusterra.core.errors import Invalid, Unreachable
from clusterra.core.jobs.job import JobState
from clusterra.core.jobs.privacy import as_seen_by
from clusterra.core.jobs.query import Op, Query, Term
from clusterra.core.people.credentials import key_use
from clusterra.core.seen import Seen
from clusterra.wire.clusters import (
    AddCluster,
    ClusterAdded,
    ClusterPage,
    ClusterRemoved,
    ClusterView,
    KeyRotated,
    NodePage,
    NodeView,
    PartitionPage,
    PartitionView,
    RotateKey,
    SlurmView,
)

router = APIRouter(prefix="/v1/clusters", tags=["clusters"], route_class=Guarded)


@router.get("", response_model=ClusterPage)
async def list_clusters(request: Request) -> Response:
    """List the clusters of the workspaces one is in."""
    plane, guest = plane_of(request), guest_of(request)
    mine = guest.workspaces(plane.people)
    views = [
        await _view(plane, site, in_workspace(guest, plane, Deed.SEE_CLUSTER, cluster=id))
        for id, site in plane.sites.items()
        if site.workspace in mine
    ]
    return body.json(ClusterPage(clusters=views, total=len(views)))


@router.post("", status_code=201, response_model=ClusterAdded, openapi_extra=takes(AddCluster))
async def add_cluster(request: Request) -> Response:
    """Register a cluster whose workers are elsewhere. Its keys are shown this once."""
    plane, guest = plane_of(request), guest_of(request)
    wanted = body.decode(await body.read(request), AddCluster)
    workspace = wanted.workspace or workspace_meant(guest, plane)
    caller = in_workspace(guest, plane, Deed.KEEP_CLUSTERS, workspace=workspace)
    added = await plane.connect.add(
        NewCluster(
            name=wanted.name,
            workspace=workspace,
            slurm_url=wanted.slurm.strip().rstrip("/"),
            jwt_key=_key_bytes(wanted.jwt_key),
            region=wanted.region.strip(),
        ),
        by=guest.doer(caller.role),
    )
    return body.json(
        ClusterAdded(
            cluster=added.cluster.id,
            agent_key=added.agent_key,
            collector_key=added.collector_key,
            name=added.cluster.name,
            workspace=workspace,
            warning=added.warning,
        ),
        201,
    )


@router.delete("/{cluster}", response_model=ClusterRemoved)
async def remove_cluster(request: Request, cluster: str) -> Response:
    """Look after a cluster no longer. Its keys end, its ledger is kept, its workers stay as they are."""
    by = guest_of(request).doer(caller_of(request).role)
    gone = await plane_of(request).connect.remove(cluster, by=by)
    return body.json(ClusterRemoved(cluster=gone.id, name=gone.name, workspace=gone.workspace))


@router.post(
    "/{cluster}/rotate-key",
    status_code=201,
    response_model=KeyRotated,
    openapi_extra=takes(RotateKey),
)
async def rotate_key(request: Request, cluster: str) -> Response:
    """Make a new key of the agent or collector. The old one is good until it is revoked.

    No more than two are good at once: while the last change-over is not finished, this is
    refused, and says which to revoke.
    """
    wanted = body.decode(await body.read(request) or b"{}", RotateKey)
    use = key_use(wanted.use)
    by = guest_of(request).doer(caller_of(request).role)
    secret, key, old = await plane_of(request).connect.rotate(cluster, use, by=by)
    made = KeyRotated(
        key=secret, id=key.id, cluster=cluster, use=use, old=[each.id for each in old]
    )
    return body.json(made, 201)


@router.get("/{cluster}", response_model=ClusterView)
async def show_cluster(request: Request, cluster: str) -> Response:
    """Return one cluster: whether it can be seen, what runs there, on what."""
    plane = plane_of(request)
    return body.json(await _view(plane, plane.site(cluster), caller_of(request)))


@router.get("/{cluster}/nodes", response_model=NodePage)
async def list_nodes(request: Request, cluster: str) -> Response:
    """List the cluster's nodes."""
    plane = plane_of(request)
    site = plane.site(cluster)
    if not isinstance(site.sky.nodes, Seen):
        raise _unseen(site)
    return body.json(
        NodePage(
            nodes=[_node(node) for node in site.sky.nodes.value],
            next=None,
            **sight(site.sky, plane.clock.now()),
        )
    )


@router.get("/{cluster}/partitions", response_model=PartitionPage)
async def list_partitions(request: Request, cluster: str) -> Response:
    """List the cluster's partitions."""
    plane = plane_of(request)
    site = plane.site(cluster)
    if not isinstance(site.sky.partitions, Seen):
        raise _unseen(site)
    return body.json(
        PartitionPage(
            partitions=[_partition(site, each) for each in site.sky.partitions.value],
            next=None,
            **sight(site.sky, plane.clock.now()),
        )
    )


def _key_bytes(text: str) -> bytes:
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except binascii.Error:
        raise Invalid(
            "The key of Slurm is not base64.",
            hint="Send the bytes of jwt_hs256.key in base64, as `base64 -w0 jwt_hs256.key` prints them.",
            at="jwt_key",
            code="bad-jwt-key",
        ) from None


async def _view(plane: Plane, site: Site, caller: Caller) -> ClusterView:
    sky = site.sky
    slurm = None
    if isinstance(sky.info, Seen):
        info = sky.info.value
        slurm = SlurmView(
            version=info.version,
            api_version=info.api_version,
            cluster_name=info.cluster_name,
            accounting=info.accounting,
        )
    nodes = sky.nodes.value if isinstance(sky.nodes, Seen) else ()
    connected = not sky.why_not
    return ClusterView(
        id=site.cluster.id,
        name=site.cluster.name,
        workspace=site.workspace,
        state="up" if connected else "starting" if sky.why_not == NOT_YET.why else "unreachable",
        connection_state="connected" if connected else "disconnected",
        why=sky.why_not,
        slurm=slurm,
        jobs=await _tally(plane, site, caller),
        nodes=dict(Counter(node.state for node in nodes)),
        **sight(sky, plane.clock.now()),
    )


async def _tally(plane: Plane, site: Site, caller: Caller) -> dict[str, int]:
    """Count the jobs by state: all, or one's own where the others are not to be known of."""
    if as_seen_by(caller, Query()) == Query():
        return dict(await plane.store.tally(site.cluster.id))
    counts = {}
    for state in JobState:
        term = Term(field="state", op=Op.IS, values=(state.lower(),))
        seen = as_seen_by(caller, Query(terms=(term,)))
        counts[state.value] = await plane.store.count(site.cluster.id, seen)
    return {state: number for state, number in counts.items() if number}


def _partition(site: Site, partition: Partition) -> PartitionView:
    view = PartitionView(**asdict(partition))
    if not site.shapes or not isinstance(site.sky.nodes, Seen):
        return view
    # Slurm counts the nodes that could be as well.
    there = [node for node in site.sky.nodes.value if partition.name in node.partitions]
    return replace(view, nodes_total=len(there), cpus_total=sum(node.cpus for node in there))


def _node(node: Node) -> NodeView:
    return NodeView(
        **asdict(node)
        | {
            "flags": list(node.flags),
            "features": list(node.features),
            "partitions": list(node.partitions),
        }
    )


def _unseen(site: Site) -> Unreachable:
    return Unreachable(
        f"{site.cluster.name} has not been seen yet: {site.sky.why_not}",
        hint="Try again in a few seconds; `clusterra doctor` says what is missing.",
    )
