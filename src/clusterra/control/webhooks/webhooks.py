"""Webhooks, put together: endpoints, the way out, lanes, and telling without waiting for an event."""

import os
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from clusterra.control.lease import Tenure
from clusterra.control.people.doing import Doer
from clusterra.control.people.people import People
from clusterra.control.people.standing import standing
from clusterra.control.site import Site
from clusterra.control.webhooks.context import Context, Diagnose
from clusterra.control.webhooks.endpoints import Endpoints
from clusterra.control.webhooks.fan_out import FanOut, row_of
from clusterra.control.webhooks.hearing import Hearing
from clusterra.control.webhooks.lane import Lane
from clusterra.control.webhooks.outlet import Outlet, Sent
from clusterra.control.webhooks.record import Recording
from clusterra.control.webhooks.replay import Replayer
from clusterra.control.webhooks.slots import Slots
from clusterra.core.access import Caller
from clusterra.core.change import Change
from clusterra.core.errors import Conflict, Invalid
from clusterra.core.events.event import Draft, Event
from clusterra.core.events.sample import Setting, sample_draft
from clusterra.core.people.person import Person, ledger_of
from clusterra.core.webhooks.breaker import Breaker
from clusterra.core.webhooks.endpoint import Endpoint, EndpointState
from clusterra.core.webhooks.telling import Place
from clusterra.ports import Clock, Mailer, Sender, Store, Vault
from clusterra.settings import WebhookSettings

SPARE = 5.0
"""Seconds by which a lease outlives the longest delivery."""


