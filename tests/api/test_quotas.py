"""Quotas over HTTP: who sees what, what may be set, and what is refused in words."""

import asyncio
from typing import Any

import pytest

from clusterra.api.app import make_app
from clusterra.core.access import Role
from clusterra.core.money import MICROS
from tests.api.asgi import Answer, ask
from tests.people import token_of
from tests.quotas import ANA, BEN, Spending
from tests.world import LAB


class Api:
    def __init__(self) -> None:
        self.lab = Spending()
        self._app = make_app(self.lab.plane)
        self._tokens: dict[str, str] = {}

    async def open(self) -> "Api":
        await self.lab.open()
        for login, role in (("eva", Role.ADMIN), ("ana", Role.MEMBER)):
            self._tokens[login] = await token_of(self.lab.plane, login, role)
        return self

    async def __call__(
        self, method: str, path: str = "", body: object = None, *, by: str = "eva"
    ) -> Answer:
        path = f"/v1/workspaces/{self.lab.workspace}/quotas{path}"
        return await ask(self._app, method, path, body, token=self._tokens[by])

    async def audit(self, type: str, *, by: str) -> list[tuple[str, str]]:
        """Return what somebody can read, newest first, and whose it is."""
        path = f"/v1/audit?workspace={self.lab.workspace}&type={type}"
        events = (await ask(self._app, "GET", path, token=self._tokens[by])).json["events"]
        return [(each["type"], each["subject"].removeprefix("user/")) for each in events]

    async def submit(self, *, by: str = "ana", cpus: int = 1) -> Answer:
        body = {"script": "#!/bin/sh\n", "cpus": cpus, "time": "1h"}
        path = f"/v1/clusters/{LAB}/jobs/submit"
        return await ask(self._app, "POST", path, body, token=self._tokens[by])


def test_an_admin_sees_everybody_and_the_workspace_first() -> None:
    async def story() -> None:
        api = await Api().open()
        await api.lab.runs(user="ben", cpus=2)
        await api.lab.later(minutes=30)

        page = (await api("GET")).json

        whose = [each["whose"] for each in page["quotas"]]
        assert whose[:2] == ["workspace", "everybody"]
        assert {ANA, BEN, "eva@lab.example"} <= set(whose)
        ben = next(each for each in page["quotas"] if each["whose"] == BEN)
        assert ben["month"]["pending_micros"] == MICROS
        assert ben["month"]["to_come_micros"] == MICROS
        assert ben["month"]["projected_micros"] == 2 * MICROS
        assert ben["usd_per_hour_micros"] == 2 * MICROS
        assert (page["zone"], page["currency"]) == ("UTC", "USD")

    asyncio.run(story())


def test_others_see_their_own_and_the_workspaces_and_nobody_elses() -> None:
    async def story() -> None:
        api = await Api().open()

        page = (await api("GET", by="ana")).json
        assert [each["whose"] for each in page["quotas"]] == [ANA, "workspace"]
        assert (await api("GET", f"/{ANA}", by="ana")).status == 200
        assert (await api("GET", "/workspace", by="ana")).status == 200
        assert (await api("GET", "/everybody", by="ana")).status == 200

        foreign = await api("GET", f"/{BEN}", by="ana")
        assert (foreign.status, foreign.json["code"]) == (403, "foreign-quota")
        changed = await api("PATCH", f"/{ANA}", {"month_micros": None}, by="ana")
        assert (changed.status, changed.json["code"]) == (403, "role")

    asyncio.run(story())


def test_a_limit_is_set_shown_and_lifted() -> None:
    async def story() -> None:
        api = await Api().open()

        body = {"month_micros": 4 * MICROS, "day_micros": MICROS, "mode": "block"}
        answer = await api("PATCH", f"/{ANA}", body)
        assert answer.json["changed"] == [
            "month: no limit → $4.00",
            "day: no limit → $1.00",
            "mode: warn → block",
            "own: no, as everybody → yes",
        ]
        await api("PATCH", f"/{ANA}", {"day_micros": None})

        view = (await api("GET", f"/{ANA}")).json
        assert (view["month_micros"], view["day_micros"]) == (4 * MICROS, None)
        assert (view["own"], view["mode"]) == (True, "block")
        assert view["month"]["left_micros"] == 4 * MICROS
        assert view["month"]["until"] == "2026-04-01T00:00:00Z"

        assert (await api("PATCH", f"/{ANA}", {"own": False})).json["quota"]["own"] is False
        assert (await api("GET", f"/{ANA}")).json["month_micros"] is None

    asyncio.run(story())


