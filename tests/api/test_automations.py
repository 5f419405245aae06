"""Automations over HTTP: one's own, in one's own name; and what is to follow a job."""

import asyncio
from typing import Any

from clusterra.api.app import make_app
from clusterra.core.access import ALL_SCOPES, Role
from clusterra.core.jobs.job import JobState
from tests.api.asgi import Answer, ask
from tests.automations import Lab
from tests.people import SOMEBODY
from tests.world import LAB, TOKEN

RETRY = {"when": "job.out_of_memory", "do": [{"retry": {}}], "name": "more-memory"}


class Door:
    def __init__(self, lab: Lab) -> None:
        self.lab, self.app = lab, make_app(lab.plane)
        self.tokens: dict[str, str] = {"": TOKEN}

    async def __call__(self, who: str, route: str, body: Any = None, **more: Any) -> Answer:
        if who not in self.tokens:
            person = self.lab.people[who]
            self.tokens[who], _ = await self.lab.plane.people.tokens.make(
                person,
                name="t",
                scopes=ALL_SCOPES,
                within="",
                until=None,
                by=SOMEBODY,
            )
        method, _, path = route.partition(" ")
        return await ask(self.app, method, path, body, token=self.tokens[who], **more)


def test_an_automation_is_its_makers_and_admins_may_turn_it_off() -> None:
    async def story() -> None:
        door = Door(await Lab().open())
        made = await door("ana", "POST /v1/automations", RETRY)
        assert made.status == 201, made.body
        assert made.json["owner"] == "ana@lab.example"
        assert made.json["do"] == [
            {"retry": {"memory_factor": 1.5, "time_factor": 2.0, "plain": False}}
        ]
        one = f"/v1/automations/{made.json['id']}"

        assert (await door("ana", "GET /v1/automations")).json["total"] == 1
        assert (await door("eva", "GET /v1/automations")).json["total"] == 1
        assert (await door("ben", "GET /v1/automations")).json["total"] == 0
        for route in (f"GET {one}", f"PATCH {one}", f"DELETE {one}", f"GET {one}/firings"):
            answer = await door("ben", route, {})
            assert (answer.status, answer.json["code"]) == (404, "automation-not-found")

        theirs = await door("eva", f"PATCH {one}", {"do": [{"requeue": {}}]})
        assert (theirs.status, theirs.json["code"]) == (403, "foreign-automation")
        off = await door("eva", f"PATCH {one}", {"state": "off"})
        assert (off.status, off.json["state"]) == (200, "off")
        mine = await door("ana", f"PATCH {one}", {"most": 3, "state": "on"})
        assert (mine.json["most"], mine.json["state"], mine.json["name"]) == (
            3,
            "on",
            "more-memory",
        )
        assert (await door("ana", f"DELETE {one}")).status == 200
        assert (await door("ana", f"GET {one}")).status == 404

        lab = door.lab
        told = await lab.said("admin.automation.*", ledger=f"workspaces/{lab.workspace}")
        assert [each["type"].rpartition(".")[2] for each in told] == [
            "created",
            "changed",
            "changed",
            "deleted",
        ]
        assert told[1]["changed"] == ["state: on → off"]
        assert told[1]["actor"] == "user:eva@lab.example"

    asyncio.run(story())


def test_a_viewer_has_none_and_a_mistake_is_named() -> None:
    async def story() -> None:
        door = Door(await Lab().open())
        lab = door.lab
        await lab.plane.people.roster.change_role(
            lab.workspace, lab.people["ben"].id, Role.VIEWER, by=SOMEBODY
        )
        assert (await door("ben", "POST /v1/automations", RETRY)).status == 403
        wrong = await door("ana", "POST /v1/automations", RETRY | {"do": [{"notify": "whk_x"}]})
        assert (wrong.status, wrong.json["code"]) == (404, "webhook-not-found")
        assert wrong.json["at"] == "do[0].notify"
        nowhere = RETRY | {"when": {"types": ["job.timeout"], "clusters": ["other"]}}
        assert (await door("ana", "POST /v1/automations", nowhere)).json["at"] == "when.clusters"
        typed = await door("ana", "POST /v1/automations", RETRY | {"when": "job.oom"})
        assert (typed.status, typed.json["at"]) == (422, "when.types")

    asyncio.run(story())


