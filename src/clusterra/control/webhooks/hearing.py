"""Which endpoints hear of an event: those that want to, and whose owners may read it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from clusterra.core.access import Caller
from clusterra.core.automation.cause import read_cause
from clusterra.core.events.access import may_read
from clusterra.core.events.event import Event
from clusterra.core.events.interest import Particulars, particulars
from clusterra.core.webhooks.endpoint import Endpoint
from clusterra.core.webhooks.wanted import worth_telling

_NOTHING = Particulars()
BEFORE_ALL = -1
"""Where an endpoint begins that hears of all there is, what was made up included."""

ITSELF = "webhook."
"""Events about webhooks. An endpoint is not told of itself."""

MADE = "admin.webhook.created"
"""It hears of what comes after that."""


@dataclass(slots=True, kw_only=True)
class Hearing:
    """Of one moment: whoever is asked about here is asked once."""

    endpoints: Sequence[Endpoint]
    standing: Callable[[str], Caller | None]
    """Who the owner of an endpoint is in the workspace; None if they are there no more."""

    person_of: Callable[[str], str]
    _owners: dict[str, Caller | None] = field(default_factory=dict)

    def heard_by(self, event: Event) -> Iterator[Endpoint]:
        inside: Particulars | None = None
        if event.type.startswith("automation.") and read_cause(event).is_copy:
            return
        for endpoint in self.endpoints:
            began = endpoint.begins.get(event.cluster, BEFORE_ALL)
            if event.seq <= began or _about(event, endpoint):
                continue
            if endpoint.interest.looks_inside and inside is None:
                inside = particulars(event.body, self.person_of)
            if not endpoint.interest.means(event.type, event.cluster, inside or _NOTHING):
                continue
            if not worth_telling(event.type, endpoint.format, endpoint.interest.types):
                continue
            owner = self._owner(endpoint.owner)
            if owner is not None and may_read(owner, event):
                yield endpoint

    def _owner(self, person: str) -> Caller | None:
        if person not in self._owners:
            self._owners[person] = self.standing(person)
        return self._owners[person]


def _about(event: Event, endpoint: Endpoint) -> bool:
    return event.type.startswith((ITSELF, MADE)) and event.subject == f"webhook/{endpoint.id}"
