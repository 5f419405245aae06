"""What a job would cost on a cluster as it is now.

Everything that is needed is in memory, but for the policy of a fleet that was never planned:
this is asked at every submission where a quota counts.
"""

from clusterra.control.policy import load_policy
from clusterra.control.site import Site
from clusterra.core.cost.estimate.asked import asked
from clusterra.core.cost.estimate.ground import Ground
from clusterra.core.cost.estimate.priced import Priced, price
from clusterra.core.jobs.request import JobRequest
from clusterra.core.seen import Seen
from clusterra.ports import Store


async def priced(site: Site, request: JobRequest, *, store: Store) -> Priced:
    """Say which workers this request would get, and what its share of them costs."""
    ground = await ground_of(site, store)
    return price(asked(request, ground.partitions, user="", at=ground.now), ground)


async def ground_of(site: Site, store: Store) -> Ground:
    """Return what jobs could run on, as it was last seen and planned."""
    await site.meter.load()
    planned = site.planned.value if isinstance(site.planned, Seen) else None
    nodes, partitions = site.sky.nodes, site.sky.partitions
    return Ground(
        now=site.meter.clock.now(),
        book=site.meter.book,
        policy=planned.policy if planned else await load_policy(site, store),
        shapes=site.shapes,
        workers=planned.workers if planned else (),
        shortages=planned.fleet.shortages if planned else {},
        nodes=nodes.value if isinstance(nodes, Seen) else (),
        partitions=partitions.value if isinstance(partitions, Seen) else (),
        stints=site.meter.stints,
        offerings=site.edge.offerings,
    )
