"""`GET …/jobs/{job}/why`."""

import asyncio

from clusterra.api.app import make_app
from clusterra.core.jobs.job import JobState
from tests.api.asgi import ask
from tests.people import token_of
from tests.world import LAB, TOKEN, World

JOBS = f"/v1/clusters/{LAB}/jobs"


def test_a_waiting_job_is_explained_with_rows_and_a_next_step() -> None:
    async def story() -> None:
        world = World()
        app = make_app(world.plane())
        id = await world.submitted_past_us(hold=True)
        await world.observer.look()

        answer = await ask(app, "GET", f"{JOBS}/{id}/why", token=TOKEN)

        assert answer.status == 200
        told = answer.json
        assert (told["job_id"], told["waiting"], told["kind"]) == (id, True, "held")
        assert told["reason"] == "JobHeldUser"
        assert told["summary"].startswith("Held by ")
        assert all(link["claim"] and link["evidence"] for link in told["chain"])
        assert told["sooner"][0]["command"] == f"clusterra jobs release {id}"
        assert told["estimate"] is None

    asyncio.run(story())


def test_a_guess_travels_with_its_band_its_basis_and_how_earlier_ones_did() -> None:
    async def story() -> None:
        world = World()
        app = make_app(world.plane())
        id = await world.submitted_past_us()
        await world.observer.look()

        guess = (await ask(app, "GET", f"{JOBS}/{id}/why", token=TOKEN)).json["estimate"]

        assert guess["low"] <= guess["likely"] <= guess["high"]
        assert guess["basis"]
        assert guess["calibration"] == {"predictions": 0, "inside": 0, "share": None}

    asyncio.run(story())


def test_a_job_that_runs_is_said_to_run() -> None:
    async def story() -> None:
        world = World()
        app = make_app(world.plane())
        id = await world.submitted_past_us()
        world.slurm.move(id, JobState.RUNNING)
        await world.observer.look()

        told = (await ask(app, "GET", f"{JOBS}/{id}/why", token=TOKEN)).json

        assert (told["waiting"], told["kind"]) == (False, "running")
        assert told["summary"].startswith("It does not wait")

    asyncio.run(story())


def test_there_is_nothing_to_say_of_a_job_that_is_not_there() -> None:
    async def story() -> None:
        world = World()
        app = make_app(world.plane())
        await world.observer.look()

        answer = await ask(app, "GET", f"{JOBS}/77/why", token=TOKEN)

        assert (answer.status, answer.json["code"]) == (404, "job-not-found")

    asyncio.run(story())


def test_hidden_jobs_are_not_there_to_be_explained() -> None:
    async def story() -> None:
        world = World()
        plane = world.plane()
        app = make_app(plane)
        workspace = f"/v1/workspaces/{plane.people.home}"
        await ask(app, "PATCH", workspace, {"others_jobs": "hidden"}, token=TOKEN)
        id = await world.submitted_past_us(user="ben")
        await world.observer.look()

        answer = await ask(app, "GET", f"{JOBS}/{id}/why", token=await token_of(plane, "eva"))

        assert answer.status == 404

    asyncio.run(story())
