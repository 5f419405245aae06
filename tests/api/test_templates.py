"""Recipes over HTTP, as new clients and old ones ask for them."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from clusterra.api.app import make_app
from clusterra.core.access import Role
from clusterra.core.jobs.job import JobState
from clusterra.core.templates.read import SourceFile
from clusterra.ports import Store
from tests.api.asgi import Answer, ask
from tests.people import token_of
from tests.recipes import YAML, a_batch, a_file, a_workflow
from tests.world import LAB, OURS, World

SUBMIT = f"/v1/clusters/{LAB}/jobs/submit"
NUMBER = {"key": "n", "widget": "number", "default": 1, "min": 1}


class Client:
    def __init__(self, store: Store | None = None, *documents: dict[str, Any]) -> None:
        self.world = World(store) if store else World()
        self.plane = self.world.plane_with(self.world.next_door())
        self.plane.catalogue.stock(
            [SourceFile(name=each["id"], text=json.dumps(each)) for each in documents]
            or [a_file("recipe")],
            "clusterra",
        )
        self.app = make_app(self.plane)
        self.token = ""

    async def __call__(self, method: str, path: str, body: object = None, **more: str) -> Answer:
        await self.plane.open()
        self.token = self.token or await token_of(self.plane, "kim", Role.ADMIN, workspace=OURS)
        return await ask(self.app, method, path, body, token=more.pop("token", self.token), **more)


def run(story: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(story())  # type: ignore[arg-type]


def test_the_list_has_both_names_of_everything() -> None:
    async def story() -> None:
        preset = {
            **{
                k: v
                for k, v in a_batch("p").items()
                if k not in ("runtime", "sbatch", "inputs", "outputs", "script")
            },
            "kind": "preset",
            "tier": "borrowed",
            "pipeline_repo": "nf-core/x",
            "parameters": [{"key": "profile", "widget": "text", "default": "test"}],
        }
        client = Client(None, a_batch("b", parameters=[NUMBER]), preset)

        listed = (await client("GET", "/v1/templates")).json

        assert listed["total"] == 2
        batch, found = listed["templates"]
        assert batch["parameters"][0] | {} == batch["parameters"][0]
        assert {
            each: batch["parameters"][0][each] for each in ("key", "name", "widget", "type")
        } == {
            "key": "n",
            "name": "n",
            "widget": "number",
            "type": "int",
        }
        assert (found["parent_id"], found["static_values"], found["schema_values"]) == (
            "nextflow-pipeline",
            {"profile": "test"},
            {},
        )
        presets = (await client("GET", "/v1/launchables?kind=preset&pipeline_repo=nf-core/x")).json
        assert [each["id"] for each in presets["launchables"]] == ["p"]
        assert (await client("GET", "/v1/launchables?pipeline_repo=other")).json["total"] == 0
        assert (await client("GET", "/v1/templates?q=nothing")).json["templates"] == []
        assert (await client("GET", "/v1/templates?q=does+recipe&kind=batch")).json["total"] == 1

    run(story)


def test_one_is_shown_whole_and_an_unknown_one_is_not_found() -> None:
    async def story() -> None:
        client = Client()

        shown = (await client("GET", "/v1/templates/recipe")).json
        missing = await client("GET", "/v1/templates/recip")

        assert shown["definition"]["script"].startswith("#!/bin/bash")
        assert (missing.status, missing.json["code"]) == (404, "unknown-template")
        assert missing.json["hint"] == "Did you mean recipe?"

    run(story)


@pytest.mark.parametrize("path", ["/v1/templates/recipe/render", "/v1/launchables/recipe/render"])
@pytest.mark.parametrize("body", [{"params": {"word": "$x"}}, {"word": "$x"}])
def test_a_recipe_is_rendered_without_being_submitted(path: str, body: dict[str, Any]) -> None:
    async def story() -> None:
        client = Client()

        answer = (await client("POST", path, body)).json

        assert answer["script"] == '#!/bin/bash\n#SBATCH --mem=100M\necho "\\$x"\n'
        assert answer["job_name"] == "recipe"
        assert client.world.slurm.requests == {}

    run(story)


def test_a_job_from_a_recipe_answers_as_any_job() -> None:
    async def story() -> None:
        client = Client()

        answer = await client(
            "POST", SUBMIT, {"template_id": "recipe", "params": {"word": "a", "cpus": 4}}
        )
        await client.world.observer.look()
        shown = await client("GET", f"/v1/clusters/{LAB}/jobs/{answer.json['job_id']}")

        assert answer.status == 201
        assert isinstance(answer.json["job_id"], int)
        assert len(answer.json["run_id"]) == 36
        assert answer.json["warnings"] == [
            "The template has no params.cpus; what was sent there is left out."
        ]
        assert shown.json["state"] == "PENDING"
        assert shown.json["template"] == "recipe"

    run(story)


def test_a_workflow_says_how_each_step_stands_and_why(store: Store) -> None:
    flow = a_workflow(
        "flow",
        {"step_id": "one", "template_id": "b"},
        {"step_id": "two", "template_id": "b", "depends_on": ["one"]},
        {"step_id": "three", "template_id": "b", "depends_on": ["two"]},
    )

    async def story() -> None:
        client = Client(store, a_batch("b"), flow)
        answer = (await client("POST", SUBMIT, {"template_id": "flow"})).json
        first, second, third = (each["job_id"] for each in answer["steps"])
        slurm, look = client.world.slurm, client.world.observer.look
        await look()
        path = f"/v1/clusters/{LAB}/workflows/{answer['workflow_id']}"
        assert answer["run_id"] == answer["workflow_id"]
        assert (await client("GET", path)).json["state"] == "PENDING"

        slurm.move(first, JobState.RUNNING)
        slurm.move(first, JobState.FAILED, exit_code=3)
        for each in (second, third):
            slurm.move(each, JobState.CANCELLED, exit_code=None)
        await look()

        seen = (await client("GET", path)).json
        assert seen["state"] == "FAILED"
        assert [each["state"] for each in seen["steps"]] == ["FAILED", "CANCELLED", "CANCELLED"]
        assert [each["why"] for each in seen["steps"]] == [
            "",
            "It was not started: the step one failed with exit code 3.",
            "It was not started: the step one failed with exit code 3.",
        ]
        listed = (await client("GET", f"/v1/clusters/{LAB}/workflows")).json
        assert [each["id"] for each in listed["workflows"]] == [answer["workflow_id"]]
        assert (await client("GET", f"/v1/clusters/{LAB}/workflows/nope")).status == 404

    run(story)


def test_steps_of_ones_own_are_a_workflow_too() -> None:
    async def story() -> None:
        client = Client()

        answer = await client(
            "POST",
            SUBMIT,
            {
                "run_name": "mine",
                "steps": [
                    {"step_id": "a", "template_id": "recipe", "params": {}, "inputs": {}},
                    {"step_id": "b", "template_id": "recipe", "depends_on": ["a"]},
                ],
            },
        )

        assert answer.status == 201
        assert [each["step_id"] for each in answer.json["steps"]] == ["a", "b"]

    run(story)


def test_a_job_can_be_started_again_and_again() -> None:
    async def story() -> None:
        client = Client()

        made = (
            await client("POST", SUBMIT, {"template_id": "recipe", "schedule": "0 6 * * 1"})
        ).json
        listed = (await client("GET", f"/v1/clusters/{LAB}/schedules")).json
        gone = await client("DELETE", f"/v1/clusters/{LAB}/schedules/{made['schedule_id']}")

        assert listed["schedules"][0]["last_job_id"] == made["job_id"]
        assert listed["schedules"][0]["next_at"] == made["next_at"]
        assert gone.status == 200
        assert (await client("GET", f"/v1/clusters/{LAB}/schedules")).json["total"] == 0

    run(story)


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"template_id": "nope"}, 404, "There is no template"),
        ({"template_id": 3}, 422, "template_id must be text"),
        ({"template_id": "recipe", "steps": []}, 422, "it is one of the two"),
        ({"steps": []}, 422, "a list of at least one"),
        ({"steps": [3]}, 422, "steps[0] must be an object"),
        ({"steps": [{"template_id": "recipe", "x": 1}]}, 422, "There is no field"),
        ({"template_id": "recipe", "parms": {}}, 422, "There is no field"),
        ({"template_id": "recipe", "params": []}, 422, "params must be an object"),
        ({"template_id": "recipe", "sbatch_override": {"uid": 0}}, 422, "--uid cannot be used"),
        ({"template_id": "recipe", "script": "#!/bin/sh"}, 422, "There is no field"),
        ({"template_id": "recipe", "memory": "much"}, 422, "memory"),
        ({"template_id": "recipe", "schedule": "often"}, 422, "A schedule has five fields"),
        ({"template_id": "recipe", "schedule": "* * * * *"}, 422, "the least is 5 min"),
    ],
)
def test_a_submission_that_cannot_be_says_what_is_wrong(
    body: dict[str, Any], status: int, said: str
) -> None:
    async def story() -> None:
        client = Client()

        answer = await client("POST", SUBMIT, body)

        assert answer.status == status, answer.body
        assert said in answer.json["detail"]
        assert client.world.slurm.requests == {}

    run(story)


def test_an_import_tells_file_line_and_reason_and_is_for_admins() -> None:
    async def story() -> None:
        client = Client()
        member = await token_of(client.plane, "bob", Role.MEMBER, workspace=OURS)
        broken = YAML.format(id="y").replace("ready: true", "ready: maybe")
        files = [
            {"name": "x.yaml", "text": YAML.format(id="x")},
            {"name": "deep/y.yaml", "text": broken},
        ]

        tried = (
            await client("POST", "/v1/templates/validate", {"files": files}, token=member)
        ).json
        denied = await client("POST", "/v1/templates/import", {"files": files}, token=member)
        assert (await client("GET", "/v1/templates/x")).status == 404
        done = (await client("POST", "/v1/templates/import", {"files": files})).json

        assert tried == done | {"unchanged": []}
        assert denied.status == 403
        assert (done["loaded"], done["templates"]) == (1, ["x"])
        assert done["refused"] == [
            {
                "file": "deep/y.yaml",
                "line": 9,
                "reason": 'ready must be true or false, not "maybe".',
                "hint": "",
                "flaws": [
                    {
                        "line": 9,
                        "reason": 'ready must be true or false, not "maybe".',
                        "hint": "",
                    }
                ],
            }
        ]
        assert (await client("GET", "/v1/templates/x", token=member)).json["source"] == OURS
        assert (await client("DELETE", "/v1/templates/x")).status == 200
        assert (await client("GET", "/v1/templates/x")).status == 404

    run(story)


def test_what_one_workspace_imports_is_not_anothers() -> None:
    async def story() -> None:
        client = Client()
        other = await token_of(client.plane, "eve", Role.OWNER, workspace="rival")
        files = [{"name": "x", "text": YAML.format(id="x")}]
        await client("POST", "/v1/templates/import", {"files": files})

        assert (await client("GET", "/v1/templates/x", token=other)).status == 404
        listed = (await client("GET", "/v1/templates", token=other)).json
        assert [each["id"] for each in listed["templates"]] == ["recipe"]
        assert (await client("POST", "/v1/templates/x/render", {}, token=other)).status == 404

    run(story)


def test_the_routes_have_names_that_a_palette_can_use() -> None:
    async def story() -> None:
        routes = (await Client()("GET", "/v1/api-routes")).json["routes"]

        names = [each["name"] for each in routes]
        assert len(names) == len(set(names))
        assert not {"api", "init", "watch_job"} & set(names)
        by_name = {each["name"]: each for each in routes}
        assert by_name["post_cluster_jobs_submit"] == {
            "name": "post_cluster_jobs_submit",
            "method": "POST",
            "path": "/v1/clusters/{cluster_id}/jobs/submit",
            "stream": False,
        }
        assert by_name["get_cluster_events_stream"]["stream"] is True

    run(story)


def test_an_automation_can_start_a_recipe() -> None:
    async def story() -> None:
        client = Client()

        made = await client(
            "POST",
            "/v1/automations",
            {
                "when": "job.completed",
                "do": [
                    {
                        "submit": {
                            "template": "recipe",
                            "options": {"params": {"word": "{{job.id}}"}},
                        }
                    }
                ],
            },
        )
        wrong = await client(
            "POST",
            "/v1/automations",
            {
                "when": "job.completed",
                "do": [{"submit": {"template": "recipe", "options": {"x": 1}}}],
            },
        )

        assert made.status == 201, made.body
        assert wrong.status == 422

    run(story)


def test_what_is_to_follow_can_be_said_of_one_job_and_not_of_a_workflow() -> None:
    async def story() -> None:
        client = Client(
            None,
            a_batch("b"),
            a_workflow("flow", {"step_id": "one", "template_id": "b"}),
        )
        then = [{"when": "failed", "do": {"retry": {}}}]

        made = await client("POST", SUBMIT, {"template_id": "b", "then": then})
        refused = await client("POST", SUBMIT, {"template_id": "flow", "then": then})

        assert made.status == 201, made.body
        [rule] = client.plane.automations.rules.bound(made.json["run_id"])
        assert rule.workspace == OURS
        assert refused.status == 422
        assert refused.json["at"] == "then"
        assert len(client.world.slurm.requests) == 1

    run(story)


def test_what_a_recipe_would_cost_is_asked_with_the_same_body() -> None:
    async def story() -> None:
        client = Client()

        answer = await client(
            "POST", f"/v1/clusters/{LAB}/jobs/estimate", {"template_id": "recipe"}
        )

        assert answer.status == 200, answer.body
        assert client.world.slurm.requests == {}

    run(story)
