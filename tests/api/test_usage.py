"""Money over HTTP: sums that agree, whoever may see them, in JSON and for a spreadsheet."""

import asyncio
import csv
import io
from typing import Any

import pytest

from clusterra.api.app import make_app
from clusterra.control.people.edit import edit_workspace
from clusterra.core.access import OthersJobs, Role, Scope
from clusterra.core.change import Change
from clusterra.core.jobs.job import JobState
from tests.api.asgi import Answer, ask
from tests.costs import SMALL, Priced, a_node, repriced
from tests.people import SOMEBODY, token_of
from tests.world import LAB

HERE = f"/v1/clusters/{LAB}"
HOUR = 180_000
"""What half a machine costs in an hour."""


class Api:
    def __init__(self, here: Priced | None = None) -> None:
        self.here = here or Priced()
        self.plane = self.here.world.plane()
        self._app = make_app(self.plane)

    async def __call__(
        self, path: str, *, method: str = "GET", body: object = None, **more: Any
    ) -> Answer:
        await self.plane.open()
        return await ask(self._app, method, path, body, **more)

    async def get(self, path: str, **more: Any) -> Any:
        answer = await self(path, **more)
        assert answer.status == 200, answer.body
        return answer.json

    async def others_see(self, what: OthersJobs) -> None:
        await edit_workspace(
            self.plane.people.directory,
            self.plane.people.home,
            name=None,
            others_jobs=what,
            by=SOMEBODY,
            at=self.plane.clock.now(),
        )


async def an_hour_each(api: Api, *people: str) -> list[int]:
    """Let each run a job of an hour, one after another, and each pay 18 cents."""
    await api.plane.open()
    await api.here.look()
    jobs = []
    for user in people:
        jobs.append(id := await api.here.started(user=user, name=f"job of {user}"))
        api.here.pass_time(hours=1)
        await api.here.ended(id)
    return jobs


def rows_of(answer: Answer) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(answer.body.decode())))


