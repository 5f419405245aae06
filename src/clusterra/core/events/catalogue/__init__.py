"""Every event there is, once.

The reference page, the JSON Schemas, the OpenAPI `webhooks` and the AsyncAPI
document are made from these files. Facts are metadata: nothing here can hold a
script, an environment value or output.
"""

from clusterra.core.events.catalogue import (
    admin,
    automations,
    clusters,
    collector,
    costs,
    files,
    fleet,
    jobs,
    nodes,
    people,
    webhooks,
)
from clusterra.core.events.fact import NAMES

__all__ = [
    "CATALOGUE",
    "admin",
    "automations",
    "clusters",
    "collector",
    "costs",
    "files",
    "fleet",
    "jobs",
    "nodes",
    "people",
    "webhooks",
]

CATALOGUE = dict(NAMES)
