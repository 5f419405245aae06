"""Whenever it is killed, whoever is to be told is told of everything: nothing is lost, and no more is
repeated than was under way.

`make faults` kills more often; CLUSTERRA_KILLS says how often.
"""

import asyncio
import os
import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from clusterra.adapters.sqlite.store import SqliteStore
from clusterra.core.events.event import Event, EventQuery
from clusterra.core.people.person import ledger_of
from clusterra.core.webhooks.breaker import BEGINS_WITH
from clusterra.core.webhooks.delivery import Attempt, Delivery, DeliveryQuery, DeliveryState
from clusterra.core.webhooks.endpoint import WEBHOOK, Endpoint
from clusterra.settings import WebhookSettings
from tests.faults.death import Elsewhere
from tests.faults.delivering import FREE, LIVES, ORDERED, POINTS, UNDISTURBED, Later
from tests.faults.intact import ids_of
from tests.faults.mother import KILLED, Mother, mother
from tests.faults.receiver import Got, Receiver, receiving
from tests.ledger import LAB

KILLS = int(os.environ.get("CLUSTERRA_KILLS", "45"))
EVERYTHING = 100_000
OF_ITSELF = ("webhook.", "admin.webhook.created")
WIDEST = WebhookSettings().at_once // 2


@contextmanager
def opened(state: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(state / "clusterra.db")
    try:
        yield store
    finally:
        store.close()


@dataclass
class Generation:
    """Lives on one store, one after the other, and what they did to whoever is told."""

    state: Path
    receiver: Receiver
    hours: int = 0
    first: int = 0
    """Where what the receiver got begins to be ours."""

    under_way: set[str] = field(default_factory=set)
    """Requests that had come when a death came, and that nobody had recorded."""

    def live(self, mother: Mother, point: str, chance: random.Random) -> int:
        self.hours += 1
        moment, often, answers = LIVES[point]
        nth = chance.randint(1, often)
        self.receiver.begin(answers, hold_from=nth if isinstance(moment, Elsewhere) else None)
        ended = mother.live(
            state=str(self.state),
            point=point,
            nth=nth,
            hours=self.hours,
            receiver=self.receiver.url,
            born=self.receiver.born,
        )
        self.receiver.end()
        assert not (trouble := self.state / "trouble").exists(), trouble.read_text()
        assert ended in {0, KILLED}, point
        asyncio.run(self._check_life(died=ended == KILLED))
        return ended

    @property
    def got(self) -> list[Got]:
        return self.receiver.got[self.first :]

    async def _check_life(self, *, died: bool) -> None:
        """Nothing was written that was not so; and no more was under way than a lane is wide."""
        mine = [each for each in self.got if each.life == self.receiver.life]
        with opened(self.state) as store:
            ids = {each.value.name: each.id for each in await store.list(WEBHOOK)}
            known = {each.request: each for each in self.got}
            recorded: set[str] = set()
            for path, id in {(each.path, each.id) for each in mine}:
                for attempt in await store.attempts(ids[path], id):
                    assert _is_so(attempt, path, known), attempt
                    recorded.add(attempt.request_id)
        assert len({each.request for each in self.got}) == len(self.got)
        under_way = [each for each in mine if each.request not in recorded]
        assert died or not under_way
        assert sum(each.path == ORDERED for each in under_way) <= 1
        # A lane begins narrow, and each message that was taken makes it wider by one.
        taken = sum(each.path == FREE and each.status == 200 for each in mine)
        free = sum(each.path == FREE for each in under_way)
        assert free <= min(BEGINS_WITH + taken, WIDEST)
        self.under_way |= {each.request for each in under_way}

    async def check(self) -> int:
        """Everybody was told of everything; return how many times something was told again."""
        with opened(self.state) as store:
            endpoints = {each.value.name: each.value for each in await store.list(WEBHOOK)}
            home = ledger_of(endpoints[FREE].workspace)
            events = [
                event
                for ledger in (LAB, home)
                for event in await store.events(ledger, EventQuery(limit=EVERYTHING))
            ]
            again = 0
            for path, endpoint in endpoints.items():
                query = DeliveryQuery(endpoint=endpoint.id, limit=EVERYTHING)
                rows = await store.deliveries(query)
                again += self._check_endpoint(path, _heard(events, endpoint), rows)
        assert again <= len(self.under_way)
        clock = Later(self.hours + 1)
        ledger = await ids_of(self.state, LAB, clock)
        assert set((self.state / "acknowledged").read_text().split()) <= set(ledger)
        await ids_of(self.state, home, clock)
        return again

    def _check_endpoint(
        self, path: str, heard: Mapping[str, Event], rows: Sequence[Delivery]
    ) -> int:
        got = [each for each in self.got if each.path == path]
        assert {row.event_id for row in rows} == set(heard)
        assert {row.state for row in rows} == {DeliveryState.OK}
        assert {each.id for each in got if each.status == 200} == set(heard)
        assert all(each.body == heard[each.id].body for each in got)
        if path == ORDERED:
            for ledger in {event.cluster for event in heard.values()}:
                told = [heard[each.id] for each in got]
                numbers = [event.seq for event in told if event.cluster == ledger]
                assert numbers == sorted(numbers)
        last = {each.id: each.request for each in got if each.status == 200}
        again = [each for each in got if each.status == 200 and each.request != last[each.id]]
        # It took this before: what came of that was never written, because of a death.
        assert {each.request for each in again} <= self.under_way
        return len(again)


def _is_so(attempt: Attempt, path: str, known: Mapping[str, Got]) -> bool:
    got = known.get(attempt.request_id)
    return got is not None and (got.path, got.id, got.status) == (
        path,
        attempt.event_id,
        attempt.status,
    )


def _heard(events: Sequence[Event], endpoint: Endpoint) -> dict[str, Event]:
    """Return what an endpoint that wants everything is to be told: all but how it came to be and how it does."""
    return {
        event.id: event
        for event in events
        if event.seq > endpoint.begins[event.cluster]
        and not (event.type.startswith(OF_ITSELF) and event.subject == f"webhook/{endpoint.id}")
    }


@pytest.mark.enable_socket
def test_nothing_is_lost_and_no_more_is_repeated_than_was_under_way(tmp_path: Path) -> None:
    chance = random.Random(1)
    killed: Counter[str] = Counter()
    told = again = under_way = number = 0
    points = list(POINTS)

    def is_enough() -> bool:
        return killed.total() >= KILLS and len(+killed) == len(POINTS)

    with receiving() as receiver, mother("tests.faults.delivering") as delivering:
        while not is_enough():
            number += 1
            assert number <= 5 + KILLS // 5, set(POINTS) - set(+killed)
            state = tmp_path / str(number)
            state.mkdir()
            generation = Generation(state, receiver, first=len(receiver.got))
            for point in points:
                killed[point] += generation.live(delivering, point, chance) == KILLED
                if is_enough():
                    break
            assert generation.live(delivering, UNDISTURBED, chance) == 0
            again += asyncio.run(generation.check())
            told += len(generation.got)
            under_way += len(generation.under_way)
            chance.shuffle(points)
    sys.stdout.write(
        f"{killed.total()} kills, {told} requests, {under_way} of them under way at a kill,"
        f" {again} told again, none lost: {dict(killed)}\n"
    )