def test_the_workspaces_and_everybodys_are_set_by_their_names() -> None:
    async def story() -> None:
        api = await Api().open()
        body = {
            "month_micros": 5 * MICROS,
            "zone": "Europe/Berlin",
            "waste_per_day_micros": 7,
            "currency": "USD",
        }
        assert (await api("PATCH", "", body)).json["quota"]["whose"] == "workspace"
        assert (await api("PATCH", "/everybody", {"month_micros": 1})).status == 200

        page = (await api("GET")).json
        assert (page["zone"], page["waste_per_day_micros"]) == ("Europe/Berlin", 7)
        assert page["quotas"][0]["month"]["limit_micros"] == 5 * MICROS
        assert page["quotas"][1]["month_micros"] == 1
        assert page["quotas"][1]["month"] is None
        ana = next(each for each in page["quotas"] if each["whose"] == ANA)
        assert (ana["month_micros"], ana["own"]) == (1, False)

    asyncio.run(story())


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        (f"/{ANA}", {"month_micros": -5_000_000}, "month cannot be -$5.00."),
        (f"/{ANA}", {"day_micros": 10**18}, "day cannot be $1,000,000,000,000.00."),
        (f"/{ANA}", {"buffer_percent": 1000}, "The buffer cannot be 1,000 %."),
        (f"/{ANA}", {"grace_seconds": 90_000}, "The grace cannot be 90,000 seconds."),
        (f"/{ANA}", {"mode": "lax"}, 'There is no mode "lax".'),
        (f"/{ANA}", {"currency": "EUR", "month_micros": 1}, 'Amounts in "EUR" are not kept here.'),
        (f"/{ANA}", {}, "Nothing is to be changed."),
        ("", {"zone": "Mars/Olympus"}, 'There is no time zone "Mars/Olympus".'),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(
    path: str, body: dict[str, Any], said: str
) -> None:
    async def story() -> None:
        api = await Api().open()

        answer = await api("PATCH", path, body)

        assert (answer.status, answer.json["detail"]) == (422, said)
        assert answer.json["hint"]

    asyncio.run(story())


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"micros": 5, "until": "2026-03-01T00:00:00Z"}, "which is past"),
        ({"micros": 5, "days": -3}, "which is past"),
        ({"micros": 5, "days": 10**12}, "cannot last"),
        ({"micros": 5}, "For how long is not said."),
        ({"micros": 5, "days": 1, "until": "2026-03-05T00:00:00Z"}, "Both an end and"),
        ({"micros": -5, "days": 1}, "micros cannot be"),
    ],
)
def test_a_raise_that_makes_no_sense_is_refused(body: dict[str, Any], said: str) -> None:
    async def story() -> None:
        api = await Api().open()
        await api("PATCH", f"/{ANA}", {"month_micros": MICROS})

        answer = await api("POST", f"/{ANA}/raise", body)

        assert answer.status == 422
        assert said in answer.json["detail"]

    asyncio.run(story())


def test_a_raise_is_shown_while_it_counts_and_ended_with_nothing() -> None:
    async def story() -> None:
        api = await Api().open()
        none = await api("POST", f"/{ANA}/raise", {"micros": 5, "days": 7})
        assert (none.status, none.json["code"]) == (422, "no-limit")
        await api("PATCH", "/everybody", {"month_micros": MICROS})

        body = {"micros": MICROS, "days": 7, "why": "revision"}
        raised = (await api("POST", f"/{ANA}/raise", body)).json["quota"]
        assert raised["month"]["limit_micros"] == 2 * MICROS
        assert (raised["raised"]["by"], raised["raised"]["why"]) == ("eva@lab.example", "revision")
        assert (raised["own"], raised["month_micros"]) == (False, MICROS)

        await api("POST", f"/{ANA}/raise", {"micros": 0})
        assert (await api("GET", f"/{ANA}")).json["raised"] is None

    asyncio.run(story())


def test_whoever_is_not_there_is_answered_with_the_nearest_name() -> None:
    async def story() -> None:
        api = await Api().open()

        answer = await api("PATCH", "/anna@lab.example", {"month_micros": 1})

        assert (answer.status, answer.json["code"]) == (404, "person-not-found")
        assert answer.json["hint"] == f"Did you mean {ANA}?"

    asyncio.run(story())


def test_somebody_who_is_no_person_here_can_be_limited_once_they_spend() -> None:
    async def story() -> None:
        api = await Api().open()
        assert (await api("PATCH", "/carl", {"month_micros": 1})).status == 404
        await api.lab.runs(user="carl")

        assert (await api("PATCH", "/carl", {"month_micros": 1})).json["quota"]["whose"] == "carl"

    asyncio.run(story())


def test_a_limit_below_what_is_spent_is_taken_and_what_follows_is_said() -> None:
    async def story() -> None:
        api = await Api().open()
        await api.lab.runs(cpus=2, minutes=600)
        await api.lab.later(hours=1)

        body = {"month_micros": MICROS, "mode": "block_and_kill", "grace_seconds": 300}
        answer = await api("PATCH", f"/{ANA}", body)

        assert answer.json["warnings"] == [
            (
                "ana@lab.example has spent $2.00 of $1.00; 1 running job will be cancelled from"
                " 13:05 UTC on."
            )
        ]

    asyncio.run(story())


def test_a_submission_is_warned_of_or_refused_with_the_numbers() -> None:
    async def story() -> None:
        api = await Api().open()
        await api("PATCH", f"/{ANA}", {"month_micros": MICROS})

        warned = await api.submit(cpus=2)
        assert warned.status == 201
        assert "would bring ana@lab.example to $2.00 this month" in warned.json["warnings"][0]

        await api("PATCH", f"/{ANA}", {"mode": "block"})
        refused = await api.submit(cpus=2)
        assert (refused.status, refused.json["code"]) == (422, "quota-exceeded")
        assert "the limit is $1.00" in refused.json["detail"]
        assert "clusterra quota get" in refused.json["hint"]

    asyncio.run(story())


def test_people_can_read_what_happened_to_their_own_quota_and_not_to_anothers() -> None:
    async def story() -> None:
        api = await Api().open()
        for whose in (ANA, BEN):
            await api("PATCH", f"/{whose}", {"month_micros": MICROS})
        for user in ("ana", "ben"):
            await api.lab.runs(user=user, cpus=8)
        await api.lab.later(minutes=7)

        mine = await api.audit("*.quota.*", by="ana")
        assert mine == [("user.quota.high", ANA), ("admin.quota.changed", ANA)]
        everybodys = await api.audit("*.quota.*", by="eva")
        assert {whose for _, whose in everybodys} == {ANA, BEN}

    asyncio.run(story())
