"""The part of the API about automations.

It is reached as `client.automations` and asks through that client, which keeps the answer.
"""

from collections.abc import Mapping
from urllib.parse import quote, urlencode

from clusterra.client.people import Ask
from clusterra.wire.automations import (
    AutomationDeleted,
    AutomationPage,
    AutomationView,
    FiringPage,
    Rehearsal,
)


class Automations:
    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def list(self, workspace: str = "") -> AutomationPage:
        """Return those one may see, of one workspace or of all."""
        asked = f"?{urlencode({'workspace': workspace})}" if workspace else ""
        return self._ask(AutomationPage, "GET", _at() + asked)

    def add(self, wanted: Mapping[str, object]) -> AutomationView:
        """Make one: fields of `AddAutomation`."""
        return self._ask(AutomationView, "POST", _at(), dict(wanted))

    def show(self, automation: str) -> AutomationView:
        return self._ask(AutomationView, "GET", _at(automation))

    def edit(self, automation: str, edit: Mapping[str, object]) -> AutomationView:
        """Change one: fields of `EditAutomation`, and only those that are to be different."""
        return self._ask(AutomationView, "PATCH", _at(automation), dict(edit))

    def delete(self, automation: str) -> AutomationDeleted:
        return self._ask(AutomationDeleted, "DELETE", _at(automation))

    def dry_run(self, wanted: Mapping[str, object]) -> Rehearsal:
        """Ask what one would have done: fields of `RehearseAutomation`."""
        return self._ask(Rehearsal, "POST", _at("dry-run"), dict(wanted))

    def firings(self, automation: str, *, limit: int | None = None) -> FiringPage:
        """Return what one did and has still to do, the newest first."""
        asked = f"?limit={limit}" if limit else ""
        return self._ask(FiringPage, "GET", _at(automation, "firings") + asked)


def _at(*more: str) -> str:
    return "/".join(("/v1/automations", *(quote(each, safe="") for each in more)))
