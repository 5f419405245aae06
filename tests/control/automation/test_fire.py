"""An automation does once what it is there for, in its owner's name, and says so."""

import asyncio
import json
from datetime import timedelta
from typing import Any

from clusterra.core.access import Role
from clusterra.core.automation.guard import HOURLY, LINEAGE
from clusterra.core.change import Change
from clusterra.core.events.catalogue import people as facts
from clusterra.core.events.event import Draft, EventQuery
from clusterra.core.jobs.job import JobState
from clusterra.core.people.person import ledger_of
from tests.automations import HOOK, Lab
from tests.builders import NOON
from tests.people import SOMEBODY
from tests.world import LAB

OOM = {"when": "job.out_of_memory", "do": [{"retry": {}}]}


# --- submitting


def test_a_finished_job_starts_the_next_with_values_of_the_event() -> None:
    async def story() -> None:
        lab = await Lab().open()
        given: list[Any] = []
        take = lab.world.slurm.submit

        async def noted(request: Any, *, user: str) -> Any:
            given.append((request, user))
            return await take(request, user=user)

        lab.world.slurm.submit = noted  # type: ignore[method-assign]
        await lab.rule(
            {
                "when": {"types": ["job.completed"], "names": ["align"]},
                "do": {
                    "submit": {
                        "script": "#!/bin/sh\n./report --job {{job.id}} --of {{ cluster }}\n",
                        "options": {"name": "report-{{job.name}}", "env": {"S": "{{job.state}}"}},
                    }
                },
            }
        )
        first = await lab.submits()
        await lab.ends(first, JobState.COMPLETED)

        request, user = given[-1]
        assert user == "ana"
        assert request.script == f"#!/bin/sh\n./report --job {first} --of {LAB}\n"
        assert request.properties["name"] == "report-align"
        environment = request.properties["environment"]
        assert "S=COMPLETED" in environment
        assert f"CLUSTERRA_CAUSE_JOB_ID={first}" in environment
        assert "CLUSTERRA_CAUSE_JOB_NAME=align" in environment
        assert "CLUSTERRA_CAUSE_EVENT_TYPE=job.completed" in environment

        # What it made completes as well, under another name, and is nobody's business.
        await lab.ends(lab.jobs()[-1].id, JobState.COMPLETED)
        assert len(lab.jobs()) == 2

    asyncio.run(story())


def test_a_name_that_is_a_command_is_refused_in_a_script_and_given_in_the_environment() -> None:
    async def story() -> None:
        lab = await Lab().open()
        script = "#!/bin/sh\necho {{job.name}}\n"
        await lab.rule({"when": "job.completed", "do": {"submit": {"script": script}}})
        await lab.ends(await lab.submits(name="$(touch /tmp/owned)"), JobState.COMPLETED)

        (refused,) = await lab.said()
        assert refused["code"] == "unsafe-value"
        assert len(lab.jobs()) == 1

    asyncio.run(story())


def test_a_template_that_does_not_exist_is_refused_by_its_name() -> None:
    async def story() -> None:
        lab = await Lab().open()
        await lab.rule({"when": "job.completed", "do": {"submit": {"template": "nightly"}}})
        await lab.ends(await lab.submits(), JobState.COMPLETED)

        (refused,) = await lab.said()
        assert refused["code"] == "unknown-template"
        assert refused["why"] == 'There is no template "nightly".'

    asyncio.run(story())


# --- telling


def test_a_webhook_is_told_of_the_event_itself() -> None:
    async def story() -> None:
        lab = await Lab().open()
        await lab.hook()
        when = {"types": ["job.failed"], "names": ["align-*"]}
        await lab.rule({"when": when, "do": [{"notify": HOOK}, {"call": HOOK}]})
        await lab.ends(await lab.submits(name="other"), JobState.FAILED)
        await lab.ends(await lab.submits(name="align-7"), JobState.FAILED)

        assert [(to, event.type) for to, event in lab.told] == [(HOOK, "job.failed")] * 2
        assert json.loads(lab.told[0][1].body)["data"]["name"] == "align-7"
        assert {each["action"] for each in await lab.said()} == {"notify", "call"}

    asyncio.run(story())


