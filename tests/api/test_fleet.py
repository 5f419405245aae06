"""The fleet over HTTP: what there is, what it costs, what was decided, and its policy."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from clusterra.api.app import make_app
from clusterra.control.people.doing import told
from clusterra.core.access import Role
from clusterra.core.change import Change, Record
from clusterra.core.events.catalogue.fleet import FleetResized, FleetShortage
from clusterra.core.events.fact import Fact
from clusterra.core.scaling.demand import Demand, Line, Need
from clusterra.core.scaling.edge import EdgeReport
from clusterra.core.scaling.fleet import FLEET, Fleet, Phase, Shortage, Worker
from clusterra.core.scaling.plan import Cause, Plan, Wait
from clusterra.core.scaling.planned import Planned
from clusterra.core.scaling.policy import Policy
from clusterra.core.scaling.shapes import Family, Price, Shape
from clusterra.core.seen import Seen
from tests.api.asgi import Answer, ask
from tests.builders import NOON
from tests.people import token_of
from tests.world import LAB, World

HERE = f"/v1/clusters/{LAB}/fleet"
SMALL = Shape(
    name="general-small",
    family=Family.GENERAL,
    size="small",
    arch="amd64",
    vcpus=8,
    memory_gib=32,
    cpus=7,
    memory_mib=31_440,
    types=("m7i.2xlarge",),
    price=Price(on_demand=403_200, spot=160_000),
)
OWN = replace(SMALL, name="bench", types=(), price=Price())


def a_worker(name: str, phase: Phase = Phase.READY, **more: Any) -> Worker:
    known: dict[str, Any] = {"shape": SMALL.name, "since": NOON} | more
    return Worker(name=name, phase=phase, **known)


class Api:
    def __init__(self) -> None:
        self.world = World()
        self.world.site.shapes = {each.name: each for each in (SMALL, OWN)}
        self.world.site.sky.why_not = ""
        self.plane = self.world.plane()
        self._app = make_app(self.plane)

    async def __call__(self, method: str, path: str, body: object = None, **more: Any) -> Answer:
        await self.plane.open()
        return await ask(self._app, method, f"{HERE}{path}", body, **more)

    def plan(self, *workers: Worker, **more: Any) -> None:
        known: dict[str, Any] = {
            "demand": Demand(),
            "fleet": Fleet(version=7, desired={SMALL.name: 3}, decided_at=NOON),
            "plan": Plan(desired={SMALL.name: 3}),
        } | more
        planned = Planned(workers=workers, policy=Policy(), shapes=self.world.site.shapes, **known)
        self.world.site.planned = Seen(planned, NOON)

    async def record(self, *facts: Fact) -> None:
        """Have facts told together, a second after those before."""
        self.world.clock.advance(timedelta(seconds=1))
        now = self.world.clock.now()
        drafts = [told(fact, actor="system:scaler", subject="fleet", at=now) for fact in facts]
        await self.world.store.commit(LAB, Change(events=drafts))


def resized(version: int, shape: str = SMALL.name, **more: Any) -> FleetResized:
    known = {"before": 0, "after": 2, "reason": "4 jobs need 7 CPUs each", "rule": "family"}
    return FleetResized(shape=shape, version=version, **(known | more))  # type: ignore[arg-type]


# --- what there is


def test_workers_are_counted_by_what_they_do_those_just_asked_for_included() -> None:
    async def story() -> None:
        api = Api()
        api.plan(
            a_worker("w1", busy=True),
            a_worker("w2"),
            a_worker("w5", Phase.WARMING),
            a_worker("", Phase.WARMING),
            a_worker("w3", Phase.LEAVING),
            a_worker("w4", Phase.CLOSED),
            fleet=Fleet(version=7, desired={SMALL.name: 8}, asked={SMALL.name: (NOON, NOON)}),
        )
        api.world.clock.advance(timedelta(seconds=4))

        view = (await api("GET", "")).json

        (row,) = view["shapes"]
        counted = ("desired", "ready", "busy", "idle", "warming", "leaving", "closed")
        assert [row[name] for name in counted] == [8, 2, 1, 1, 3, 1, 1]
        assert (row["type"], row["usd_per_hour_micros"]) == ("m7i.2xlarge", 403_200)
        assert (view["workers"], view["usd_per_hour_micros"]) == (7, 7 * 403_200)
        assert (view["version"], view["desired"]) == (7, 8)
        assert (view["age_seconds"], view["stale"], view["note"]) == (4.0, False, "")
        assert view["offered"] == ["bench", "general-small"]

    asyncio.run(story())


def test_a_fleet_with_a_worker_of_unknown_price_has_no_total() -> None:
    async def story() -> None:
        api = Api()
        api.plan(a_worker("w1"), a_worker("b1", shape=OWN.name))

        view = (await api("GET", "")).json

        assert view["usd_per_hour_micros"] is None
        assert [row["usd_per_hour_micros"] for row in view["shapes"]] == [None, 403_200]

    asyncio.run(story())


def test_what_waits_is_told_by_its_reason_and_not_by_whose_it_is() -> None:
    async def story() -> None:
        api = Api()
        warming = Wait(cause=Cause.WARMING, shape=SMALL.name, workers=2, sentence="2 are starting")
        never = Wait(cause=Cause.NEVER, shape=SMALL.name, sentence="no shape holds 900 CPUs")
        lines = (
            Line(need=Need(cpus=7), jobs=((41, 1), (43, 5))),
            Line(need=Need(cpus=900), jobs=((42, 1),)),
        )
        api.plan(
            demand=Demand(lines=lines, set_aside={50: "Dependency"}),
            plan=Plan(desired={}, waits={41: warming, 42: never, 43: warming}),
        )

        view = (await api("GET", "")).json

        assert [(each["sentence"], each["jobs"]) for each in view["waiting"]] == [
            ("2 are starting", 6),
            ("no shape holds 900 CPUs", 1),
        ]
        assert view["set_aside"] == 1

    asyncio.run(story())


def test_shortages_that_last_and_the_agent_are_told() -> None:
    async def story() -> None:
        api = Api()
        later, over = NOON + timedelta(minutes=5), NOON - timedelta(minutes=5)
        shortages = {
            "general-small": Shortage(until=later, why="InsufficientInstanceCapacity", failures=2),
            "bench": Shortage(until=over, why="once"),
        }
        api.plan(fleet=Fleet(version=8, shortages=shortages))
        report = EdgeReport(at=NOON, agent="agent-1", version="1.2", applied=7)
        api.world.site.edge.report = Seen(report, NOON)
        api.world.clock.advance(timedelta(seconds=12))

        view = (await api("GET", "")).json

        assert [each["shape"] for each in view["shortages"]] == ["general-small"]
        agent = view["agent"]
        assert (agent["id"], agent["age_seconds"], agent["applied_version"]) == ("agent-1", 12.0, 7)

    asyncio.run(story())


def test_before_the_first_plan_numbers_are_unknown_and_what_was_wanted_is_shown() -> None:
    async def story() -> None:
        api = Api()
        fleet = Fleet(version=3, desired={SMALL.name: 2})
        await api.world.store.commit(LAB, Change(puts=[Record(kind=FLEET, id=LAB, value=fleet)]))

        view = (await api("GET", "")).json

        (row,) = view["shapes"]
        assert (row["desired"], row["ready"], view["workers"]) == (2, None, None)
        assert (view["stale"], view["observed_at"]) == (True, None)
        assert view["note"] == "The fleet has not been planned yet."

    asyncio.run(story())


@pytest.mark.parametrize(("seconds", "stale"), [(90, False), (91, True)])
def test_a_plan_that_is_not_made_anew_grows_old(seconds: int, stale: bool) -> None:
    async def story() -> None:
        api = Api()
        api.plan()
        api.world.clock.advance(timedelta(seconds=seconds))

        assert (await api("GET", "")).json["stale"] is stale

    asyncio.run(story())


def test_a_cluster_that_is_not_scaled_by_us_says_so() -> None:
    async def story() -> None:
        api = Api()
        api.world.site.shapes = {}

        answer = await api("GET", "")

        assert (answer.status, answer.json["scaled"]) == (200, False)
        assert answer.json["note"].startswith("Not scaled by Clusterra")
        refused = await api("PATCH", "/policy", {"max_workers": 3})
        assert (refused.status, refused.json["code"]) == (422, "not-scaled")

    asyncio.run(story())


# --- what was decided


def test_decisions_come_newest_first_with_what_belongs_together() -> None:
    async def story() -> None:
        api = Api()
        await api.record(resized(1), resized(1, "bench", reason="1 job needs it"))
        await api.record(
            FleetShortage(shape="bench", why="did not register", failures=2),
            resized(2, "bench", before=1, after=0, refused=("bench: it did not come",)),
        )
        await api.record(FleetShortage(shape="general-small", why="no capacity"))

        page = (await api("GET", "/decisions")).json

        found = [
            (each["version"], len(each["changes"]), len(each["shortages"]))
            for each in page["decisions"]
        ]
        assert found == [(0, 0, 1), (2, 1, 1), (1, 2, 0)]
        assert page["next"] is None
        change = page["decisions"][1]["changes"][0]
        assert (change["seq"], change["refused"]) == (4, ["bench: it did not come"])

    asyncio.run(story())


def test_decisions_are_read_page_by_page_without_tearing_one_apart() -> None:
    async def story() -> None:
        api = Api()
        for version in range(1, 8):
            await api.record(*(resized(version, f"shape-{n}") for n in range(version)))

        versions: list[int] = []
        place: int | None = None
        while True:
            before = f"&before={place}" if place else ""
            page = (await api("GET", f"/decisions?limit=2{before}")).json
            for each in page["decisions"]:
                versions.append(each["version"])
                assert len(each["changes"]) == each["version"]
            if (place := page["next"]) is None:
                break

        assert versions == [7, 6, 5, 4, 3, 2, 1]

    asyncio.run(story())


@pytest.mark.parametrize("query", ["limit=0", "limit=201", "before=0", "before=x"])
def test_an_impossible_page_is_refused(query: str) -> None:
    async def story() -> None:
        answer = await Api()("GET", f"/decisions?{query}")
        assert 400 <= answer.status < 500

    asyncio.run(story())


# --- the policy


def test_an_admin_sets_what_everybody_sees() -> None:
    async def story() -> None:
        api = Api()
        admin = await token_of(api.plane, "ada", Role.ADMIN)
        viewer = await token_of(api.plane, "vic", Role.VIEWER)
        before = (await api("GET", "/policy", token=viewer)).json
        assert (before["max_usd_per_hour_micros"], before["set_by_admin"]) == (None, False)

        edit = {"max_usd_per_hour_micros": 12_500_000, "rule": "cheapest"}
        changed = await api("PATCH", "/policy", edit, token=admin)

        assert changed.status == 200
        after = (await api("GET", "/policy", token=viewer)).json
        assert after == changed.json
        assert (after["max_usd_per_hour_micros"], after["rule"]) == (12_500_000, "cheapest")
        assert after["set_by_admin"] is True
        assert (await api("GET", "", token=viewer)).json["policy"] == after

    asyncio.run(story())


def test_a_member_sets_no_policy() -> None:
    async def story() -> None:
        api = Api()
        member = await token_of(api.plane, "mia", Role.MEMBER)

        refused = await api("PATCH", "/policy", {"max_workers": 1}, token=member)

        assert (refused.status, refused.json["code"]) == (403, "role")

    asyncio.run(story())


@pytest.mark.parametrize(
    "edit",
    [{}, {"max_workers": "many"}, {"max_usd_per_hour_micros": 0.5}, {"minimum": {"x": "y"}}],
)
def test_an_edit_that_cannot_be_read_is_refused(edit: dict[str, Any]) -> None:
    async def story() -> None:
        answer = await Api()("PATCH", "/policy", edit)

        assert answer.status == 422
        assert answer.json["hint"]

    asyncio.run(story())