def test_what_follows_a_job_is_said_with_it_and_both_timelines_show_the_link() -> None:
    async def story() -> None:
        door = Door(await Lab().open())
        lab, jobs = door.lab, f"/v1/clusters/{LAB}/jobs"
        wish = {
            "script": "#!/bin/sh\n",
            "memory": "1G",
            "then": [{"when": "failed", "do": {"retry": {}}}],
        }
        wrong = await door("ana", f"POST {jobs}/submit", wish | {"then": [{"when": "x"}]})
        assert (wrong.status, wrong.json["at"]) == (422, "then[0].when")
        made = await door("ana", f"POST {jobs}/submit", wish)
        assert made.status == 201, made.body
        first = made.json["job_id"]
        await lab.plane.submitters[LAB].settle()
        await lab.world.observer.look()
        await lab.ends(first, JobState.OUT_OF_MEMORY)
        second = lab.jobs()[-1].id
        assert second != first

        for id in (first, second):
            told = (await door("ana", f"GET {jobs}/{id}/events")).json["events"]
            (fired,) = [each for each in told if each["type"] == "automation.fired"]
            assert fired["data"]["job_id"] == first
            assert fired["data"]["made_job_id"] == second
            assert fired["data"]["changed"] == ["memory: 1 GiB → 1.5 GiB"]

    asyncio.run(story())


def test_the_owner_of_a_job_reads_what_somebody_elses_automation_did_to_it() -> None:
    async def story() -> None:
        door = Door(await Lab().open())
        lab = door.lab
        assert (await door("eva", "POST /v1/automations", RETRY)).status == 201
        id = await lab.submits(user="ben")
        await lab.ends(id, JobState.OUT_OF_MEMORY)
        path = f"GET /v1/clusters/{LAB}/jobs/{id}/events"
        told = (await door("ben", path)).json["events"]
        assert "automation.fired" in [each["type"] for each in told]

    asyncio.run(story())


def test_what_was_done_and_what_would_have_been_is_answered() -> None:
    async def story() -> None:
        door = Door(await Lab().open())
        lab = door.lab
        made = (await door("ana", "POST /v1/automations", RETRY)).json
        await lab.ends(await lab.submits(), JobState.OUT_OF_MEMORY)
        await lab.ends(lab.jobs()[-1].id, JobState.OUT_OF_MEMORY)

        firings = (await door("ana", f"GET /v1/automations/{made['id']}/firings")).json["firings"]
        assert [each["state"] for each in firings] == ["stopped", "done"]
        assert firings[1]["made_job_id"] == 2
        assert firings[1]["changed"] == ["memory: 1 GiB → 1.5 GiB"]

        for asked in (
            {"id": made["id"]},
            {"automation": RETRY},
            {"automation": RETRY, "since": "7d"},
        ):
            tried = await door("ana", "POST /v1/automations/dry-run", asked)
            assert tried.status == 200, tried.body
            assert (tried.json["acted"], tried.json["jobs"]) == (2, 2)
        others = await door("ben", "POST /v1/automations/dry-run", {"automation": RETRY})
        assert others.json["acted"] == 0
        for asked in ({}, {"automation": 5}, {"automatoin": RETRY}, {"id": "aut_x"}, {"id": 5}):
            assert (await door("ana", "POST /v1/automations/dry-run", asked)).status in (422, 404)
        assert len(lab.jobs()) == 2

    asyncio.run(story())


def test_what_the_operator_makes_acts_as_the_clusters_own_user() -> None:
    async def story() -> None:
        door = Door(await Lab().open())
        lab = door.lab
        lab.world.site.user = "svc"
        rule = {"when": "job.completed", "do": [{"submit": {"script": "#!/bin/sh\n"}}]}
        assert (await door("", "POST /v1/automations", rule)).status == 201
        await lab.ends(await lab.submits(), JobState.COMPLETED)
        assert lab.jobs()[-1].user == "svc"

    asyncio.run(story())
