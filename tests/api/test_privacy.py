"""What members of a workspace see of each other's jobs, by every way there is to look."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

import pytest
from starlette.types import ASGIApp

from clusterra.api.app import make_app
from clusterra.control.plane import Plane
from clusterra.core.access import OthersJobs, Role
from clusterra.core.jobs.job import JobState
from tests.api.asgi import Answer, ask
from tests.api.listening import Listener, listening
from tests.people import token_of
from tests.world import LAB, TOKEN, World

CLUSTER = f"/v1/clusters/{LAB}"
JOBS = f"{CLUSTER}/jobs"
SECRET = "merger"
DETAILS, QUEUE, HIDDEN = OthersJobs
MINE, THEIRS = 1, 2
"""The two jobs: eva's own and bo's."""

each_setting = pytest.mark.parametrize("others", [DETAILS, QUEUE, HIDDEN])


@dataclass
class Shop:
    """Eva looks; bo has a job with a secret name. Both have run for a while."""

    app: ASGIApp
    world: World
    plane: Plane
    eva: str
    bo: str
    admin: str
    viewer: str

    @staticmethod
    async def open(others: OthersJobs) -> "Shop":
        world = World()
        plane = world.plane()
        app = make_app(plane)
        people = {each: await token_of(plane, each) for each in ("eva", "bo")}
        shop = Shop(
            app=app,
            world=world,
            plane=plane,
            **people,
            admin=await token_of(plane, "ada", Role.ADMIN),
            viewer=await token_of(plane, "vic", Role.VIEWER),
        )
        workspace = f"/v1/workspaces/{plane.people.home}"
        await ask(app, "PATCH", workspace, {"others_jobs": others}, token=TOKEN)
        await shop.submit(shop.eva, name="align")
        await shop.submit(shop.bo, name=SECRET, comment=SECRET, workdir=f"/home/bo/{SECRET}")
        for id in (MINE, THEIRS):
            world.slurm.move(id, JobState.RUNNING)
            world.logs.written[id] = SECRET.encode()
        await world.observer.look()
        return shop

    async def submit(self, by: str, **wishes: str) -> None:
        answer = await self(by, "POST", f"{JOBS}/submit", {"script": "#!/bin/sh\n", **wishes})
        assert answer.status == 201, answer.body

    async def __call__(
        self, by: str, method: str, path: str, body: object = None, **more: str
    ) -> Answer:
        return await ask(self.app, method, path, body, token=by, **more)

    async def found(self, by: str, asked: str) -> list[int]:
        page = (await self(by, "GET", f"{JOBS}?{asked}")).json
        assert page["total"] == len(page["jobs"])
        return sorted(job["job_id"] for job in page["jobs"])

    async def events(self, by: str, path: str) -> list[str]:
        answer = await self(by, "GET", path)
        assert answer.status == 200, answer.body
        return sorted({each["subject"] for each in answer.json["events"]})

    @asynccontextmanager
    async def heard(self, by: str) -> AsyncIterator[Listener]:
        async with listening(self.app, f"{CLUSTER}/events/stream?after=0", token=by) as listener:
            yield listener


def is_told(listener: Listener, subject: str, type: str) -> bool:
    frames = listener.heard.decode().split("\n\n")
    return any(f'"subject":"{subject}"' in each and f"event: {type}\n" in each for each in frames)


@each_setting
def test_the_list_shows_of_others_what_the_workspace_allows(others: OthersJobs) -> None:
    async def story() -> None:
        shop = await Shop.open(others)
        for by in (shop.eva, shop.viewer):
            page = await shop(by, "GET", JOBS)
            seen = {job["job_id"]: job for job in page.json["jobs"]}

            assert (THEIRS in seen) == (others is not HIDDEN)
            assert (SECRET.encode() in page.body) == (others is DETAILS)
            if others is QUEUE:
                told = seen[THEIRS]
                assert (told["user"], told["state"], told["name"]) == ("bo", "RUNNING", "")
        for by in (shop.bo, shop.admin, TOKEN):
            page = await shop(by, "GET", JOBS)
            assert SECRET.encode() in page.body

    asyncio.run(story())


@each_setting
def test_one_job_is_shown_like_the_list_shows_it(others: OthersJobs) -> None:
    async def story() -> None:
        shop = await Shop.open(others)

        answer = await shop(shop.eva, "GET", f"{JOBS}/{THEIRS}")
        nowhere = await shop(shop.eva, "GET", f"{JOBS}/99")

        assert (answer.status == 404) == (others is HIDDEN)
        assert (SECRET.encode() in answer.body) == (others is DETAILS)
        if others is HIDDEN:
            assert answer.body.replace(b"job 2", b"job 99") == nowhere.body
        assert (await shop(shop.eva, "GET", f"{JOBS}/{MINE}")).json["name"] == "align"

    asyncio.run(story())


@pytest.mark.parametrize(
    "asked",
    [
        f"q=name:{SECRET}",
        "q=name:m*",
        f"q={SECRET}",
        "q=erge",
        "q=-name:align",
        "q=run:*",
        "sort=name",
        "sort=-name&q=user:bo",
        f"q=-{SECRET}",
        "sort=name&limit=1",
    ],
)
@pytest.mark.parametrize("others", [QUEUE, HIDDEN])
def test_a_name_that_is_not_shown_is_not_found_out_either(others: OthersJobs, asked: str) -> None:
    async def story() -> None:
        shop = await Shop.open(others)

        assert THEIRS not in await shop.found(shop.eva, asked)
        if "limit" not in asked:
            every = await shop.found(shop.admin, asked)
            assert set(await shop.found(shop.bo, asked)) <= set(every)

    asyncio.run(story())


@each_setting
def test_what_others_asked_of_the_queue_is_found_as_far_as_it_is_shown(others: OthersJobs) -> None:
    async def story() -> None:
        shop = await Shop.open(others)

        for asked in ("q=user:bo", "user=bo", "state=running&q=user:bo", "q=id:2"):
            assert (await shop.found(shop.eva, asked) == [THEIRS]) == (others is not HIDDEN)
        assert (await shop.found(shop.eva, f"q=name:{SECRET}") == [THEIRS]) == (others is DETAILS)

    asyncio.run(story())


@each_setting
def test_what_happens_to_others_jobs_is_told_only_with_their_details(others: OthersJobs) -> None:
    async def story() -> None:
        shop = await Shop.open(others)
        mine, theirs = f"job/{MINE}", f"job/{THEIRS}"
        everything = [mine, theirs] if others is DETAILS else [mine]
        for asked in ("type=job.*", "type=job.*&last=100"):
            assert await shop.events(shop.eva, f"{CLUSTER}/events?{asked}") == everything
        whole = await shop(shop.eva, "GET", f"{CLUSTER}/events")
        assert (SECRET.encode() in whole.body) == (others is DETAILS)
        assert await shop.events(shop.admin, f"{CLUSTER}/events?type=job.*") == [mine, theirs]

    asyncio.run(story())


@each_setting
def test_the_timeline_of_anothers_job_is_as_empty_as_its_details(others: OthersJobs) -> None:
    async def story() -> None:
        shop = await Shop.open(others)

        answer = await shop(shop.eva, "GET", f"{JOBS}/{THEIRS}/events")

        if others is HIDDEN:
            assert answer.status == 404
        else:
            assert bool(answer.json["events"]) == (others is DETAILS)
        assert (await shop(shop.eva, "GET", f"{JOBS}/{MINE}/events")).json["events"]

    asyncio.run(story())


@each_setting
def test_the_stream_tells_what_the_list_of_events_does(others: OthersJobs) -> None:
    async def story() -> None:
        shop = await Shop.open(others)
        async with shop.heard(shop.eva) as eva, shop.heard(shop.admin) as admin:
            shop.world.slurm.move(THEIRS, JobState.COMPLETED)
            await shop.world.observer.look()
            shop.world.slurm.move(MINE, JobState.COMPLETED)
            await shop.world.observer.look()
            for listener in (eva, admin):
                # Eva's own job is told of last: what came before it has come.
                await listener.until(partial(is_told, listener, f"job/{MINE}", "job.completed"))

            assert (b"job/2" in eva.heard) == (SECRET.encode() in eva.heard) == (others is DETAILS)
            assert b"job/2" in admin.heard

    asyncio.run(story())


def test_a_stream_ends_when_the_workspace_shows_less() -> None:
    async def story() -> None:
        shop = await Shop.open(DETAILS)
        async with shop.heard(shop.eva) as eva:
            workspace = f"/v1/workspaces/{shop.plane.people.home}"
            await shop(shop.admin, "PATCH", workspace, {"others_jobs": "hidden"})
            await eva.until(lambda: eva.ended)

    asyncio.run(story())


@each_setting
def test_nobody_but_its_owner_and_admins_reads_what_a_job_wrote(others: OthersJobs) -> None:
    async def story() -> None:
        shop = await Shop.open(others)
        path = f"{JOBS}/{THEIRS}/output"

        answer = await shop(shop.eva, "GET", path)

        assert answer.status == (404 if others is HIDDEN else 403)
        assert SECRET.encode() not in answer.body
        assert (await shop(shop.viewer, "GET", path)).status == 403
        for by in (shop.bo, shop.admin):
            assert (await shop(by, "GET", path)).body == SECRET.encode()

    asyncio.run(story())


@each_setting
def test_nobody_but_its_owner_and_admins_changes_a_job(others: OthersJobs) -> None:
    async def story() -> None:
        shop = await Shop.open(others)
        job = f"{JOBS}/{THEIRS}"
        ways: list[tuple[str, str, object]] = [
            ("DELETE", job, None),
            ("PATCH", job, {"name": "x"}),
            *(("POST", f"{job}/{act}", None) for act in ("hold", "release", "requeue")),
        ]
        for method, path, body in ways:
            answer = await shop(shop.eva, method, path, body)
            assert answer.status == (404 if others is HIDDEN else 403), path
            assert SECRET.encode() not in answer.body

        assert (await shop.world.slurm.job(THEIRS))[0].state is JobState.RUNNING
        assert (await shop(shop.bo, "DELETE", job)).status == 200

    asyncio.run(story())


@each_setting
@pytest.mark.parametrize("query", ["state:live", "user:bo", f"name:{SECRET}", "id>0"])
def test_cancelling_by_query_finds_ones_own_jobs_only(others: OthersJobs, query: str) -> None:
    async def story() -> None:
        shop = await Shop.open(others)
        for dry_run in (True, False):
            body = {"query": query, "dry_run": dry_run}
            done = (await shop(shop.eva, "POST", f"{JOBS}/cancel", body)).json
            assert set(done["job_ids"]) <= {MINE}

        assert (await shop.world.slurm.job(THEIRS))[0].state is JobState.RUNNING
        everybodys = {"query": query, "dry_run": True}
        by_admin = await shop(shop.admin, "POST", f"{JOBS}/cancel", everybodys)
        assert THEIRS in by_admin.json["job_ids"]

    asyncio.run(story())


@each_setting
def test_counts_are_of_jobs_that_one_may_know_of(others: OthersJobs) -> None:
    async def story() -> None:
        shop = await Shop.open(others)

        for by, number in ((shop.eva, 1 if others is HIDDEN else 2), (shop.admin, 2)):
            one = (await shop(by, "GET", CLUSTER)).json
            [listed] = (await shop(by, "GET", "/v1/clusters")).json["clusters"]
            page = (await shop(by, "GET", f"{JOBS}?limit=1")).json
            assert one["jobs"] == listed["jobs"] == {"RUNNING": number}
            assert page["total"] == number

    asyncio.run(story())
