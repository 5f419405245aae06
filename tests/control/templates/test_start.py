"""Jobs from recipes: alone, as workflows, on a schedule."""

import asyncio
import json
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any

import pytest

from clusterra.control.plane import Plane
from clusterra.control.templates.start import Started
from clusterra.core.access import Caller, Role
from clusterra.core.clusters import Partition
from clusterra.core.errors import ClusterraError, Conflict, Invalid, NotFound, Unanswered
from clusterra.core.jobs.artifacts import DECLARED, Declared
from clusterra.core.jobs.comment import Mark, read
from clusterra.core.jobs.job import JobState
from clusterra.core.seen import Seen
from clusterra.core.templates.launch import launch_from
from clusterra.core.templates.read import SourceFile
from clusterra.core.templates.schedule import Schedule
from clusterra.core.templates.workflow import WORKFLOW
from clusterra.ports import Store
from tests.builders import NOON
from tests.people import SOMEBODY, somebody
from tests.recipes import a_batch, a_workflow
from tests.world import LAB, World

ANA = Caller(user="ana", email="ana@lab.example")

ALIGN = a_batch(
    "align",
    parameters=[{"key": "word", "widget": "text", "default": "x"}],
    outputs={
        "dir": "/out/{{.ctx.run_id}}",
        "artifacts": [{"key": "bam", "path": "{{.outputs.dir}}/a.bam", "role": "primary_output"}],
    },
    script="#!/bin/bash\necho {{.params.word | quote}} > {{.outputs.bam | quote}}\n",
)
REPORT = a_batch("report")
THREE = a_workflow(
    "three",
    {"step_id": "first", "template_id": "align"},
    {
        "step_id": "second",
        "template_id": "align",
        "depends_on": ["first"],
        "param_overrides": {"word": "{{.ctx.user_email}}"},
    },
    {"step_id": "last", "template_id": "report", "depends_on": ["first", "second"]},
)


class Kitchen:
    """A plane with recipes."""

    def __init__(self, store: Store | None = None, *documents: dict[str, Any]) -> None:
        self.world = World(store) if store else World()
        self.plane: Plane = self.world.plane()
        # JSON is YAML.
        files = [
            SourceFile(name=each["id"], text=json.dumps(each))
            for each in documents or (ALIGN, REPORT, THREE)
        ]
        assert not self.plane.catalogue.stock(files, "clusterra").refused

    async def start(self, key: str = "", **body: Any) -> Started:
        started = await self.plane.starter.start(
            self.plane.submitters[LAB], launch_from(body), ANA, body=b"{}", key=key
        )
        await self.plane.submitters[LAB].settle()
        return started

    def asked(self, job_id: int) -> dict[str, Any]:
        return self.world.slurm.requests[job_id].properties

    def script(self, job_id: int) -> str:
        return self.world.slurm.requests[job_id].script


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(story)


def test_one_job_carries_its_recipe_and_declares_what_it_leaves(store: Store) -> None:
    async def story() -> None:
        kitchen = Kitchen(store)

        started = await kitchen.start(template_id="align", params={"word": "$(x)"}, memory="1G")

        made = started.steps[0].submitted.submission
        job = kitchen.asked(made.job_id)
        assert job["name"] == "align"
        assert job["memory_per_node"]["number"] == 1024
        assert read(job["comment"]) == Mark(run_id=made.run_id, template="align")
        assert 'echo "\\$(x)" >' in kitchen.script(made.job_id)
        none = Declared(user="", email="", artifacts=())
        declared = (await store.get(DECLARED, made.run_id, none)).value
        assert [each.path for each in declared.artifacts] == [f"/out/{made.run_id}/a.bam"]
        assert (declared.user, declared.email) == ("ana", "ana@lab.example")

    run(story())


