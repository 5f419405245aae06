"""Deliver to two endpoints and die at a named moment: `python -m tests.faults.delivering`.

All that delivers is as it is in a server: the store, the sender, the loops. What happens is made
up, and time goes by from one life to the next, so that what failed in one is due in the next.
"""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import structlog

from clusterra.adapters.archive_local import LocalArchive
from clusterra.adapters.ledger_key import open_key
from clusterra.adapters.sender import HttpSender
from clusterra.adapters.sqlite.store import SqliteStore
from clusterra.adapters.vault import open_vault
from clusterra.control.plane import Plane
from clusterra.control.webhooks.fan_out import READ_TO
from clusterra.core.change import Change
from clusterra.core.people.person import ledger_of
from clusterra.core.webhooks.delivery import DeliveryOrder, DeliveryQuery, DeliveryState
from clusterra.core.webhooks.endpoint import Endpoint, EndpointState
from clusterra.core.webhooks.health import TOLD_AFTER
from clusterra.core.webhooks.wish import Wish
from clusterra.loops.lanes import Lanes
from clusterra.loops.loop import Loop
from clusterra.loops.table import tell_loop
from clusterra.settings import ServerSettings, Settings
from clusterra.wiring import make_plane
from tests.faults.death import Answer, Death, Elsewhere, Heard, Moment, Never, Sent, Statement
from tests.faults.mother import bear
from tests.ledger import LAB, a_draft
from tests.people import SOMEBODY
from tests.world import TOKEN, World

FREE, ORDERED = "/free", "/ordered"
ROUNDS = 2
COMMITS = 7
EVENTS = 10
"""In each commit."""

LONGEST = 60.0
"""Seconds after which a life that does not come to its end is a failure."""

EVENT = r"insert into event values"
ROWS = r"insert into delivery"
RESULT = r"insert into attempt"
POSITION = r"insert into record values \('webhooks-told'"
LEASE = r"insert into record values \('lease', 'deliver/"
DISABLED = r"insert into event values .*'webhook\.disabled'"
FAILING = r"insert into event values .*'webhook\.failing'"
RECOVERED = r"insert into event values .*'webhook\.recovered'"
REPLAY = r"update delivery set .*state = 'pending'"

GONE = {FREE: (410,)}
DOWN = {FREE: (500,) * (TOLD_AFTER + 1), ORDERED: (500,)}


class Point(NamedTuple):
    moment: Moment
    often: int = 1
    """How many times it passes in most lives, or more."""

    answers: Mapping[str, Sequence[int]] = MappingProxyType({})
    """What the receiver has to say first for it to come; after that it says 200."""


POINTS = {
    "after an event's commit, before it is known": Point(Answer(among=EVENT), 2),
    "before the position moves": Point(Statement(like=POSITION), 2),
    "in the middle of the rows": Point(Statement(like=ROWS), 100),
    "before the rows' commit": Point(Statement(like="commit", among=ROWS), 2),
    "after the rows' commit, before a lane is woken": Point(Answer(among=ROWS), 2),
    "before a lane's lease is written": Point(Statement(like=LEASE), 2),
    "after a lane's lease is taken": Point(Answer(among=LEASE)),
    "before a request is sent": Point(Sent(), 100),
    "in the middle of a request": Point(Sent(part=0.5), 100),
    "after a request is sent, before it is answered": Point(Elsewhere(), 100),
    "after the answer, before it is recorded": Point(Heard(), 100),
    "before a result is written": Point(Statement(like="update delivery"), 100),
    "in the middle of a result": Point(Statement(like=RESULT), 100),
    "before a result's commit": Point(Statement(like="commit", among=RESULT), 20),
    "after a result's commit, before it is known": Point(Answer(among=RESULT), 20),
    "while an endpoint is disabled": Point(Statement(like=DISABLED), answers=GONE),
    "after an endpoint was disabled, before it is known": Point(
        Answer(among=DISABLED), answers=GONE
    ),
    "while a replay is written": Point(Statement(like=REPLAY), 20, answers=GONE),
    "after a replay is written, before a lane is woken": Point(Answer(among=REPLAY), answers=GONE),
    "while it is told that an endpoint fails": Point(Statement(like=FAILING), answers=DOWN),
    "after it was told that an endpoint fails, before it is known": Point(
        Answer(among=FAILING), answers=DOWN
    ),
    "while it is told that an endpoint recovered": Point(Statement(like=RECOVERED), answers=DOWN),
    "before any statement": Point(Statement(like=""), 500),
}
UNDISTURBED = "never"
LIVES = POINTS | {UNDISTURBED: Point(Never())}

OPEN = (DeliveryState.PENDING, DeliveryState.RETRY)


class Later:
    """The machine's clock, so many hours ahead."""

    def __init__(self, hours: int) -> None:
        self._ahead = timedelta(hours=hours)

    def now(self) -> datetime:
        return datetime.now(UTC) + self._ahead


def assembled(state: Path, clock: Later) -> Plane:
    store = SqliteStore(state / "clusterra.db", clock=clock)
    return make_plane(
        Settings(server=ServerSettings(state=state)),
        store=store,
        clock=clock,
        sites=[World(store=store).site],
        token=TOKEN,
        archive=LocalArchive(state / "ledger"),
        signer=open_key(state / "ledger.key"),
        vault=open_vault(state / "webhooks.key"),
        sender=HttpSender(),
    )