def test_telling_is_not_counted_so_that_the_second_failure_is_told_too() -> None:
    async def story() -> None:
        lab = await Lab().open()
        await lab.hook()
        await lab.rule({"when": "job.failed", "do": {"notify": HOOK}})
        id = await lab.submits()
        await lab.ends(id, JobState.FAILED)
        await lab.world.slurm.requeue(id, user="ana")
        await lab.world.observer.look()
        await lab.ends(id, JobState.FAILED)

        assert len(lab.told) == 2

    asyncio.run(story())


def test_somebody_elses_webhook_is_not_told() -> None:
    async def story() -> None:
        lab = await Lab().open()
        await lab.hook(owner="ben")
        await lab.rule({"when": "job.failed", "do": {"notify": HOOK}})
        await lab.ends(await lab.submits(), JobState.FAILED)

        assert lab.told == []
        assert (await lab.said())[0]["code"] == "foreign-webhook"

    asyncio.run(story())


# --- whose rights


def test_a_members_rule_acts_on_their_own_jobs_and_an_admins_on_everybodys() -> None:
    async def story() -> None:
        lab = await Lab().open()
        await lab.rule(OOM, owner="ana")
        await lab.ends(await lab.submits(user="ben"), JobState.OUT_OF_MEMORY)
        assert len(lab.jobs()) == 1
        assert await lab.said() == []

        await lab.rule(OOM, owner="eva")
        await lab.ends(await lab.submits(user="ben"), JobState.OUT_OF_MEMORY)
        # What ben wrote does not run as eva.
        assert lab.jobs()[-1].user == "ben"
        assert (await lab.said())[0]["actor"] == "user:eva@lab.example"

    asyncio.run(story())


def test_a_rule_of_somebody_who_is_gone_is_refused() -> None:
    async def story() -> None:
        lab = await Lab().open()
        await lab.rule(OOM)
        id = await lab.submits()
        await lab.plane.people.roster.remove(lab.workspace, lab.people["ana"].id, by=SOMEBODY)
        await lab.ends(id, JobState.OUT_OF_MEMORY)

        (refused,) = await lab.said()
        assert (refused["type"], refused["code"]) == ("automation.refused", "owner-gone")
        assert len(lab.jobs()) == 1

    asyncio.run(story())


def test_a_rule_of_somebody_who_may_only_look_is_refused() -> None:
    async def story() -> None:
        lab = await Lab().open()
        await lab.rule(OOM)
        id = await lab.submits()
        await lab.plane.people.roster.change_role(
            lab.workspace, lab.people["ana"].id, Role.VIEWER, by=SOMEBODY
        )
        await lab.ends(id, JobState.OUT_OF_MEMORY)

        assert (await lab.said())[0]["code"] == "role"

    asyncio.run(story())


# --- what belongs to the workspace


def test_what_happens_in_the_workspace_is_answered_too() -> None:
    async def story() -> None:
        lab = await Lab().open()
        await lab.hook(owner="eva")
        await lab.rule({"when": "user.quota.*", "do": {"notify": HOOK}}, owner="eva")
        ledger = ledger_of(lab.workspace)
        reader, actor = lab.hands(ledger)
        fact = facts.UserQuotaExceeded(
            user="ana@lab.example", used="2", limit="1", currency="USD", period="2026-03"
        )
        draft = Draft(id="e1", fact=fact, at=NOON, actor="system:quota", subject="user/ana")
        await lab.world.store.commit(ledger, Change(events=[draft]))
        while await reader.read() or await actor.act():
            pass

        assert [event.id for _, event in lab.told] == ["e1"]

    asyncio.run(story())


def test_old_things_are_let_go_of() -> None:
    async def story() -> None:
        lab = await Lab().open()
        rule = await lab.rule(OOM)
        await lab.ends(await lab.submits(), JobState.OUT_OF_MEMORY)
        assert len(await lab.plane.automations.firings(rule, 10)) == 1
        lab.world.clock.advance(timedelta(days=31))
        assert not await lab.plane.automations.tidy()
        assert await lab.plane.automations.firings(rule, 10) == []
        assert await lab.world.store.list(LINEAGE) == []
        assert await lab.world.store.list(HOURLY) == []
        assert await lab.world.store.events(LAB, EventQuery(types=("automation.*",)))

    asyncio.run(story())
