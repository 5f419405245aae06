"""Find and change how a cluster's fleet may grow and shrink.

What an admin has set is in the store; until they have, it is what the settings say.
"""

from dataclasses import replace

from clusterra.control.people.doing import Doer, told
from clusterra.control.site import Site
from clusterra.core.change import Change, Record
from clusterra.core.errors import Refused
from clusterra.core.events.catalogue.admin import AdminPolicyChanged
from clusterra.core.scaling.edit import PolicyEdit, differences, edited
from clusterra.core.scaling.policy import POLICY, Policy
from clusterra.ports import Clock, Store


async def load_policy(site: Site, store: Store) -> Policy:
    """Return the policy that counts now."""
    return (await policy_record(site, store)).value


async def policy_record(site: Site, store: Store) -> Record[Policy]:
    """Return the policy that counts now; at version 0 nobody has set one."""
    return await store.get(POLICY, site.cluster.id, default=site.policy)


async def change_policy(
    site: Site, edit: PolicyEdit, *, by: Doer, store: Store, clock: Clock
) -> Policy:
    """Set some of a policy and have the fleet planned anew. What is so already changes nothing."""
    if not site.shapes:
        raise not_scaled(site)
    record = await policy_record(site, store)
    policy = edited(record.value, edit, site.shapes)
    changed = differences(record.value, policy)
    if not changed:
        return policy
    id = site.cluster.id
    fact = AdminPolicyChanged(id=id, name=site.cluster.name, cluster=id, changed=changed)
    draft = told(fact, actor=by.actor, subject="policy", at=clock.now())
    await store.commit(id, Change(puts=[replace(record, value=policy)], events=[draft]))
    site.edge.heard()
    return policy


def not_scaled(site: Site) -> Refused:
    return Refused(
        f"{site.cluster.name} is not scaled by Clusterra: its nodes are those Slurm was given.",
        hint="Let an agent start workers for it: add a [clusters.scaling] section to its settings.",
        code="not-scaled",
    )