@contextmanager
def loops(plane: Plane) -> Iterator[None]:
    """Run what delivers, as a server does."""
    lanes = Lanes(plane.webhooks)
    running = [tell_loop(plane, ledger) for ledger in plane.ledgers]
    running.append(Loop(name="deliver", round=lanes.look, every=30, idle=30))
    tasks = [asyncio.create_task(loop.run()) for loop in running]
    yield
    for task in tasks:
        task.cancel()


async def until(so: Callable[[], Awaitable[bool]]) -> None:
    while not await so():  # noqa: ASYNC110 - it is so in the database, which tells nobody
        await asyncio.sleep(0.005)


class Life:
    def __init__(self, plane: Plane, receiver: str, told: int) -> None:
        self.plane = plane
        self.store = plane.store
        self.home = plane.people.home
        self._receiver = receiver
        self._told = told

    async def deliver(self) -> None:
        """Let nothing happen, and wait until all is delivered that waits."""
        await self._make()
        await until(self._are_rows)
        await self._bring_back()
        await until(self._is_delivered)

    async def live(self) -> None:
        """Let things happen, and wait until all of it is delivered that can be now."""
        await self._make()
        for _ in range(ROUNDS):
            await self._happens()
            await until(self._are_rows)
            # Only now: what happened meanwhile was kept for an endpoint that is disabled.
            await self._bring_back()
            await until(self._is_delivered)

    @property
    def endpoints(self) -> list[Endpoint]:
        return self.plane.webhooks.endpoints.of(self.home)

    async def _make(self) -> None:
        """Make the endpoints that no earlier life has made."""
        for path in {FREE, ORDERED} - {each.name for each in self.endpoints}:
            url, ordered = f"{self._receiver}{path}", path == ORDERED
            await self.plane.webhooks.endpoints.make(
                Wish(url=url, name=path, ordered=ordered, allow_private=True),
                self.home,
                self.plane.people.operator,
                by=SOMEBODY,
                runs_the_server=True,
            )

    async def _happens(self) -> None:
        head = (await self.store.head(LAB)).size
        now = self.plane.clock.now()

        async def append(first: int) -> None:
            drafts = [a_draft(n, at=now) for n in range(first, first + EVENTS)]
            await self.store.commit(LAB, Change(events=drafts))
            os.write(self._told, "".join(f"{draft.id}\n" for draft in drafts).encode())

        await asyncio.gather(*(append(head + 1 + EVENTS * place) for place in range(COMMITS)))

    async def _bring_back(self) -> None:
        """Do what a person does who wants to be told again, of what was kept too."""
        for endpoint in self.endpoints:
            webhooks = self.plane.webhooks
            changed = await webhooks.endpoints.turn(endpoint.id, EndpointState.ACTIVE, by=SOMEBODY)
            await webhooks.replayer.kept(changed)
            if changed is not endpoint:
                webhooks.wake(endpoint.id)

    # --- waiting

    async def _are_rows(self) -> bool:
        for ledger in (LAB, ledger_of(self.home)):
            head = (await self.store.head(ledger)).size
            if (await self.store.get(READ_TO, ledger, default=0)).value < head and (
                await self._somebody_hears(ledger, head)
            ):
                return False
        return True

    async def _somebody_hears(self, ledger: str, head: int) -> bool:
        """Say whether the last event is anybody's: a position moves in the store only with rows."""
        event = (await self.store.events_at(ledger, [head]))[head]
        hears = self.plane.webhooks.hears(self.home, event)
        return any(head > each.begins.get(ledger, 0) for each in hears)

    async def _is_delivered(self) -> bool:
        return await self._are_rows() and await self._nothing_is_due()

    async def _nothing_is_due(self) -> bool:
        for endpoint in self.endpoints:
            if self.plane.webhooks.lane(endpoint.id)._busy:
                return False
            if endpoint.state is not EndpointState.ACTIVE:
                continue
            order = DeliveryOrder.LEDGER if endpoint.ordered else DeliveryOrder.DUE
            query = DeliveryQuery(endpoint=endpoint.id, states=OPEN, order=order, limit=1)
            for first in await self.store.deliveries(query):
                if first.due is not None and first.due <= self.plane.clock.now():
                    return False
        return True


async def work(state: Path, hours: int, receiver: str, told: int, *, undisturbed: bool) -> None:
    plane = assembled(state, Later(hours))
    for ledger in plane.ledgers.values():
        await ledger.open()
        assert not ledger.why_held, ledger.why_held
    await plane.open()
    with loops(plane):
        async with asyncio.timeout(LONGEST):
            life = Life(plane, receiver, told)
            await (life.deliver() if undisturbed else life.live())
    await plane.sender.close()


def listen_for_trouble(state: Path) -> None:
    """Keep what loops and lanes survive, and would only log."""

    def note(_: Any, method: str, said: Any) -> Any:
        if method in ("warning", "error", "exception", "critical"):
            with (state / "trouble").open("a") as file:
                file.write(f"{said}\n{sys.exc_info()[1]!r}\n")
        raise structlog.DropEvent

    structlog.configure(processors=[note])


def live(*, state: str, point: str, nth: int, hours: int, receiver: str) -> None:
    listen_for_trouble(Path(state))
    told = os.open(Path(state) / "acknowledged", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    Death(LIVES[point].moment, nth).arrange()
    undisturbed = point == UNDISTURBED
    asyncio.run(work(Path(state), hours, receiver, told, undisturbed=undisturbed))


if __name__ == "__main__":
    bear(live)
