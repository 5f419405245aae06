"""Everything that happens without being asked."""

from collections.abc import Callable, Collection
from datetime import timedelta
from functools import partial

from clusterra.control.checkpoint import Checkpointer
from clusterra.control.cost.cloud_prices import CloudPrices
from clusterra.control.cost.enforce import Enforcer
from clusterra.control.evict import Evictor
from clusterra.control.heed import Heeder
from clusterra.control.history import read_past
from clusterra.control.lease import Tenure
from clusterra.control.nodes import NodeWatch
from clusterra.control.observe import Observer
from clusterra.control.people.tidy import tidy
from clusterra.control.plane import Plane
from clusterra.control.scale import Scaler
from clusterra.control.seal import seal
from clusterra.control.site import Site
from clusterra.core.people.person import ledger_of
from clusterra.loops.files import file_loops
from clusterra.loops.loop import Alarm, Loop
from clusterra.settings import SlurmSettings

SCALE_SECONDS = 20
AGENT_SECONDS = 5
PRICES_SECONDS = 900
QUOTA_SECONDS = 5
QUOTA_IDLE_SECONDS = 30
"""While no job runs; one that starts is seen to within that, which is no time of its cost."""

REQUESTS_SECONDS = 3600
SCHEDULES_SECONDS = 20
TELL_SECONDS = 15
TELL_GAP = 0.002
TIDY_SECONDS = 3600

SIGN_SECONDS = 60
SIGN_EVENTS = 1_000
"""How much, and for how long, may stand in a ledger without a signature."""


def site_loops(plane: Plane, site: Site) -> list[Loop]:
    """Make the loops of a cluster, and let submissions wake the ones that watch its queue."""
    settings, cluster = plane.settings.slurm, site.cluster.id
    observer = Observer(site=site, store=plane.store, clock=plane.clock)
    observe = Loop(
        name=f"observe {cluster}",
        round=observer.look,
        every=_affordable(settings),
        idle=settings.idle_poll_seconds,
    )
    site.wake = observe.wake
    heeder = Heeder(site=site, store=plane.store, clock=plane.clock, inbox=plane.inboxes[cluster])
    heed = Loop(
        name=f"heed {cluster}",
        round=heeder.heed,
        every=2,
        idle=15,
        # As soon as something is said, but a burst together.
        gap=0.01,
    )
    site.nudge = _waker(heed)

    async def stamp() -> bool:
        return await site.recorder.stamps.write(site.slurm, site.budget, plane.clock)

    async def past() -> bool:
        await read_past(site, days=settings.history_days, store=plane.store, clock=plane.clock)
        return site.sky.seen_at is None

    return [
        *ledger_loops(plane, plane.ledgers[cluster]),
        observe,
        heed,
        Loop(name=f"history {cluster}", round=past, every=2, idle=60),
        Loop(name=f"stamp {cluster}", round=stamp, every=1, idle=5),
        Loop(name=f"waste {cluster}", round=site.wasting.settle, every=1, idle=60),
        Loop(
            name=f"agent {cluster}",
            round=plane.heartbeats[cluster].watch,
            every=AGENT_SECONDS,
            idle=AGENT_SECONDS,
        ),
        *fleet_loops(plane, site, observer.nodes),
        *file_loops(plane, site),
    ]


def server_loops(plane: Plane) -> list[Loop]:
    """Make the loops that belong to no cluster."""
    people = plane.people
    made: list[Loop] = []
    for workspace in people.workspaces:
        made += ledger_loops(plane, plane.ledgers[ledger_of(workspace.id)])
    if plane.price_list is not None:
        cloud = CloudPrices(
            price_list=plane.price_list, sites=lambda: [*plane.sites.values()], clock=plane.clock
        )
        made.append(Loop(name="prices", round=cloud.refresh, every=60, idle=PRICES_SECONDS))
    made.append(_quota_loop(plane))
    made.append(Loop(name="webhooks tidy", round=plane.webhooks.tidy, every=60, idle=TIDY_SECONDS))
    automations = plane.automations
    made.append(Loop(name="automations tidy", round=automations.tidy, every=60, idle=TIDY_SECONDS))
    made.append(
        Loop(name="schedules", round=plane.schedules.start_due, every=1, idle=SCHEDULES_SECONDS)
    )
    uses = Loop(name="uses", round=people.uses.write, every=60, idle=60)
    people.uses.wake = uses.wake
    return [
        *made,
        uses,
        Loop(name="tidy", round=partial(tidy, people), every=600, idle=600),
        Loop(name="requests", round=plane.requests.tidy, every=1, idle=REQUESTS_SECONDS),
    ]


