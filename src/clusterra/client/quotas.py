"""The part of the API about quotas.

It is reached as `client.quotas` and asks through that client, which keeps the answer.
"""

from collections.abc import Mapping
from urllib.parse import quote

from clusterra.client.people import Ask
from clusterra.wire.quotas import QuotaChanged, QuotaPage, QuotaView, RaiseQuota


class Quotas:
    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def all(self, workspace: str) -> QuotaPage:
        """Return everybody's for an admin; else one's own, and the workspace's."""
        return self._ask(QuotaPage, "GET", _at(workspace))

    def show(self, workspace: str, whose: str) -> QuotaView:
        """Return one; `whose` is an e-mail, `everybody` or `workspace`."""
        return self._ask(QuotaView, "GET", _at(workspace, whose))

    def set(self, workspace: str, whose: str, edit: Mapping[str, object]) -> QuotaChanged:
        """Change one: fields of `EditQuota`, and only those that are to be different."""
        return self._ask(QuotaChanged, "PATCH", _at(workspace, whose), dict(edit))

    def allow_more(self, workspace: str, whose: str, wanted: RaiseQuota) -> QuotaChanged:
        return self._ask(QuotaChanged, "POST", _at(workspace, whose, "raise"), wanted)


def _at(workspace: str, *more: str) -> str:
    parts = (workspace, "quotas", *more)
    return "/v1/workspaces/" + "/".join(quote(each, safe="") for each in parts)
