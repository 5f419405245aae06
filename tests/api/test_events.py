"""The ledger over HTTP: pages, one job's timeline, and who may read what."""

import asyncio
import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from clusterra.api.app import make_app
from clusterra.core.change import Change
from clusterra.core.events.catalogue.admin import AdminTokenCreated
from clusterra.core.events.catalogue.people import UserLogin
from clusterra.core.events.event import Draft, EventQuery
from clusterra.core.ids import uuid8
from tests.api.asgi import Answer, ask
from tests.builders import NOON, a_job
from tests.ledger import a_draft
from tests.people import token_of
from tests.world import LAB, World

EVENTS = f"/v1/clusters/{LAB}/events"


class Ledger:
    """A ledger of a few events, and the API in front of it."""

    def __init__(self) -> None:
        self.world = World()
        self.plane = self.world.plane()
        self.app = make_app(self.plane)

    async def commit(self, *drafts: Draft) -> None:
        await self.world.store.commit(LAB, Change(events=drafts))

    async def get(self, path: str, **headers: str) -> Answer:
        return await ask(self.app, "GET", path, **headers)

    async def numbers(self, path: str, **headers: str) -> list[int]:
        answer = await self.get(path, **headers)
        assert answer.status == 200, answer.body
        return [int(event["sequence"]) for event in answer.json["events"]]


def a_login(email: str = "ben") -> Draft:
    return Draft(
        id=uuid8("login", email),
        fact=UserLogin(email=email, address="10.0.0.1"),
        at=NOON,
        actor=f"user:{email}",
        subject=f"user/{email}",
    )


def a_token() -> Draft:
    return Draft(
        id=uuid8("token"),
        fact=AdminTokenCreated(id="t1"),
        at=NOON,
        actor="user:root",
        subject="token/t1",
    )


def test_a_page_holds_the_stored_bytes_and_the_cursor_of_the_next() -> None:
    async def story() -> None:
        ledger = Ledger()
        await ledger.commit(*(a_draft(n) for n in range(1, 6)))

        first = await ledger.get(f"{EVENTS}?limit=2")
        stored = await ledger.world.store.events(LAB, EventQuery(limit=2))
        assert b",".join(event.body for event in stored) in first.body
        second = await ledger.get(f"{EVENTS}?limit=2&cursor={first.json['next']}")
        third = await ledger.get(f"{EVENTS}?limit=2&cursor={second.json['next']}")

        pages = [
            [int(event["sequence"]) for event in page.json["events"]]
            for page in (first, second, third)
        ]
        assert pages == [[1, 2], [3, 4], [5]]
        assert third.json["next"] is None

    asyncio.run(story())


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("", [1, 2, 3]),
        ("after=1", [2, 3]),
        ("after=3", []),
        ("after=99", []),
        ("last=2", [2, 3]),
        ("last=1&type=job.*", [2]),
        ("type=job.started", [1, 2]),
        ("type=node.*&type=user.*", [3]),
        ("subject=job/2", [2]),
        ("actor=user:ben", [3]),
        ("actor=ben", [3]),
        ("since=2026-03-02T12:00:01Z", [2]),
        ("until=2026-03-02T13:00:01%2B01:00", [1, 3]),
        ("until=2026-03-02T13:00:01+01:00", [1, 3]),
        ("since=59m", [2]),
        ("until=59m", [1, 3]),
    ],
)
def test_events_are_found_by_position_type_subject_actor_and_time(
    asked: str, found: list[int]
) -> None:
    async def story() -> None:
        ledger = Ledger()
        await ledger.commit(a_draft(1), a_draft(2, at=NOON + timedelta(minutes=2)), a_login("ben"))
        ledger.world.clock.advance(timedelta(hours=1))

        assert await ledger.numbers(f"{EVENTS}?{asked}") == found

    asyncio.run(story())


@pytest.mark.parametrize(
    ("asked", "at", "code"),
    [
        ("after=-1", "after", "invalid"),
        ("after=many", "after", "invalid"),
        ("limit=1001", "limit", "invalid"),
        ("limit=0", "limit", "invalid"),
        ("cursor=x", "cursor", "bad-cursor"),
        ("cursor=eyJhZnRlciI6LTF9", "cursor", "bad-cursor"),
        ("since=yesterday", "since", "invalid"),
        ("until=999999999999d", "until", "invalid"),
        ("type=job.start", "type", "unknown-event-type"),
        ("last=5&after=1", "last", "invalid"),
    ],
)  # fmt: skip
def test_a_wrong_parameter_is_named(asked: str, at: str, code: str) -> None:
    async def story() -> None:
        answer = await Ledger().get(f"{EVENTS}?{asked}")

        assert (answer.status, answer.json["at"], answer.json["code"]) == (422, at, code)

    asyncio.run(story())