def _quota_loop(plane: Plane) -> Loop:
    """Do what follows from quotas, for all workspaces: at once when one is changed."""
    enforcer = Enforcer(
        book=plane.quotas,
        workspaces=lambda: [each.id for each in plane.people.workspaces],
        store=plane.store,
        clock=plane.clock,
    )
    enforce = Loop(
        name="quotas", round=enforcer.enforce, every=QUOTA_SECONDS, idle=QUOTA_IDLE_SECONDS
    )
    plane.quotas.changed = enforce.wake
    return enforce


def fleet_loops(plane: Plane, site: Site, nodes: NodeWatch) -> list[Loop]:
    """Decide about workers, at once when something moves; give up nodes the cloud takes back."""
    if not site.shapes:
        return []
    cluster = site.cluster.id
    tenure = Tenure(
        cluster=cluster, what="scale", holder=plane.holder, store=plane.store, clock=plane.clock
    )
    scaler = Scaler(site=site, store=plane.store, clock=plane.clock, tenure=tenure, nodes=nodes)
    scale = Loop(
        name=f"scale {cluster}",
        round=scaler.scale,
        every=SCALE_SECONDS,
        idle=SCALE_SECONDS,
        gap=0.1,
    )
    scaler.alarm = Alarm(scale.wake)
    site.recorder.moved = site.edge.heard = scale.wake
    evict = Loop(
        name=f"evict {cluster}",
        round=Evictor(site=site, store=plane.store).evict,
        every=SCALE_SECONDS,
        idle=SCALE_SECONDS,
    )

    def noticed(ledger: str, _: int) -> None:
        if ledger == cluster:
            evict.wake()

    plane.store.watch(noticed)
    return [scale, evict]


def ledger_loops(plane: Plane, ledger: Checkpointer) -> list[Loop]:
    """Sign the ledger every minute and every thousand events; put away what is old enough."""
    settings = plane.settings.ledger
    sign = Loop(
        name=f"checkpoint {ledger.cluster}",
        round=ledger.sign,
        every=SIGN_SECONDS,
        idle=SIGN_SECONDS,
    )

    def grown(cluster: str, head: int) -> None:
        if cluster == ledger.cluster and head - ledger.signed >= SIGN_EVENTS:
            sign.wake()

    plane.store.watch(grown)
    loops = [sign, tell_loop(plane, ledger.cluster), *automation_loops(plane, ledger.cluster)]
    if not settings.keep_days:
        return loops

    async def put_away() -> bool:
        return not ledger.why_held and await seal(
            ledger.cluster,
            keep=timedelta(days=settings.keep_days),
            most=settings.segment_events,
            key=ledger.key,
            store=plane.store,
            archive=plane.archive,
            clock=plane.clock,
        )

    return [*loops, Loop(name=f"seal {ledger.cluster}", round=put_away, every=1, idle=3600)]


def tell_loop(plane: Plane, ledger: str) -> Loop:
    """Turn what happens into what webhooks are told, at once."""
    tell = Loop(
        name=f"tell {ledger}",
        round=plane.webhooks.fan_out(ledger, plane.people.workspace_of(ledger)).read_on,
        every=TELL_GAP,
        idle=TELL_SECONDS,
        gap=TELL_GAP,
    )

    def grown(cluster: str, _: int) -> None:
        if cluster == ledger:
            tell.wake()

    plane.store.watch(grown)
    return tell


def automation_loops(plane: Plane, ledger: str) -> list[Loop]:
    """Put down what automations have to do about what happens, at once; and do it."""
    reader, actor = plane.automations.of_ledger(ledger)
    read = Loop(
        name=f"automate {ledger}",
        round=reader.read,
        every=TELL_GAP,
        idle=TELL_SECONDS,
        gap=TELL_GAP,
    )
    act = Loop(
        name=f"act {ledger}", round=actor.act, every=TELL_GAP, idle=TELL_SECONDS, gap=TELL_GAP
    )
    reader.due.added, actor.alarm = act.wake, Alarm(act.wake)

    def grown(cluster: str, _: int) -> None:
        if cluster == ledger:
            read.wake()

    plane.store.watch(grown)
    return [read, act]


def _waker(loop: Loop) -> Callable[[Collection[int]], None]:
    return lambda _: loop.wake()


def _affordable(settings: SlurmSettings) -> float:
    """Look no more often than would use half the budget, so that details can be fetched too."""
    return max(settings.poll_seconds, 120 / max(settings.max_calls_per_minute, 1))