def test_a_workflow_is_jobs_that_wait_for_each_other(store: Store) -> None:
    async def story() -> None:
        kitchen = Kitchen(store)

        started = await kitchen.start(template_id="three")

        flow = started.workflow
        assert flow is not None
        first, second, last = (each.submitted.submission for each in started.steps)
        assert "dependency" not in kitchen.asked(first.job_id)
        assert kitchen.asked(second.job_id)["dependency"] == f"afterok:{first.job_id}"
        assert kitchen.asked(last.job_id)["dependency"] == (
            f"afterok:{first.job_id}:{second.job_id}"
        )
        assert "KILL_INVALID_DEPENDENCY" in str(kitchen.asked(last.job_id))
        env = dict(each.split("=", 1) for each in kitchen.asked(second.job_id)["environment"])
        whole = f"/home/ana/{flow.id}"
        assert env["WORKFLOW_DIR"] == whole == flow.directory
        assert env["PREV_STEP_OUT_DIR"] == f"{whole}/step-first"
        script = kitchen.script(second.job_id)
        assert (
            f'mkdir -p "{whole}/step-second" && ln -sfn step-second "{whole}/step-2-second"'
            in script
        )
        assert 'echo "ana@lab.example"' in script
        mark = read(kitchen.asked(last.job_id)["comment"])
        assert (mark.chain, mark.step, mark.template) == (flow.id, "last", "report")
        assert len(await store.list(WORKFLOW, f"{LAB}/{flow.id}")) == 1

    run(story())


def test_the_same_key_makes_the_same_workflow(store: Store) -> None:
    async def story() -> None:
        kitchen = Kitchen(store)

        once = await kitchen.start(key="k", template_id="three")
        again = await kitchen.start(key="k", template_id="three")

        assert [each.submitted.submission.job_id for each in once.steps] == [
            each.submitted.submission.job_id for each in again.steps
        ]
        assert all(each.submitted.repeated for each in again.steps)

    run(story())


def test_nothing_is_submitted_of_a_workflow_with_a_step_that_cannot_be() -> None:
    async def story() -> None:
        kitchen = Kitchen(
            None,
            ALIGN,
            a_batch("needs", parameters=[{"key": "x", "widget": "text", "required": True}]),
        )

        with pytest.raises(Invalid) as error:
            await kitchen.start(
                steps=[
                    {"step_id": "first", "template_id": "align"},
                    {"step_id": "second", "template_id": "needs", "depends_on": ["first"]},
                ]
            )

        assert error.value.detail == "Step second: params.x is required, and has no value."
        assert error.value.at == "steps.second.params.x"
        assert kitchen.world.slurm.requests == {}

    run(story())


def test_what_was_submitted_is_cancelled_if_slurm_refuses_a_later_step() -> None:
    async def story() -> None:
        kitchen = Kitchen()
        kitchen.world.slurm.refuses_after = 1

        with pytest.raises(ClusterraError) as error:
            await kitchen.start(template_id="three")

        assert error.value.detail == (
            "Step second: Slurm takes no more jobs. The steps before it (first) were cancelled."
        )
        [job] = [each async for each in kitchen.world.slurm.all_jobs()]
        assert job.state is JobState.CANCELLED

    run(story())


def test_a_workflow_that_was_refused_is_begun_anew_by_the_same_key(store: Store) -> None:
    async def story() -> None:
        kitchen = Kitchen(store)
        kitchen.world.slurm.refuses_after = 1
        with pytest.raises(ClusterraError):
            await kitchen.start(key="k", template_id="three")

        kitchen.world.slurm.refuses_after = None
        started = await kitchen.start(key="k", template_id="three")

        made = [each.submitted.submission.job_id for each in started.steps]
        assert made == [2, 3, 4]
        assert [kitchen.asked(each).get("dependency") for each in made] == [
            *(None, "afterok:2", "afterok:2:3"),
        ]

    run(story())


def test_a_workflow_whose_answer_was_lost_goes_on_where_it_was(store: Store) -> None:
    async def story() -> None:
        kitchen = Kitchen(store)
        kitchen.world.slurm.loses_answers = True
        with pytest.raises(Unanswered):
            await kitchen.start(key="k", template_id="three")
        await kitchen.world.observer.look()

        kitchen.world.slurm.loses_answers = False
        started = await kitchen.start(key="k", template_id="three")

        assert [each.submitted.submission.job_id for each in started.steps] == [1, 2, 3]
        jobs = [each async for each in kitchen.world.slurm.all_jobs()]
        assert {each.state for each in jobs} == {JobState.PENDING}

    run(story())


