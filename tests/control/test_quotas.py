"""Quotas before a job is taken, and what admins set: who is let in, who is not, and what is told."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from clusterra.adapters.memory import MemoryStore
from clusterra.control.cost.usage import total
from clusterra.control.submit import Submitted
from clusterra.core.access import Caller
from clusterra.core.cost.admission import QuotaExceeded
from clusterra.core.cost.books import Spending as Question
from clusterra.core.cost.books import Spent
from clusterra.core.cost.quota import QUOTAS, WORKSPACE, Mode, Quotas
from clusterra.core.cost.quota_edit import EVERYBODY, QuotaEdit
from clusterra.core.errors import Refused
from clusterra.core.jobs import comment
from clusterra.core.jobs.request import JobRequest
from clusterra.core.money import MICROS
from clusterra.ports import Login, Store
from tests.people import SOMEBODY
from tests.quotas import ANA, Spending
from tests.world import LAB, World


async def submits(
    lab: Spending, *, user: str = "ana", cpus: int = 1, minutes: int | None = 60, **more: Any
) -> Submitted:
    """Submit a job of so many dollars per hour."""

    def compose(login: Login, run_id: str) -> JobRequest:
        asked: dict[str, Any] = {
            "current_working_directory": login.home,
            "comment": comment.stamp(comment.Mark(run_id=run_id)),
            "minimum_cpus": cpus,
        }
        asked["time_limit"] = {"infinite": True} if minutes is None else minutes
        return JobRequest(script="#!/bin/sh\n", properties=asked | more)

    made = lab.plane.submitters[LAB]
    done = await made.submit(compose, Caller(user=user), body=b"{}")
    await made.settle()
    return done


# --- before a job is taken


def test_a_job_within_the_limit_is_taken_and_one_beyond_is_not(store: Store) -> None:
    async def story() -> None:
        lab = await Spending(World(store)).open()
        await lab.limit(month=2, mode="block")

        assert (await submits(lab, cpus=2)).submission.warnings == ()
        with pytest.raises(QuotaExceeded) as caught:
            await submits(lab, cpus=1)

        assert caught.value.code == "quota-exceeded"
        assert caught.value.detail == (
            "This job would bring ana@lab.example to $3.00 this month; the limit is $2.00."
            " Spent so far: $0.00, waiting jobs $2.00, this job $1.00."
        )
        assert "`clusterra quota get`" in caught.value.hint
        assert lab.world.slurm.asked["submit"] == 1

    asyncio.run(story())


def test_what_was_spent_what_runs_and_what_waits_all_count() -> None:
    async def story() -> None:
        lab = await Spending().open()
        done = await lab.runs(cpus=1)
        await lab.later(hours=1)
        await lab.ends(done)
        await lab.runs(cpus=2)
        await lab.later(minutes=30)
        await submits(lab, cpus=3)
        await lab.look()
        await lab.limit(month=6, mode="block")

        with pytest.raises(QuotaExceeded) as caught:
            await submits(lab, cpus=1)

        assert caught.value.detail == (
            "This job would bring ana@lab.example to $7.00 this month; the limit is $6.00."
            " Spent so far: $1.00, running jobs have come to $1.00 and may add $1.00,"
            " waiting jobs $3.00, this job $1.00."
        )
        await lab.limit(month=7)
        await submits(lab, cpus=1)

    asyncio.run(story())


def test_of_jobs_submitted_at_once_only_as_many_are_taken_as_the_limit_allows() -> None:
    async def story() -> None:
        lab = await Spending().open()
        await lab.limit(month=3, mode="block")

        found = await asyncio.gather(
            *(submits(lab, cpus=1) for _ in range(10)), return_exceptions=True
        )

        assert sum(isinstance(each, Submitted) for each in found) == 3
        assert sum(isinstance(each, QuotaExceeded) for each in found) == 7

    asyncio.run(story())


def test_a_job_that_slurm_refused_takes_nothing_from_the_quota() -> None:
    async def story() -> None:
        lab = await Spending().open()
        await lab.limit(month=1, mode="block")
        lab.world.site.enrolled["ana"] = lab.world.clock.now() - timedelta(hours=1)
        lab.world.slurm.hears_after = 1

        with pytest.raises(Refused, match="may not run jobs here"):
            await submits(lab)

        await submits(lab)

    asyncio.run(story())


def test_a_warning_is_part_of_the_answer_and_the_job_is_taken() -> None:
    async def story() -> None:
        lab = await Spending().open()
        await lab.limit(EVERYBODY, month=0.5)

        done = await submits(lab)

        assert done.submission.warnings == (
            (
                "This job would bring ana@lab.example to $1.00 this month; the limit is $0.50."
                " Spent so far: $0.00, this job $1.00."
            ),
        )
        assert done.submission.job_id

    asyncio.run(story())


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"day": 0.5}, "$1.00 today; the limit is $0.50"),
        ({"job": 0.5}, "This job would cost $1.00; ana@lab.example may spend $0.50 on one job."),
        ({"burn": 0.5}, "would cost $1.00 per hour; the limit is $0.50"),
    ],
)
def test_every_kind_of_limit_keeps_jobs_out(limits: dict[str, Any], said: str) -> None:
    async def story() -> None:
        lab = await Spending().open()
        await lab.limit(mode="block", **limits)

        with pytest.raises(QuotaExceeded) as caught:
            await submits(lab)

        assert said in caught.value.detail

    asyncio.run(story())


def test_a_workspaces_quota_keeps_everybody_out() -> None:
    async def story() -> None:
        lab = await Spending().open()
        await lab.runs(user="ben", cpus=2)
        await lab.limit(WORKSPACE, month=2, mode="block")

        with pytest.raises(QuotaExceeded, match=r"bring the workspace to \$3\.00 this month"):
            await submits(lab)

    asyncio.run(story())


def test_a_job_of_unknown_price_is_taken_and_said_not_to_count() -> None:
    async def story() -> None:
        lab = Spending()
        await lab.world.observer.nodes.look()  # nobody has said what a CPU costs
        await lab.limit("ana", month=0, mode="block")

        done = await submits(lab)

        (said,) = done.submission.warnings
        assert said.startswith("It is not known what this job costs (")
        assert said.endswith("); no quota counts it.")

    asyncio.run(story())


class Watched(MemoryStore):
    """Counts what it is asked about money."""

    asked = 0

    async def spent(self, query: Question) -> list[Spent]:
        self.asked += 1
        return [*await super().spent(query)]


def test_where_nobody_is_limited_nothing_is_asked_of_the_books() -> None:
    async def story() -> None:
        store = Watched()
        lab = await Spending(World(store)).open()
        await submits(lab)
        assert store.asked == 0

        await lab.limit("ben@lab.example", month=1, mode="block")
        await submits(lab)
        assert store.asked == 0

        await lab.limit(month=5, mode="observe")
        await submits(lab)
        assert store.asked == 0

    asyncio.run(story())


def test_a_standing_is_what_usage_says_was_spent() -> None:
    async def story() -> None:
        lab = await Spending().open()
        await lab.world.site.wasting.settle()
        await lab.ends(await lab.runs(cpus=3))
        await lab.runs(cpus=7, minutes=None)
        await lab.runs(user="ben", cpus=5, minutes=90_000)
        for days in (0, 1, 40):
            await lab.later(days=days, hours=13, minutes=7, seconds=11)
            for whose in (ANA, WORKSPACE):
                standing = await lab.plane.quotas.standing(lab.workspace, whose)
                for figures in (standing.month, standing.day):
                    spent = await total(
                        [lab.world.site],
                        figures.period,
                        person=whose or None,
                        store=lab.world.store,
                    )
                    assert (figures.booked, figures.pending) == (
                        spent.booked.micros,
                        spent.pending.micros,
                    )
                everybody = await lab.plane.quotas.standings(lab.workspace)
                assert everybody[whose] == standing

    asyncio.run(story())


# --- what admins set


def test_a_change_is_told_by_whoever_made_it_and_one_that_changes_nothing_is_not() -> None:
    async def story() -> None:
        lab = await Spending().open()
        changed = await lab.limit(month=300, mode="block")
        assert changed == (
            "month: no limit → $300.00",
            "mode: warn → block",
            "own: no, as everybody → yes",
        )
        assert await lab.limit(month=300) == ()

        (told,) = await lab.told_of_quotas("admin.quota.changed")
        assert (told["email"], told["actor"]) == (ANA, SOMEBODY.actor)
        assert tuple(told["changed"]) == changed

    asyncio.run(story())


def test_a_raise_is_told_with_its_reason_and_so_is_its_end() -> None:
    async def story() -> None:
        lab = await Spending().open()
        await lab.limit(EVERYBODY, month=10)
        until = lab.world.clock.now() + timedelta(days=7)
        for micros in (5 * MICROS, 0):
            await lab.plane.quotas.allow_more(
                lab.workspace, ANA, micros=micros, until=until, why="revision", by=SOMEBODY
            )

        more, over = await lab.told_of_quotas("admin.quota.raised")
        assert (more["email"], more["micros"], more["why"]) == (ANA, 5 * MICROS, "revision")
        assert more["until"] == "2026-03-09T12:00:00Z"
        assert (over["micros"], over["until"]) == (0, None)
        assert (await lab.quotas()).raises == {}

    asyncio.run(story())


def test_quotas_survive_a_restart(store: Store) -> None:
    async def story() -> None:
        lab = await Spending(World(store)).open()
        await lab.limit(month=300, mode="block_and_kill", buffer_percent=10)
        await lab.limit(WORKSPACE, month=5000, zone="Europe/Berlin", waste=20)
        before = await lab.quotas()

        await lab.restart()

        assert await lab.quotas() == before
        assert before.of(ANA).mode is Mode.BLOCK_AND_KILL
        assert (before.zone, before.waste_per_day) == ("Europe/Berlin", 20 * MICROS)

    asyncio.run(story())


def test_who_was_slower_than_another_server_overwrites_nothing() -> None:
    async def story() -> None:
        lab = await Spending().open()
        other = lab.world.plane()
        await other.open()
        await lab.limit(month=1)
        await other.quotas.of(lab.workspace)
        await lab.limit(month=2)

        edit = QuotaEdit(amounts={"day": MICROS})
        await other.quotas.set(lab.workspace, ANA, edit, by=SOMEBODY)

        both = (await lab.world.store.get(QUOTAS, lab.workspace, default=Quotas())).value
        assert (both.of(ANA).month, both.of(ANA).day) == (2 * MICROS, MICROS)
        assert (await lab.quotas()).of(ANA).day is None
        await lab.enforcer.enforce()
        assert (await lab.quotas()).of(ANA).day == MICROS

    asyncio.run(story())


def test_two_changes_at_once_are_both_made(store: Store) -> None:
    async def story() -> None:
        lab = await Spending(World(store)).open()
        other = lab.world.plane()
        await other.open()
        month, day = (QuotaEdit(amounts={name: MICROS}) for name in ("month", "day"))

        await asyncio.gather(
            lab.plane.quotas.set(lab.workspace, ANA, month, by=SOMEBODY),
            other.quotas.set(lab.workspace, ANA, day, by=SOMEBODY),
        )

        both = (await store.get(QUOTAS, lab.workspace, default=Quotas())).value.of(ANA)
        assert (both.month, both.day) == (MICROS, MICROS)
        assert len(await lab.told_of_quotas("admin.quota.changed")) == 2

    asyncio.run(story())


def test_a_limit_below_what_is_spent_says_what_follows() -> None:
    async def story() -> None:
        lab = await Spending().open()
        await lab.runs(cpus=2, minutes=600)
        await lab.runs(cpus=2, minutes=600)
        await lab.later(hours=2)
        await lab.limit(month=4, mode="block_and_kill", grace_seconds=300)

        assert list(await lab.plane.quotas.follows(lab.workspace, ANA)) == [
            (
                "ana@lab.example has spent $8.00 of $4.00; 2 running jobs will be cancelled from"
                " 14:05 UTC on."
            )
        ]

    asyncio.run(story())


def test_months_begin_where_the_workspace_says() -> None:
    async def story() -> None:
        lab = await Spending().open()
        await lab.limit(WORKSPACE, zone="Asia/Kolkata")

        month = (await lab.plane.quotas.standing(lab.workspace, ANA)).month.period

        assert month.since.isoformat() == "2026-02-28T18:30:00+00:00"

    asyncio.run(story())
