"""Say what a cluster's machines cost, against every list: for machines that nobody sells.

It counts from the moment it is said. What ran before keeps the price it had then.
"""

from contextlib import suppress
from dataclasses import replace

from clusterra.control.cost.meter import RATES
from clusterra.control.people.doing import Doer, told
from clusterra.control.site import Site
from clusterra.core.change import Change
from clusterra.core.cost.own_rates import differences
from clusterra.core.cost.prices import Rates
from clusterra.core.errors import Unreachable
from clusterra.core.events.catalogue.admin import AdminPricesChanged
from clusterra.ports import Clock, Store


async def set_rates(
    site: Site, rates: Rates | None, *, by: Doer, store: Store, clock: Clock
) -> None:
    """Have these rates count from now on; None is list prices again. What is so changes nothing."""
    id = site.cluster.id
    record = await store.get(RATES, id, default=None)
    changed = differences(record.value, rates)
    if not changed:
        return
    fact = AdminPricesChanged(id=id, name=site.cluster.name, cluster=id, changed=changed)
    draft = told(fact, actor=by.actor, subject="prices", at=clock.now())
    await store.commit(id, Change(puts=[replace(record, value=rates)], events=[draft]))
    # While Slurm cannot be seen they count from the next look on.
    with suppress(Unreachable):
        await site.meter.look()