def test_what_all_jobs_of_a_workflow_wait_for_is_for_its_first_ones() -> None:
    async def story() -> None:
        kitchen = Kitchen()

        started = await kitchen.start(template_id="three", dependency="afterany:77")

        first, second, _ = (each.submitted.submission.job_id for each in started.steps)
        assert kitchen.asked(first)["dependency"] == "afterany:77"
        assert kitchen.asked(second)["dependency"] == f"afterok:{first}"

    run(story())


@pytest.mark.parametrize(
    ("steps", "code"),
    [
        ([("a", ["b"]), ("b", ["a"])], "workflow-cycle"),
        ([("a", ["a"])], "workflow-cycle"),
        ([("a", ["z"])], "workflow-unknown-step"),
        ([("a", []), ("a", [])], "workflow-step-twice"),
        ([(f"s{n}", []) for n in range(201)], "workflow-too-large"),
    ],
)
def test_steps_that_cannot_be_put_in_order_are_refused(
    steps: list[tuple[str, list[str]]], code: str
) -> None:
    async def story() -> None:
        with pytest.raises(Invalid) as error:
            await Kitchen().start(
                steps=[
                    {"step_id": id, "template_id": "align", "depends_on": after}
                    for id, after in steps
                ]
            )
        assert error.value.code == code

    run(story())


def test_a_preset_is_its_parent_with_values() -> None:
    parent = a_batch(
        "nextflow-pipeline",
        runtime={"kind": "nextflow", "pipeline_repo": "a", "revision": "b", "nxf_version": "1"},
        parameters=[
            {"key": "pipeline_repo", "widget": "text"},
            {"key": "profile", "widget": "text"},
        ],
        script="#!/bin/bash\nnextflow {{.params.pipeline_repo | quote}} {{.params.profile | quote}}\n",
    )
    preset = {
        **{
            key: value
            for key, value in a_batch("sarek").items()
            if key
            in (
                "id",
                "name",
                "description",
                "vertical",
                "category",
                "workload_group",
                "modality",
                "tools",
                "ready",
            )
        },
        "kind": "preset",
        "tier": "validated",
        "pipeline_repo": "nf-core/sarek",
        "parameters": [
            {"key": "pipeline_repo", "widget": "text", "default": "nf-core/sarek"},
            {"key": "profile", "widget": "text", "default": "test"},
        ],
    }

    async def story() -> None:
        kitchen = Kitchen(None, parent, preset)

        started = await kitchen.start(template_id="sarek", params={"profile": "mine"})

        job_id = started.steps[0].submitted.submission.job_id
        assert 'nextflow "nf-core/sarek" "mine"' in kitchen.script(job_id)
        assert read(kitchen.asked(job_id)["comment"]).template == "sarek"

    run(story())


def test_a_queue_that_is_not_here_is_another_and_that_is_said() -> None:
    async def story() -> None:
        kitchen = Kitchen(None, a_batch("gpu", sbatch="#SBATCH --partition=interactive\n"))
        kitchen.world.site.sky.partitions = Seen(
            (Partition(name="main", state="UP", default=True),), NOON
        )

        started = await kitchen.start(template_id="gpu")

        job = kitchen.asked(started.steps[0].submitted.submission.job_id)
        assert job["partition"] == "main"
        assert "which lab does not have; the job goes to main" in started.remarks[0]

    run(story())


def test_what_is_not_there_or_not_ready_is_not_submitted() -> None:
    async def story() -> None:
        kitchen = Kitchen(None, ALIGN, a_batch("draft", ready=False))

        with pytest.raises(NotFound, match='no template "alig"') as unknown:
            await kitchen.start(template_id="alig")
        assert unknown.value.hint == "Did you mean align?"
        with pytest.raises(Conflict, match="not ready"):
            await kitchen.start(template_id="draft")

    run(story())


