"""No automation goes round in circles, at nobody's expense."""

import asyncio

from clusterra.control.automation import read
from clusterra.core.change import Change
from clusterra.core.events.catalogue import jobs as facts
from clusterra.core.events.event import Draft
from clusterra.core.jobs.job import JobState
from clusterra.ports import Store
from tests.automations import HOOK, Lab
from tests.builders import NOON
from tests.world import LAB

OOM = {"when": "job.out_of_memory", "do": [{"retry": {}}]}


# --- what keeps them from going round in circles


def test_a_rule_whose_job_triggers_itself_stops() -> None:
    async def story() -> None:
        lab = await Lab().open()
        script = "#!/bin/sh\ntrue\n"
        await lab.rule({"when": "job.completed", "do": {"submit": {"script": script}}, "most": 3})
        await lab.ends(await lab.submits(), JobState.COMPLETED)
        for _ in range(10):
            waiting = [job.id for job in lab.jobs() if not job.state.ended]
            for id in waiting:
                await lab.ends(id, JobState.COMPLETED)

        assert len(lab.jobs()) == 4
        assert (await lab.said())[-1]["type"] == "automation.stopped"

    asyncio.run(story())


def test_no_chain_is_longer_than_eight_whatever_the_rules_say() -> None:
    async def story() -> None:
        lab = await Lab().open()
        for name in ("one", "two"):
            # Each answers what the other makes.
            other = "two" if name == "one" else "one"
            await lab.rule(
                {
                    "when": {"types": ["job.completed"], "names": [name]},
                    "do": {"submit": {"script": "#!/bin/sh\n", "options": {"name": other}}},
                    "most": 100,
                }
            )
        await lab.ends(await lab.submits(name="one"), JobState.COMPLETED)
        for _ in range(12):
            for id in [job.id for job in lab.jobs() if not job.state.ended]:
                await lab.ends(id, JobState.COMPLETED)

        assert len(lab.jobs()) == 9
        assert "no chain may be longer" in (await lab.said())[-1]["why"]

    asyncio.run(story())


def test_automations_that_answer_automations_do_not_answer_each_other_for_ever() -> None:
    async def story() -> None:
        lab = await Lab().open()
        await lab.hook(owner="eva")
        for _ in range(2):
            await lab.rule({"when": "automation.*", "do": {"notify": HOOK}}, owner="eva")
        await lab.rule({"when": "job.failed", "do": {"notify": HOOK}}, owner="eva")
        await lab.ends(await lab.submits(), JobState.FAILED)
        await lab.round(times=20)

        # The failure, and what was done about it, by each of the two. Nobody tells of the telling.
        assert len(lab.told) == 3

    asyncio.run(story())


def test_what_is_told_of_two_jobs_is_answered_once() -> None:
    async def story() -> None:
        lab = await Lab().open()
        await lab.hook()
        await lab.rule({"when": "job.out_of_memory", "do": [{"retry": {}}]})
        await lab.rule({"when": "automation.fired", "do": {"notify": HOOK}})
        await lab.ends(await lab.submits(), JobState.OUT_OF_MEMORY)

        assert len([each for each in await lab.said() if each["action"] == "retry"]) == 2
        assert len(lab.told) == 1

    asyncio.run(story())


def test_more_than_so_many_an_hour_are_left_alone_and_that_is_told_once() -> None:
    async def story() -> None:
        lab = await Lab().open()
        await lab.hook()
        await lab.rule({"when": "job.failed", "do": {"notify": HOOK}, "most_per_hour": 3})
        for _ in range(6):
            await lab.ends(await lab.submits(), JobState.FAILED)
        assert len(lab.told) == 3
        stopped = [each for each in await lab.said() if each["type"] == "automation.stopped"]
        assert len(stopped) == 1
        assert "3 times within an hour" in stopped[0]["why"]

        await lab.later(hours=1)
        await lab.ends(await lab.submits(), JobState.FAILED)
        assert len(lab.told) == 4

    asyncio.run(story())


# --- many at once


def test_ten_thousand_events_at_once_are_read_by_the_page_and_answered_a_few_at_a_time(
    store: Store,
) -> None:
    many = 10_000

    async def story() -> None:
        lab = await Lab(store).open()
        await lab.hook()
        await lab.rule({"when": "job.failed", "do": {"notify": HOOK}, "most_per_hour": 1_000})
        await lab.round()
        drafts = [
            Draft(
                id=f"e{n}",
                fact=facts.JobFailed(job_id=n, user="ana", name="align", state="FAILED"),
                at=NOON,
                actor="system:slurm",
                subject=f"job/{n}",
                correlation=f"job/{n}/0",
            )
            for n in range(many)
        ]
        await store.commit(LAB, Change(events=drafts))
        rounds = 0
        while await lab.reader.read():
            rounds += 1
        assert many / read.PAGE <= rounds <= many / read.PAGE + 5
        while await lab.actor.act():
            pass

        assert len(lab.told) == 1_000
        said = await lab.said()
        assert len(said) == 1_001
        assert said[0]["type"] == "automation.stopped"

    asyncio.run(story())
