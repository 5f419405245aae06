"""A cluster, with what reaches it."""

import getpass
import os
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from clusterra.adapters import ec2_prices, file_stores, shape_table
from clusterra.adapters.jwt_keys_local import LocalJwtKeys
from clusterra.adapters.logins_local import LocalLogins
from clusterra.adapters.logins_remote import RemoteLogins
from clusterra.adapters.logs_local import LocalLogs
from clusterra.adapters.slurm_absent import AbsentSlurm
from clusterra.adapters.slurmrest.slurm import SlurmRest
from clusterra.control.acts import Acts
from clusterra.control.cost.meter import Meter
from clusterra.control.cost.waste import Wasting
from clusterra.control.edge import Edge
from clusterra.control.link import Linked
from clusterra.control.record import Recorder
from clusterra.control.site import Site
from clusterra.core.budget import Budget
from clusterra.core.clusters import Cluster, Registered
from clusterra.core.cost.prices import Book
from clusterra.core.jobs.fit import Largest
from clusterra.core.scaling.policy import Policy
from clusterra.core.scaling.shapes import Shape
from clusterra.ports import Clock, Logs, Slurm, Store
from clusterra.settings import ClusterSettings, ScalingSettings, Settings
from clusterra.wiring.keys import read_key, read_slurm_key

NO_SLURM = "No slurmrestd was named for this cluster."


def make_site(each: ClusterSettings, settings: Settings, *, store: Store, clock: Clock) -> Site:
    embedded = each.embedded
    edge = Edge()
    logs = _logs(each, edge)
    user = each.user or getpass.getuser()
    slurm = _slurm(each, settings, clock)
    shapes = shape_table.shapes(each.scaling) if each.scaling else {}
    begun_at = (
        datetime.fromtimestamp(embedded.started_at, UTC)
        if embedded and embedded.started_at
        else None
    )
    recorder = make_recorder(
        each.id,
        store=store,
        clock=clock,
        logs=logs,
        slurm=slurm,
        shapes=shapes,
        book=_book(each.scaling),
        begun_at=begun_at,
    )
    return Site(
        cluster=Cluster(id=each.id, name=each.name or each.id, slurm_url=each.slurm),
        slurm=slurm,
        logins=LocalLogins(embedded.root, single_user=user if embedded.single_user else "")
        if embedded
        else RemoteLogins(each.home),
        logs=logs,
        edge=edge,
        files=file_stores.store_of(each, settings, clock),
        job_files=file_stores.job_files_of(each),
        user=user,
        recorder=recorder,
        linked=Linked(cluster=each.id, store=store, clock=clock),
        budget=Budget(settings.slurm.max_calls_per_minute),
        account=each.account,
        slurm_key=read_slurm_key(each.slurm_key),
        shapes=shapes,
        region=each.scaling.region if each.scaling else "",
        policy=shape_table.policy(each.scaling) if each.scaling else Policy(),
        begun_at=begun_at,
        largest=Largest(cpus=embedded.largest_cpus, memory_mib=embedded.largest_memory_mib)
        if embedded and embedded.largest_cpus and (each.scaling is None or each.scaling.only_these)
        else None,
    )


def _logs(each: ClusterSettings, edge: Edge) -> Logs:
    if embedded := each.embedded:
        return LocalLogs(embedded.root, single_user=embedded.single_user)
    # Brings an HTTP client, which tests of other rooms need not load.
    from clusterra.adapters.logs_agent import AgentLogs  # noqa: PLC0415

    return AgentLogs(lambda: edge.log_door)


def _book(scaling: ScalingSettings | None) -> Book:
    """Return the prices that come with the program, where it is known which region's count."""
    table = ec2_prices.prices(scaling.region) if scaling else {}
    return Book(table=table, table_at=ec2_prices.AS_OF)


def jwt_keys(settings: Settings) -> LocalJwtKeys:
    return LocalJwtKeys(settings.server.state / "keys")


def registered_site(cluster: Registered, settings: Settings, *, store: Store, clock: Clock) -> Site:
    """Make the site of a cluster that was added; one whose Slurm cannot be asked is there too."""
    key = jwt_keys(settings).path(cluster.id)
    why = "" if cluster.slurm_url else NO_SLURM
    if not why and not os.access(key, os.R_OK):
        why = f"The key of its Slurm, {key}, is gone."
    each = ClusterSettings(
        id=cluster.id,
        name=cluster.name,
        slurm="" if why else cluster.slurm_url,
        jwt_key=key,
        scaling=ScalingSettings(region=cluster.region) if cluster.region else ScalingSettings(),
    )
    site = make_site(each, settings, store=store, clock=clock)
    site.cluster = replace(site.cluster, added=True)
    if why:
        site.slurm, site.sky.why_not = AbsentSlurm(why), why
        site.edge.lose_sight(why)
    return site


def _slurm(each: ClusterSettings, settings: Settings, clock: Clock) -> Slurm:
    if not each.slurm:
        return AbsentSlurm(NO_SLURM)
    return SlurmRest(
        each.slurm,
        read_key(each.jwt_key),
        service_user=each.service_user,
        timeout_seconds=settings.slurm.timeout_seconds,
        connections=settings.slurm.connections,
        clock=clock,
    )


def make_recorder(
    cluster: str,
    *,
    store: Store,
    clock: Clock,
    logs: Logs,
    slurm: Slurm,
    shapes: Mapping[str, Shape] | None = None,
    book: Book | None = None,
    begun_at: datetime | None = None,
) -> Recorder:
    meter = Meter(
        cluster=cluster,
        store=store,
        clock=clock,
        book=book or Book(table_at=ec2_prices.AS_OF),
        shapes=shapes or {},
        begun_at=begun_at,
    )
    recorder = Recorder(
        cluster=cluster,
        store=store,
        clock=clock,
        acts=Acts(cluster=cluster, store=store, clock=clock),
        logs=logs,
        meter=meter,
        wasting=Wasting(meter=meter, store=store, clock=clock),
        earlier_runs=slurm.earlier_runs,
    )
    meter.running = recorder.running
    return recorder