def test_an_interactive_recipe_has_the_size_of_its_profile() -> None:
    session = {
        **{key: value for key, value in a_batch("notebook").items() if key != "outputs"},
        "kind": "interactive",
        "routing": {"path_prefix": "/x", "port_param": "port"},
        "parameters": [
            {
                "key": "profile",
                "widget": "enum",
                "options": ["cpu-small", "cpu-large"],
                "default": "cpu-small",
            }
        ],
    }

    async def story() -> None:
        kitchen = Kitchen(None, session)

        small = await kitchen.start(template_id="notebook")
        large = await kitchen.start(
            template_id="notebook", params={"profile": "cpu-large", "time_limit": "90"}
        )

        asked = kitchen.asked(large.steps[0].submitted.submission.job_id)
        assert (asked["cpus_per_task"], asked["memory_per_node"]["number"]) == (8, 32768)
        assert asked["time_limit"]["number"] == 90
        # Its own options are the size of its default.
        asked = kitchen.asked(small.steps[0].submitted.submission.job_id)
        assert asked["memory_per_node"]["number"] == 100
        with pytest.raises(Invalid, match='no profile "huge"'):
            await kitchen.start(template_id="notebook", params={"profile": "huge"})

    run(story())


async def scheduled(kitchen: Kitchen) -> Schedule:
    owner = await somebody(kitchen.plane, "eva", Role.MEMBER)
    started = await kitchen.start(template_id="align")
    return await kitchen.plane.schedules.make(
        cluster=LAB,
        workspace=kitchen.plane.people.home,
        owner=owner.id,
        operator=False,
        user="eva",
        template_id="align",
        schedule="0 * * * *",
        body={"template_id": "align", "schedule": "0 * * * *"},
        first=started.steps[0].submitted.submission,
    )


def test_what_is_due_is_started_once_in_its_owners_name(store: Store) -> None:
    async def story() -> None:
        kitchen = Kitchen(store)
        made = await scheduled(kitchen)
        schedules, clock = kitchen.plane.schedules, kitchen.world.clock

        assert made.next_at == NOON + timedelta(hours=1)
        assert not await schedules.start_due()
        clock.advance(timedelta(hours=1))
        assert await schedules.start_due()
        assert not await schedules.start_due()
        await kitchen.plane.submitters[LAB].settle()

        [now] = await schedules.of(LAB)
        assert now.last_problem == ""
        assert now.next_at == NOON + timedelta(hours=2)
        assert len(kitchen.world.slurm.requests) == 2
        job = await kitchen.world.slurm.job(now.last_job_id)
        assert job[0].user == "eva"

    run(story())


def test_a_time_that_finds_the_last_job_still_there_is_left_out(store: Store) -> None:
    async def story() -> None:
        kitchen = Kitchen(store)
        await scheduled(kitchen)
        await kitchen.world.observer.look()

        kitchen.world.clock.advance(timedelta(hours=1))
        await kitchen.plane.schedules.start_due()

        [now] = await kitchen.plane.schedules.of(LAB)
        assert now.last_problem == "Job 1, of the time before, had not ended."
        assert len(kitchen.world.slurm.requests) == 1

    run(story())


def test_times_that_nobody_was_there_for_are_made_good_once(store: Store) -> None:
    async def story() -> None:
        kitchen = Kitchen(store)
        await scheduled(kitchen)

        kitchen.world.clock.advance(timedelta(hours=30))
        await kitchen.plane.schedules.start_due()
        await kitchen.plane.schedules.start_due()

        assert len(kitchen.world.slurm.requests) == 2

    run(story())


def test_a_schedule_whose_owner_has_left_starts_nothing(store: Store) -> None:
    async def story() -> None:
        kitchen = Kitchen(store)
        made = await scheduled(kitchen)
        people = kitchen.plane.people
        await people.roster.remove(people.home, made.owner, by=SOMEBODY)
        kitchen.world.clock.advance(timedelta(hours=1))
        await kitchen.plane.schedules.start_due()

        [now] = await kitchen.plane.schedules.of(LAB)
        assert "no longer in" in now.last_problem

    run(story())
