"""What finding out who asks, and whether they may, adds to a request."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from statistics import median
from time import perf_counter

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from bench.figure import Goal, Row
from bench.stage import Stage
from clusterra.adapters.memory import MemoryStore
from clusterra.api.admit import admit
from clusterra.api.door import COOKIE, Door
from clusterra.api.metrics import RequestMetrics
from clusterra.control.people.doing import Doer, Visit
from clusterra.control.people.sessions import ACCESS
from clusterra.control.plane import Plane
from clusterra.core.access import ALL_SCOPES, Deed, Role
from clusterra.core.change import Change
from clusterra.core.people.credentials import Session
from tests.world import LAB, World

PEOPLE = 500
REQUESTS = 2_000
ROUNDS = 5
VISIT = Visit(address="127.0.0.1", agent="bench")


class CountingStore(MemoryStore):
    """Counts what is written, of which there must be nothing."""

    commits = 0

    async def commit(self, cluster: str, change: Change) -> int:
        self.commits += 1
        return await super().commit(cluster, change)


def door(_: Stage) -> Iterator[Row]:
    yield from asyncio.run(_measured())


async def _measured() -> list[Row]:
    store = CountingStore()
    plane = World(store=store).plane()
    tokens, sessions = await _populated(plane)
    asked = Door(_asking(plane), plane, RequestMetrics())
    await asked(_scope("authorization", f"Bearer {tokens[0]}"), _receive, _send)
    before = store.commits
    bare, by_token, by_session = [], [], []
    for _round in range(ROUNDS):
        bare.append(await _per_request(_answer, "authorization", [f"Bearer {tokens[0]}"]))
        by_token.append(
            await _per_request(asked, "authorization", [f"Bearer {each}" for each in tokens])
        )
        fresh = [f"{COOKIE}={each}" for each in _cookies(plane, sessions, _round)]
        by_session.append(await _per_request(asked, "cookie", fresh))
    assert store.commits == before, "letting somebody in wrote something"
    return [
        _row("auth-token", "an API token", median(by_token), median(bare)),
        _row(
            "auth-session",
            "a session's cookie that has not been seen before",
            median(by_session),
            median(bare),
        ),
    ]


def _row(name: str, shown: str, ours: float, beside: float) -> Row:
    return Row(
        name=name,
        what=f"milliseconds to let a request in by {shown} and ask the table, without a write",
        ours=(ours - beside) * 1000,
        unit="ms",
        beside=beside * 1000,
        beside_what="an application that answers nothing to anybody",
        goal=Goal(bound=0.3),
    )


def _cookies(plane: Plane, sessions: list[Session], number: int) -> list[str]:
    """Return a cookie for each request, none of which was made before."""
    now = plane.clock.now()
    return [
        plane.people.sealer.seal(
            ACCESS,
            {"sid": session.id, "sub": session.person},
            until=now + timedelta(minutes=15, seconds=number * REQUESTS + at),
        )
        for at, session in enumerate(sessions * (REQUESTS // len(sessions)))
    ]


async def _populated(plane: Plane) -> tuple[list[str], list[Session]]:
    """Fill the server with people; return a token and a session of each."""
    await plane.open()
    people, by = plane.people, Doer(actor="system:bench", role=Role.OWNER)
    tokens, sessions = [], []
    for number in range(PEOPLE):
        email = f"person{number}@lab.example"
        person = await people.roster.invite(people.home, email, Role.MEMBER, by=by)
        secret, _ = await people.tokens.make(
            person,
            name="bench",
            scopes=ALL_SCOPES,
            within="",
            until=plane.clock.now() + timedelta(days=1),
            by=by,
        )
        tokens.append(secret)
        sessions.append((await people.sessions.open(person, how="link", visit=VISIT)).session)
    return tokens, sessions


def _asking(plane: Plane) -> ASGIApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        admit(HTTPConnection(scope), plane, Deed.SEE_JOBS, {"cluster": LAB})
        await _answer(scope, receive, send)

    return app


async def _answer(_scope: Scope, _receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body"})


async def _per_request(app: ASGIApp, header: str, values: list[str]) -> float:
    scopes = [_scope(header, values[n % len(values)]) for n in range(REQUESTS)]
    began = perf_counter()
    for scope in scopes:
        await app(scope, _receive, _send)
    return (perf_counter() - began) / REQUESTS


def _scope(header: str, value: str) -> Scope:
    return {
        "type": "http",
        "method": "GET",
        "path": f"/v1/clusters/{LAB}/jobs",
        "query_string": b"limit=50",
        "headers": [
            (b"host", b"127.0.0.1:8420"),
            (b"user-agent", b"Mozilla/5.0 (X11; Linux x86_64) bench"),
            (b"accept", b"application/json"),
            (header.encode(), value.encode()),
        ],
        "client": ("127.0.0.1", 50000),
    }


async def _receive() -> dict[str, object]:
    return {"type": "http.request"}


async def _send(_: object) -> None:
    return None
