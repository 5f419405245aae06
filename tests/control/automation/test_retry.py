"""An automation submits a job again, with more of what it ran out of."""

import asyncio
from dataclasses import replace

from clusterra.core.jobs.job import JobState
from clusterra.ports import Store
from tests.automations import Lab

OOM = {"when": "job.out_of_memory", "do": [{"retry": {}}]}


def memory_of(lab: Lab, id: int) -> int:
    return lab.world.slurm._past[id].memory_mib


def test_a_job_out_of_memory_is_retried_once_with_half_as_much_again_and_then_left(
    store: Store,
) -> None:
    async def story() -> None:
        lab = await Lab(store).open()
        rule = await lab.rule(OOM)
        first = await lab.submits()

        await lab.ends(first, JobState.OUT_OF_MEMORY)

        second = lab.jobs()[-1]
        assert len(lab.jobs()) == 2
        assert second.user == "ana"
        assert (memory_of(lab, first), second.memory_mib) == (1024, 1536)
        fired, made = await lab.said()
        assert fired["type"] == made["type"] == "automation.fired"
        assert (fired["subject"], made["subject"]) == (f"job/{first}", f"job/{second.id}")
        assert fired["id"] == rule.id
        assert fired["action"] == "retry"
        assert fired["cause_type"] == "job.out_of_memory"
        assert fired["job_id"] == first
        assert (fired["made_job_id"], fired["made_run_id"]) == (second.id, second.run_id)
        assert fired["changed"] == ["memory: 1 GiB → 1.5 GiB"]
        assert fired["actor"] == "user:ana@lab.example"
        assert made == fired | {"subject": f"job/{second.id}"}

        await lab.ends(second.id, JobState.OUT_OF_MEMORY)

        assert len(lab.jobs()) == 2
        last = (await lab.said())[-1]
        assert last["type"] == "automation.stopped"
        assert last["subject"] == f"job/{second.id}"
        assert last["why"] == "it has acted 1 time for this job already, and that is its most"

    asyncio.run(story())


def test_a_rule_may_retry_more_often_and_each_time_with_more() -> None:
    async def story() -> None:
        lab = await Lab().open()
        await lab.rule(OOM | {"most": 3})
        id = await lab.submits()
        for _ in range(5):
            await lab.ends(id, JobState.OUT_OF_MEMORY)
            if lab.jobs()[-1].id == id:
                break
            id = lab.jobs()[-1].id

        assert [job.memory_mib for job in lab.jobs()] == [1024, 1536, 2304, 3456]
        assert (await lab.said())[-1]["type"] == "automation.stopped"

    asyncio.run(story())


def test_a_job_that_took_too_long_gets_twice_the_time_and_a_lost_node_changes_nothing() -> None:
    async def story() -> None:
        lab = await Lab().open()
        await lab.rule({"when": ["job.timeout", "job.node_fail"], "do": {"retry": {}}})
        slow, unlucky = await lab.submits(), await lab.submits()

        await lab.ends(slow, JobState.TIMEOUT)
        await lab.ends(unlucky, JobState.NODE_FAIL)

        third, fourth = lab.jobs()[2:]
        assert (third.time_limit_minutes, third.memory_mib) == (120, 1024)
        assert (fourth.time_limit_minutes, fourth.memory_mib) == (60, 1024)
        changes = [each["changed"] for each in await lab.said()]
        assert changes == [["time limit: 1 h → 2 h"]] * 2 + [[]] * 2

    asyncio.run(story())


def test_a_plain_failure_is_retried_only_where_the_rule_says_so() -> None:
    async def story() -> None:
        lab = await Lab().open()
        await lab.rule({"when": ["job.failed", "job.out_of_memory"], "do": {"retry": {}}})
        plain = await lab.submits()
        await lab.ends(plain, JobState.FAILED, exit_code=1)
        assert len(lab.jobs()) == 1
        assert await lab.said() == []

        await lab.rule({"when": "job.failed", "do": {"retry": {"plain": True}}})
        other = await lab.submits()
        await lab.ends(other, JobState.FAILED, exit_code=1)
        assert len(lab.jobs()) == 3
        assert (await lab.said())[0]["changed"] == []

    asyncio.run(story())


def test_a_job_that_may_have_no_more_is_not_run_into_the_same_wall() -> None:
    async def story() -> None:
        lab = await Lab().open()
        await lab.rule(OOM | {"do": {"retry": {"most_memory": "1G"}}})
        await lab.ends(await lab.submits(), JobState.OUT_OF_MEMORY)

        (refused,) = await lab.said()
        assert (refused["type"], refused["code"]) == ("automation.refused", "at-its-most")
        assert len(lab.jobs()) == 1

    asyncio.run(story())


def test_a_job_submitted_past_us_cannot_be_retried_and_can_be_requeued() -> None:
    async def story() -> None:
        lab = await Lab().open()
        await lab.rule(OOM)
        await lab.rule({"when": "job.node_fail", "do": {"requeue": {}}})
        first = await lab.world.submitted_past_us()
        await lab.world.observer.look()
        await lab.ends(first, JobState.OUT_OF_MEMORY)
        (refused,) = await lab.said()
        assert refused["code"] == "request-not-kept"
        assert "submitted past Clusterra" in refused["why"]

        second = await lab.world.submitted_past_us()
        await lab.world.observer.look()
        await lab.ends(second, JobState.NODE_FAIL)
        fired = (await lab.said())[-1]
        assert (fired["type"], fired["action"]) == ("automation.fired", "requeue")
        assert fired["made_job_id"] is None
        job = lab.world.slurm._past[second]
        assert (job.state, job.restarts) == (JobState.PENDING, 1)

        await lab.ends(second, JobState.NODE_FAIL)
        assert (await lab.said())[-1]["type"] == "automation.stopped"
        assert lab.world.slurm._past[second].restarts == 1

    asyncio.run(story())


def test_each_task_of_an_array_is_a_job_of_its_own() -> None:
    async def story() -> None:
        lab = await Lab().open()
        await lab.rule(OOM)
        first = await lab.submits(array="1-2")
        slurm = lab.world.slurm
        # Slurm in memory makes no tasks of an array: these are as Slurm shows them.
        job = slurm._live[first]
        for task in (1, 2):
            id = first + task
            slurm._live[id] = slurm._past[id] = replace(
                job, id=id, array_id=first, array_task=task, array_waiting=""
            )
        await lab.world.observer.look()
        for task in (1, 2):
            await lab.ends(first + task, JobState.OUT_OF_MEMORY)

        fired = [each for each in await lab.said() if each["type"] == "automation.fired"]
        assert {each["job_id"] for each in fired} == {first + 1, first + 2}
        assert [each["changed"] for each in fired][::2] == [
            ["memory: 1 GiB → 1.5 GiB", "array: 1-2 → 1"],
            ["memory: 1 GiB → 1.5 GiB", "array: 1-2 → 2"],
        ]

    asyncio.run(story())