def test_a_type_that_does_not_exist_is_answered_with_the_nearest_that_does() -> None:
    async def story() -> None:
        answer = await Ledger().get(f"{EVENTS}?type=job.strated")

        assert answer.json["hint"] == "Did you mean job.started?"

    asyncio.run(story())


def test_a_position_that_was_sealed_away_is_gone_and_the_oldest_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story() -> None:
        ledger = Ledger()
        await ledger.commit(*(a_draft(n) for n in range(1, 6)))

        async def oldest(_: str) -> int:
            return 4

        monkeypatch.setattr(ledger.world.store, "oldest", oldest)
        gone = await ledger.get(f"{EVENTS}?after=2")

        assert (gone.status, gone.json["status"], gone.json["code"]) == (410, 410, "cursor-too-old")
        assert gone.headers["content-type"] == "application/problem+json"
        assert (gone.json["oldest"], gone.json["at"]) == (4, "after")
        assert "after=3" in gone.json["hint"]
        assert await ledger.numbers(f"{EVENTS}?cursor={gone.json['cursor']}") == [4, 5]
        assert await ledger.numbers(f"{EVENTS}?after=3") == [4, 5]

    asyncio.run(story())


def test_what_the_newest_are_does_not_depend_on_how_far_apart_they_lie() -> None:
    async def story() -> None:
        ledger = Ledger()
        await ledger.commit(a_login("ana"), *(a_draft(n) for n in range(1, 300)), a_login("ben"))

        assert await ledger.numbers(f"{EVENTS}?last=3&type=user.*") == [1, 301]
        assert await ledger.numbers(f"{EVENTS}?last=3") == [299, 300, 301]

    asyncio.run(story())


def test_a_person_sees_what_the_lists_show_them_and_what_is_about_them() -> None:
    async def story() -> None:
        ledger = Ledger()
        await ledger.commit(
            a_draft(1), a_login("ana@lab.example"), a_login("ben@lab.example"), a_token()
        )

        assert await ledger.numbers(EVENTS) == [1, 2, 3, 4]
        ben = await token_of(ledger.plane, "ben")
        assert await ledger.numbers(EVENTS, token=ben) == [1, 3]
        assert await ledger.numbers(f"{EVENTS}?last=9", token=ben) == [1, 3]

    asyncio.run(story())


def test_a_page_is_full_however_much_of_it_somebody_may_not_read() -> None:
    async def story() -> None:
        ledger = Ledger()
        hidden = (a_login(f"u{n}") for n in range(10))
        await ledger.commit(a_draft(1), *hidden, a_draft(2), a_draft(3))

        ben = await token_of(ledger.plane, "ben")
        page = await ledger.get(f"{EVENTS}?limit=2", token=ben)

        assert [int(event["sequence"]) for event in page.json["events"]] == [1, 12]
        following = f"{EVENTS}?limit=2&cursor={page.json['next']}"
        assert await ledger.numbers(following, token=ben) == [13]

    asyncio.run(story())


def about(job_id: int, **more: Any) -> Draft:
    at = more.pop("at", NOON)
    draft = a_draft(job_id, at=at)
    return replace(draft, id=uuid8(job_id, at, json.dumps(more)))


def test_a_timeline_is_about_one_job_and_not_about_its_earlier_namesake() -> None:
    async def story() -> None:
        ledger = Ledger()
        later = NOON + timedelta(days=9)
        await ledger.world.store.commit(
            LAB,
            Change(
                jobs=[a_job(7), a_job(7, submitted_at=later), a_job(8)],
                events=[about(7), about(8), about(7, at=later), about(71)],
            ),
        )

        assert await ledger.numbers(f"/v1/clusters/{LAB}/jobs/7/events") == [3]
        assert await ledger.numbers(f"/v1/clusters/{LAB}/jobs/8/events") == [2]

    asyncio.run(story())


def test_a_timeline_is_found_by_the_label_of_an_array_task() -> None:
    async def story() -> None:
        ledger = Ledger()
        await ledger.world.store.commit(
            LAB, Change(jobs=[a_job(48, array_id=43, array_task=5)], events=[about(48), about(43)])
        )

        assert await ledger.numbers(f"/v1/clusters/{LAB}/jobs/43_5/events") == [1]

    asyncio.run(story())


def test_a_job_nobody_knows_has_no_timeline() -> None:
    async def story() -> None:
        answer = await Ledger().get(f"/v1/clusters/{LAB}/jobs/99/events")

        assert (answer.status, answer.json["code"]) == (404, "job-not-found")

    asyncio.run(story())
