"""The part of the API about the workers of a cluster.

It is reached as `client.fleet` and asks through that client, which keeps the answer.
"""

from urllib.parse import quote, urlencode

from clusterra.client.people import Ask
from clusterra.wire.fleet import DecisionPage, EditPolicy, FleetView, PolicyView


class Fleet:
    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def show(self, cluster: str) -> FleetView:
        return self._ask(FleetView, "GET", _at(cluster))

    def decisions(self, cluster: str, *, limit: int, before: int | None = None) -> DecisionPage:
        """Return what was decided, newest first; before an event, if one is named."""
        asked = {"limit": limit} | ({} if before is None else {"before": before})
        return self._ask(DecisionPage, "GET", f"{_at(cluster, 'decisions')}?{urlencode(asked)}")

    def policy(self, cluster: str) -> PolicyView:
        return self._ask(PolicyView, "GET", _at(cluster, "policy"))

    def set_policy(self, cluster: str, edit: EditPolicy) -> PolicyView:
        return self._ask(PolicyView, "PATCH", _at(cluster, "policy"), edit)


def _at(cluster: str, *more: str) -> str:
    return "/".join((f"/v1/clusters/{quote(cluster, safe='')}/fleet", *more))