@dataclass(slots=True, kw_only=True)
class Webhooks:
    store: Store
    clock: Clock
    people: People
    vault: Vault
    sender: Sender
    mailer: Mailer | None
    settings: WebhookSettings
    console: str
    """Where people find the console; empty where nobody knows."""

    holder: str
    sites: Callable[[], Mapping[str, Site]]
    zone_of: Callable[[Person, str], Awaitable[str]]
    diagnose: Diagnose
    spelled: Callable[[Draft, str], Event]
    """An event as it would stand in that ledger, and does not."""

    wake: Callable[[str], None] = lambda _: None
    """Have what is due for an endpoint delivered now."""

    endpoints: Endpoints = field(init=False)
    outlet: Outlet = field(init=False)
    replayer: Replayer = field(init=False)
    _slots: Slots = field(init=False)
    _lanes: dict[str, Lane] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_lease(self.settings)
        self._slots = Slots(self.settings.at_once)
        self.endpoints = Endpoints(
            store=self.store,
            clock=self.clock,
            vault=self.vault,
            sender=self.sender,
            mails=self.mailer is not None,
            ledgers_of=self.people.ledgers_of,
            zone_of=self.zone_of,
        )
        context = Context(
            sites=self.sites,
            store=self.store,
            standing=lambda person, workspace: standing(self.people, person, workspace),
            diagnose=self.diagnose,
        )
        self.outlet = Outlet(
            endpoints=self.endpoints,
            sender=self.sender,
            mailer=self.mailer,
            vault=self.vault,
            clock=self.clock,
            telling=context.telling,
            place=self._place,
        )
        self.replayer = Replayer(
            store=self.store,
            clock=self.clock,
            hearing=lambda endpoint: self._hearing([replace(endpoint, begins={})]),
            ledgers_of=self.people.ledgers_of,
            wake=self._wake,
        )

    def fan_out(self, ledger: str, workspace: str) -> FanOut:
        return FanOut(
            ledger=ledger,
            store=self.store,
            clock=self.clock,
            tenure=self._tenure(ledger, "tell"),
            hearing=lambda: self._hearing(self.endpoints.of(workspace)),
            wake=self._wake,
        )

    def lane(self, id: str) -> Lane:
        """Return the lane of an endpoint; the same one as long as the endpoint is there."""
        if (known := self._lanes.get(id)) is not None:
            return known
        tenure = self._tenure(id, "deliver")
        made = self._lanes[id] = Lane(
            id=id,
            find=self.endpoints.find,
            store=self.store,
            clock=self.clock,
            tenure=tenure,
            slots=self._slots,
            outlet=self.outlet,
            recording=Recording(
                store=self.store,
                clock=self.clock,
                tenure=tenure,
                endpoints=self.endpoints,
                chance=random.random,
            ),
            breaker=Breaker(most=max(1, self.settings.at_once // 2)),
        )
        return made

    def forget_lane(self, id: str) -> None:
        """Let go of what was kept in memory of an endpoint that is gone."""
        self._lanes.pop(id, None)
        self.outlet.forget(id)

    async def notify(self, id: str, event: Event) -> None:
        """Have an event told to an endpoint, whether or not it would hear of it. Raises NotFound."""
        endpoint = self.endpoints.get(id)
        row = row_of(event, endpoint, self.clock.now())
        try:
            await self.store.commit(ledger_of(endpoint.workspace), Change(deliveries=[row]))
        except Conflict:
            return  # it has it already
        self.wake(id)

    def made_up(self, type: str, workspace: str, person: Person) -> Event:
        """Return an event that did not happen, about somewhere they know. Raises Invalid."""
        sites = [site for site in self.sites().values() if site.workspace == workspace]
        setting = Setting(
            email=person.email,
            user=person.login,
            workspace=workspace,
            cluster=sites[0].cluster.name if sites else "helix",
        )
        draft = sample_draft(type, token=os.urandom(8).hex(), at=self.clock.now(), setting=setting)
        of_cluster = type.partition(".")[0] in ("job", "node", "fleet", "cluster", "collector")
        ledger = sites[0].cluster.id if sites and of_cluster else ledger_of(workspace)
        return self.spelled(draft, ledger)

    async def try_once(self, endpoint: Endpoint, event: Event) -> Sent:
        """Send an event that was made up, now; nothing of it is kept."""
        return await self.outlet.send(endpoint, [event])

    async def resume(self, id: str, *, by: Doer, replay: bool = True) -> tuple[Endpoint, int]:
        """Make an endpoint active again; return it, and how much that was kept is told now."""
        replayed = 0
        if replay:
            # Before anybody sends there again, so that what happens now comes after it.
            replayed += (await self.replayer.kept(self.endpoints.get(id))).count
        endpoint = await self.endpoints.turn(id, EndpointState.ACTIVE, by=by)
        if replay:
            replayed += (await self.replayer.kept(endpoint)).count
        self.wake(id)
        return endpoint, replayed

    async def remove(self, id: str, *, by: Doer) -> Endpoint:
        """Remove an endpoint, and what waits for it."""
        gone = await self.endpoints.delete(id, by=by)
        await self.store.forget_deliveries(id, ended_before=None)
        return gone

    def standing_of(self, endpoint: Endpoint) -> Caller | None:
        """Return who its owner is now; None if they are not in the workspace any more."""
        return standing(self.people, endpoint.owner, endpoint.workspace)

    async def tidy(self) -> bool:
        """Let go of what was delivered, or given up, long ago."""
        before = self.clock.now() - timedelta(days=self.settings.keep_days)
        return await self.store.forget_deliveries("", ended_before=before) > 0

    def hears(self, workspace: str, event: Event) -> list[Endpoint]:
        """Return who would be told of an event."""
        mine = [replace(each, begins={}) for each in self.endpoints.of(workspace)]
        heard = {each.id for each in self._hearing(mine).heard_by(event)}
        return [each for each in self.endpoints.of(workspace) if each.id in heard]

    def _wake(self, endpoint: str) -> None:
        self.wake(endpoint)  # which is set after we were made

    def _hearing(self, endpoints: Sequence[Endpoint]) -> Hearing:
        workspace = endpoints[0].workspace if endpoints else ""
        return Hearing(
            endpoints=endpoints,
            standing=lambda person: standing(self.people, person, workspace),
            person_of=self.people.directory.payer_of,
        )

    def _tenure(self, id: str, what: str) -> Tenure:
        return Tenure(
            cluster=id,
            what=what,
            holder=self.holder,
            store=self.store,
            clock=self.clock,
            good_for=timedelta(seconds=self.settings.lease_seconds),
            least=timedelta(seconds=self.settings.timeout_seconds + SPARE),
        )

    def _place(self, endpoint: Endpoint) -> Place:
        workspace = self.people.directory.workspace(endpoint.workspace)
        return Place(console=self.console, zone=endpoint.zone, workspace=workspace.name)


def check_lease(settings: WebhookSettings) -> None:
    """Raise Invalid if two could deliver to one endpoint at once."""
    least = settings.timeout_seconds + SPARE
    if settings.lease_seconds < least:
        raise Invalid(
            f"webhooks.lease_seconds is {settings.lease_seconds:g}: shorter than a delivery may take"
            f" ({settings.timeout_seconds:g} s) and {SPARE:g} s more, so that one would be sent twice.",
            hint=f"Set it to {least:g} or more, or webhooks.timeout_seconds to less.",
            at="webhooks.lease_seconds",
        )