def test_a_month_is_told_by_person_with_what_runs_and_what_was_wasted() -> None:
    async def story() -> None:
        api = Api()
        cleo = await token_of(api.plane, "cleo", Role.ADMIN)
        await api.here.world.site.wasting.settle()
        await an_hour_each(api, "cleo", "ben")
        await api.here.started(user="ben")
        api.here.pass_time(minutes=30)

        month = await api.get(f"{HERE}/usage?by=person", token=cleo)
        assert month["period"] == {
            "name": "2026-03",
            "since": "2026-03-01T00:00:00Z",
            "until": "2026-04-01T00:00:00Z",
            "tz": "UTC",
            "rounded": False,
        }
        assert month["currency"] == "USD"
        rows = [(each["person"], each["micros"], each["running"]) for each in month["groups"]]
        assert rows == [("ben", HOUR * 3 // 2, 1), ("cleo@lab.example", HOUR, 0)]
        assert month["work"]["booked_micros"] == 2 * HOUR
        assert month["work"]["pending_micros"] == HOUR // 2
        assert month["burn_usd_per_hour_micros"] == HOUR
        # Two machines of $0.36 for two and a half hours, less what jobs had of them.
        assert month["waste_micros"] == 2 * 360_000 * 5 // 2 - HOUR * 5 // 2
        assert month["total"]["micros"] == month["work"]["micros"] + month["waste_micros"]
        assert {each["cause"] for each in month["waste"]} == {"idle", "unused"}
        assert month["estimate"]
        assert month["prices"]["sources"] == ["table"]
        everywhere = await api.get("/v1/usage?by=person", token=cleo)
        assert everywhere == month

    asyncio.run(story())


def test_where_people_do_not_see_each_others_jobs_they_see_their_own_spending() -> None:
    async def story() -> None:
        api = Api()
        admin = await token_of(api.plane, "ada", Role.ADMIN)
        ben = await token_of(api.plane, "ben")
        await an_hour_each(api, "ana", "ben")

        assert len((await api.get("/v1/usage?by=person", token=ben))["groups"]) == 2
        for what in (OthersJobs.QUEUE, OthersJobs.HIDDEN):
            await api.others_see(what)
            mine = await api.get("/v1/usage?by=person", token=ben)
            assert [each["person"] for each in mine["groups"]] == ["ben@lab.example"]
            assert (mine["total"]["micros"], mine["waste"]) == (HOUR, [])
            assert not mine["everybodys"]
            refused = await api("/v1/usage?person=ana", token=ben)
            assert (refused.status, refused.json["code"]) == (403, "others-spending")
            assert (await api.get("/v1/usage?person=me", token=ben))["total"]["micros"] == HOUR
            assert len((await api.get("/v1/usage?by=person", token=admin))["groups"]) == 2
            job = await api(f"{HERE}/jobs/1/cost", token=ben)
            assert job.status in (403, 404)
            assert (await api(f"{HERE}/jobs/2/cost", token=ben)).status == 200

    asyncio.run(story())


def test_in_a_list_a_job_of_somebody_else_has_no_cost_where_only_the_queue_is_seen() -> None:
    async def story() -> None:
        api = Api()
        ben = await token_of(api.plane, "ben")
        await an_hour_each(api, "ana", "ben")
        await api.others_see(OthersJobs.QUEUE)

        page = await api.get(f"{HERE}/jobs", token=ben)
        assert {each["user"]: each["cost_micros"] for each in page["jobs"]} == {
            "ana": None,
            "ben": HOUR,
        }

    asyncio.run(story())


def test_a_token_that_does_not_read_sees_no_money() -> None:
    async def story() -> None:
        api = Api()
        token = await token_of(api.plane, "cleo", scopes=frozenset({Scope.JOBS}))

        for path in (f"{HERE}/usage", "/v1/usage"):
            assert (await api(path, token=token)).status == 403

    asyncio.run(story())


def test_another_workspace_is_neither_seen_nor_summed() -> None:
    async def story() -> None:
        ours = Priced()
        theirs = Priced(ours.world.next_door())
        plane = ours.world.plane_with(theirs.world)
        app = make_app(plane)
        token = await token_of(plane, "cleo", Role.OWNER, workspace="lab")
        for here in (ours, theirs):
            await here.look()
            await here.started()
        ours.pass_time(hours=1)

        whole = (await ask(app, "GET", "/v1/usage?by=cluster,workspace", token=token)).json
        [row] = whole["groups"]
        assert (row["cluster"], row["workspace"], row["micros"]) == (LAB, "lab", HOUR)
        assert (await ask(app, "GET", "/v1/usage?workspace=rival", token=token)).status == 404
        operator = (await ask(app, "GET", "/v1/usage?by=workspace")).json
        assert {each["workspace"]: each["micros"] for each in operator["groups"]} == {
            "lab": HOUR,
            "rival": HOUR,
        }

    asyncio.run(story())


def test_a_spreadsheet_has_the_same_total_and_no_formulas() -> None:
    async def story() -> None:
        api = Api()
        await api.here.world.site.wasting.settle()
        await api.here.look()
        id = await api.here.started(name="=HYPERLINK(1)", user="ana", account="+lab")
        api.here.pass_time(minutes=7)
        await api.here.ended(id)
        await api.here.started(name="@me", user="ben", account="")
        api.here.pass_time(minutes=11, seconds=3)

        for by in ("", "person", "account", "job", "day", "person,what", "cluster"):
            view = await api.get(f"{HERE}/usage?by={by}")
            answer = await api(f"{HERE}/usage?by={by}&format=csv")
            assert answer.headers["content-type"] == "text/csv; charset=utf-8"
            rows = rows_of(answer)
            assert sum(int(each["total_micros"]) for each in rows) == view["total"]["micros"], by
            assert all(each["since"] == "2026-03-01T00:00:00+00:00" for each in rows)
            for row in rows:
                assert float(row["total_usd"]) * 1e6 == pytest.approx(int(row["total_micros"]))
                assert not any(
                    (each or "").startswith(("=", "+", "-", "@")) for each in row.values()
                )
        by_job = rows_of(await api(f"{HERE}/usage?by=job", accept="text/csv"))
        assert {each["name"] for each in by_job} >= {"'=HYPERLINK(1)", "'@me"}
        assert (
            rows_of(await api(f"{HERE}/usage?by=account", accept="text/csv"))[-1]["account"] == ""
        )

    asyncio.run(story())


def test_a_period_of_any_ends_is_widened_to_quarters_of_an_hour_and_says_so() -> None:
    async def story() -> None:
        api = Api()
        await an_hour_each(api, "ana")

        part = await api.get(f"{HERE}/usage?since=2026-03-02T12:20:00Z&until=2026-03-02T12:40:00Z")
        assert part["period"]["since"] == "2026-03-02T12:15:00Z"
        assert part["period"]["until"] == "2026-03-02T12:45:00Z"
        assert part["period"]["rounded"]
        assert part["work"]["micros"] == HOUR // 2
        day = await api.get(f"{HERE}/usage?since=2026-03-02&until=2026-03-03&tz=Asia/Tokyo")
        assert day["period"]["since"] == "2026-03-01T15:00:00Z"
        assert not day["period"]["rounded"]

    asyncio.run(story())


@pytest.mark.parametrize(
    ("asked", "where"),
    [
        ("period=2026-13", "period"),
        ("period=yesterday", "period"),
        ("period=2026-03&since=7d", "period"),
        ("since=tomorrow-ish", "since"),
        ("until=2026-03-02", "since"),
        ("since=2026-03-02&until=2026-03-01", "since"),
        ("since=0001-01-01&tz=Asia/Tokyo", "since"),
        ("tz=Mars/Olympus", "tz"),
        ("tz=../../etc/passwd", "tz"),
        ("by=colour", "by"),
        ("by=job,person", "by"),
        ("by=day,month", "by"),
        ("by=day&since=2020-01-01", "by"),
        ("format=xml", "format"),
        ("limit=0", "limit"),
    ],
)
def test_what_cannot_be_asked_is_explained(asked: str, where: str) -> None:
    async def story() -> None:
        answer = await Api()(f"{HERE}/usage?{asked}")

        assert answer.status == 422, answer.body
        assert answer.json["at"] == where
        assert answer.json["hint"]

    asyncio.run(story())


# --- one job


def test_a_running_job_says_what_it_has_cost_what_it_costs_and_what_it_can_cost() -> None:
    async def story() -> None:
        api = Api()
        await api.here.look()
        await api.here.started(time_limit=120)
        api.here.pass_time(minutes=40)

        cost = await api.get(f"{HERE}/jobs/1/cost")
        assert cost["micros"] == HOUR * 2 // 3
        assert cost["usd_per_hour_micros"] == HOUR
        assert cost["estimated_micros"] == 2 * HOUR
        assert not cost["final"]
        assert cost["sentence"] == "$0.12 so far, $0.18/h, at most $0.36"
        [run] = cost["runs"]
        assert (run["micros"], run["final"], len(run["charges"])) == (HOUR * 2 // 3, False, 1)
        [price] = cost["prices"]
        assert (price["basis"], price["source"]) == ("m6i.xlarge on-demand", "table")
        assert price["usd_per_hour_micros"] == 360_000
        job = await api.get(f"{HERE}/jobs/1")
        assert job["cost_micros"] == cost["micros"]
        assert job["usd_per_hour_micros"] == cost["usd_per_hour_micros"]
        assert job["estimated_micros"] == cost["estimated_micros"]

    asyncio.run(story())


def test_runs_and_the_charges_of_each_come_to_the_total() -> None:
    async def story() -> None:
        api = Api()
        here = api.here
        await here.look()
        id = await here.started()
        here.pass_time(minutes=10, seconds=1)
        here.at_rates(repriced(SMALL, 777_777))
        await here.look()
        here.pass_time(minutes=3, seconds=7)
        await here.world.slurm.requeue(id, user=None)
        await here.look()
        waiting = await api.get(f"{HERE}/jobs/{id}/cost")
        assert (waiting["final"], waiting["usd_per_hour_micros"]) == (False, None)
        here.world.slurm.move(id, JobState.RUNNING, nodes="w2")
        await here.look()
        here.pass_time(minutes=1)
        await here.ended(id)

        cost = await api.get(f"{HERE}/jobs/{id}/cost")
        first, second = cost["runs"]
        assert (first["restarts"], second["restarts"]) == (0, 1)
        assert len(first["charges"]) == 2
        for run in (first, second):
            assert sum(each["micros"] for each in run["charges"]) == run["micros"]
        assert first["micros"] + second["micros"] == cost["micros"]
        assert cost["final"]
        total = (await api.get(f"{HERE}/usage"))["work"]
        assert (total["micros"], total["jobs"]) == (cost["micros"], 1)

    asyncio.run(story())


def test_what_a_job_cost_is_known_when_its_events_have_been_sealed_away() -> None:
    async def story() -> None:
        api = Api()
        [id] = await an_hour_each(api, "ana")
        store = api.here.world.store
        await store.seal(LAB, await store.head(LAB), Change())

        cost = await api.get(f"{HERE}/jobs/{id}/cost")
        assert (cost["micros"], cost["final"], cost["runs"]) == (HOUR, True, [])
        assert cost["sealed_micros"] == HOUR

    asyncio.run(story())


def test_a_job_that_waits_has_cost_nothing_yet() -> None:
    async def story() -> None:
        api = Api()
        await api.here.look()
        await api.here.world.submitted_past_us()

        cost = await api.get(f"{HERE}/jobs/1/cost")
        assert (cost["micros"], cost["sentence"], cost["runs"]) == (0, "nothing yet", [])

    asyncio.run(story())


def test_a_job_on_a_machine_without_a_price_says_why_its_cost_is_not_known() -> None:
    async def story() -> None:
        api = Api()
        api.here.world.slurm.join(a_node("bench", features=()))
        await api.here.look()
        id = await api.here.started(node="bench")
        api.here.pass_time(minutes=10)

        for _ in ("while it runs", "when it has ended"):
            cost = await api.get(f"{HERE}/jobs/{id}/cost")
            assert cost["micros"] is None
            assert cost["why_unknown"].startswith("It is not known what kind of machine bench is")
            job = await api.get(f"{HERE}/jobs/{id}")
            assert (job["cost_micros"], job["cost_unknown"]) == (None, cost["why_unknown"])
            await api.here.ended(id)

    asyncio.run(story())


# --- oneself, and a month


def test_the_profile_says_what_one_spends_now_today_and_this_month() -> None:
    async def story() -> None:
        api = Api()
        cleo = await token_of(api.plane, "cleo")
        await an_hour_each(api, "cleo", "ben")
        api.here.pass_time(days=1)
        await api.here.started(user="cleo")
        api.here.pass_time(minutes=20)

        spends = (await api.get("/v1/users/me", token=cleo))["spending"]
        assert spends["burn_usd_per_hour_micros"] == HOUR
        assert (spends["pending_micros"], spends["running"]) == (HOUR // 3, 1)
        assert spends["month"] == {
            "name": "2026-03",
            "booked_micros": HOUR,
            "pending_micros": HOUR // 3,
            "micros": HOUR + HOUR // 3,
        }
        assert spends["today"]["micros"] == HOUR // 3
        [there] = spends["workspaces"]
        assert there["month"] == spends["month"]
        assert there["quota"] is None
        usage = await api.get("/v1/usage?person=me", token=cleo)
        assert usage["total"]["micros"] == spends["month"]["micros"]
        tokyo = await api.get("/v1/users/me?tz=Asia/Tokyo", token=cleo)
        assert tokyo["spending"]["today"]["name"] == "2026-03-03"

    asyncio.run(story())


def test_the_profile_says_what_is_left_of_ones_quota() -> None:
    async def story() -> None:
        api = Api()
        cleo = await token_of(api.plane, "cleo")
        await an_hour_each(api, "cleo")
        quota = f"/v1/workspaces/{api.plane.people.home}/quotas/cleo@lab.example"
        answer = await api(quota, method="PATCH", body={"month_micros": 10 * HOUR})
        assert answer.status == 200, answer.body

        [there] = (await api.get("/v1/users/me", token=cleo))["spending"]["workspaces"]
        assert there["quota"]["month"]["spent_micros"] == there["month"]["micros"] == HOUR
        assert there["quota"]["month"]["left_micros"] == 9 * HOUR

    asyncio.run(story())


def test_a_statement_is_provisional_until_its_month_is_over_and_nothing_of_it_runs() -> None:
    async def story() -> None:
        api = Api()
        home = api.plane.people.home
        await an_hour_each(api, "ana")
        march = f"/v1/workspaces/{home}/statements/2026-03"
        assert not (await api.get(march))["final"]
        id = await api.here.started(user="ben", time_limit=None)
        api.here.pass_time(days=31)
        await api.here.look()
        early = await api.get(march)
        assert early["why_provisional"] == ["1 job that ran in it still runs."]
        await api.here.ended(id)

        done = await api.get(march)
        assert (done["final"], done["why_provisional"]) == (True, [])
        assert [each["person"] for each in done["people"]] == ["ben", "ana@localhost"]
        ben, ana = done["people"]
        usage = await api.get("/v1/usage?period=2026-03&by=person")
        assert done["work"]["micros"] == usage["work"]["micros"]
        for part in (ben, ana):
            spent = part["spent"]["micros"]
            for by in ("days", "clusters", "accounts"):
                assert sum(each["micros"] for each in part[by]) == spent
            assert sum(each["micros"] for each in part["dearest"]) == spent
        assert len(ana["days"]) == 31
        rows = rows_of(await api(march, accept="text/csv"))
        assert sum(int(each["total_micros"]) for each in rows) == done["work"]["micros"]
        assert {each["final"] for each in rows} == {"yes"}

    asyncio.run(story())


def test_a_statement_is_ones_own_unless_one_runs_the_workspace() -> None:
    async def story() -> None:
        api = Api()
        march = f"/v1/workspaces/{api.plane.people.home}/statements/2026-03"
        admin = await token_of(api.plane, "ada", Role.ADMIN)
        ben = await token_of(api.plane, "ben")
        await an_hour_each(api, "ana", "ben")

        mine = await api.get(march, token=ben)
        assert [each["person"] for each in mine["people"]] == ["ben@lab.example"]
        assert (mine["work"]["micros"], mine["waste_micros"]) == (HOUR, None)
        assert (await api(f"{march}?person=ana", token=ben)).status == 403
        every = await api.get(march, token=admin)
        assert {each["person"] for each in every["people"]} == {"ana@localhost", "ben@lab.example"}
        assert every["waste_micros"] is not None
        one = await api.get(f"{march}?person=ben", token=admin)
        assert [each["person"] for each in one["people"]] == ["ben@lab.example"]
        bad = await api(march.replace("2026-03", "2026-03-01"), token=admin)
        assert (bad.status, bad.json["code"]) == (422, "bad-period")

    asyncio.run(story())
