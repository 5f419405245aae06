"""A post office in memory: a plane with a receiver whose answers a test decides."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Self

from clusterra.adapters.memory import ManualClock
from clusterra.adapters.memory_sender import MemorySender
from clusterra.control.plane import Plane
from clusterra.core.change import Change
from clusterra.core.events.catalogue.jobs import JobFailed
from clusterra.core.events.event import Draft, EventQuery
from clusterra.core.events.interest import Interest
from clusterra.core.people.person import Person, ledger_of
from clusterra.core.webhooks.delivery import Delivery, DeliveryOrder, DeliveryQuery
from clusterra.core.webhooks.endpoint import Endpoint
from clusterra.core.webhooks.exchange import Answer, Outgoing
from clusterra.core.webhooks.wish import Wish
from clusterra.ports import Store
from clusterra.settings import Settings
from clusterra.wiring import make_plane
from tests.people import SOMEBODY
from tests.world import LAB, TOKEN, World

URL = "https://hooks.example/in"
DOWN = Answer(status=503)


@dataclass
class Receiver:
    """Answers with 200, unless it is said to do something else."""

    answer: Answer = field(default_factory=lambda: Answer(status=200))
    got: list[Outgoing] = field(default_factory=list)
    by_event: dict[str, Answer] = field(default_factory=dict)
    wait: asyncio.Event | None = None
    """What it waits for before it answers."""

    news: asyncio.Event = field(default_factory=asyncio.Event)
    at_once: int = 0
    most_at_once: int = 0

    async def __call__(self, outgoing: Outgoing) -> Answer:
        self.at_once += 1
        self.most_at_once = max(self.at_once, self.most_at_once)
        self.got.append(outgoing)
        self.news.set()
        if self.wait is not None:
            await self.wait.wait()
        self.at_once -= 1
        return self.by_event.get(outgoing.headers.get("webhook-id", ""), self.answer)

    async def has_got(self, number: int) -> None:
        """Wait until it was sent so many."""
        while len(self.got) < number:
            self.news.clear()
            await self.news.wait()

    @property
    def ids(self) -> list[str]:
        return [each.headers["webhook-id"] for each in self.got]

    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(each.body) for each in self.got]


class Post:
    """Everything that delivers, without the loops: a test says when it goes on."""

    def __init__(self, store: Store, *, settings: Settings | None = None) -> None:
        self.world = World(store=store)
        self.store = store
        self.clock: ManualClock = self.world.clock
        self.receiver = Receiver()
        self.sender = MemorySender(self.receiver)
        self.settings = settings or Settings()
        self.plane = self.restarted()
        self.told = 0

    def restarted(self) -> Plane:
        """Return another plane on the same store, as after a death."""
        self.plane = make_plane(
            self.settings,
            store=self.store,
            clock=self.clock,
            sites=[self.world.site],
            token=TOKEN,
            vault=getattr(self, "plane", None) and self.plane.vault,
            sender=self.sender,
        )
        self._fan_out = self.plane.webhooks.fan_out(LAB, self.plane.people.home)
        return self.plane

    async def open(self) -> Self:
        await self.plane.open()
        await self._fan_out.read_on()
        return self

    @property
    def owner(self) -> Person:
        return self.plane.people.operator

    async def endpoint(self, url: str = URL, *, by: Person | None = None, **wish: Any) -> Endpoint:
        interest = Interest(**wish.pop("interest", {}))
        made, _ = await self.plane.webhooks.endpoints.make(
            Wish(url=url, interest=interest, **wish),
            self.plane.people.home,
            by or self.owner,
            by=SOMEBODY,
            runs_the_server=by is None,
        )
        return made

    async def happens(self, number: int = 1, *, kind: type = JobFailed, **facts: Any) -> list[str]:
        """Have so many jobs end; return the ids of the events."""
        drafts = []
        for _ in range(number):
            self.told += 1
            fact = kind(
                **(
                    {
                        "job_id": self.told,
                        "name": "align",
                        "user": "ana",
                        "partition": "main",
                        "state": "FAILED" if kind is JobFailed else "COMPLETED",
                    }
                    | facts
                )
            )
            drafts.append(
                Draft(
                    id=f"event-{self.told}",
                    fact=fact,
                    at=self.clock.now(),
                    actor="system:slurm",
                    subject=f"job/{self.told}",
                )
            )
        await self.store.commit(LAB, Change(events=drafts))
        return [draft.id for draft in drafts]

    async def fan_out(self) -> None:
        while await self._fan_out.read_on():
            pass

    async def deliver(self, endpoint: Endpoint) -> Any:
        """Turn events into deliveries and send what is due; return when there is more to do."""
        await self.fan_out()
        return await self.plane.webhooks.lane(endpoint.id).work()

    async def until_told(self, endpoint: Endpoint, *, most: timedelta) -> None:
        """Let time pass until nothing waits."""
        began = self.clock.now()
        while (again_at := await self.deliver(endpoint)) is not None:
            self.clock.advance(max(again_at - self.clock.now(), timedelta(milliseconds=1)))
            assert self.clock.now() - began <= most, await self.rows(endpoint)

    async def rows(self, endpoint: Endpoint) -> Sequence[Delivery]:
        query = DeliveryQuery(endpoint=endpoint.id, order=DeliveryOrder.LEDGER, limit=20_000)
        return await self.store.deliveries(query)

    async def row(self, endpoint: Endpoint, event_id: str) -> Delivery:
        found = await self.store.delivery(endpoint.id, event_id)
        assert found is not None
        return found

    async def told_of(self, *types: str) -> list[dict[str, Any]]:
        """Return what the workspace's ledger says of webhooks."""
        ledger = ledger_of(self.plane.people.home)
        events = await self.store.events(ledger, EventQuery(types=types, limit=1000))
        return [json.loads(event.body) for event in events]
