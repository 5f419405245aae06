"""Whatever happens to jobs, all that tells of money tells the same: to the millionth of a dollar."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clusterra.adapters.sqlite.store import SqliteStore
from clusterra.control.cost.report import Reach, Report, report
from clusterra.control.cost.spending import spending
from clusterra.control.cost.statement import make_statement
from clusterra.control.history import read_past
from clusterra.core.cost.books import By, Spending, What
from clusterra.core.cost.dimensions import Dimension
from clusterra.core.cost.periods import named, zone
from clusterra.core.errors import Invalid
from clusterra.core.jobs.job import JobState
from tests.builders import NOON
from tests.costs import SMALL, Priced, a_node, repriced
from tests.world import LAB, World

UTC = zone("UTC")
MARCH = named("2026-03", UTC)
PEOPLE = ("ana", "ben", "cleo")


async def reported(here: Priced, *by: Dimension, person: str | None = None, **more: Any) -> Report:
    asked: dict[str, Any] = {"period": MARCH, "limit": 50, "zone": UTC} | more
    reach = Reach(sites=(here.world.site,), person=person)
    return await report([reach], by=by, store=here.world.store, **asked)


async def finalized(here: Priced) -> int:
    """Return what the events of the ledger come to."""
    return sum(each["cost_micros"] or 0 for each in await here.costs("job.cost.finalized"))


async def stated(here: Priced, person: str | None = None) -> int:
    made = await make_statement(
        [here.world.site],
        MARCH,
        UTC,
        person=person,
        with_waste=True,
        now=here.world.clock.now(),
        store=here.world.store,
    )
    return made.work.micros


async def on_the_profile(here: Priced, login: str) -> int:
    found = await spending(
        {"lab": [here.world.site]},
        {LAB: login},
        now=here.world.clock.now(),
        zone=UTC,
        store=here.world.store,
    )
    return found.all.month.micros


# --- random lives


@dataclass
class Life:
    """A cluster to which things happen."""

    here: Priced = field(default_factory=Priced)
    rate: int = 360_000

    @property
    def jobs(self) -> Mapping[int, JobState]:
        live = self.here.world.slurm._live
        return {id: job.state for id, job in live.items() if not job.state.ended}

    def job(self, number: int, *states: JobState) -> int | None:
        """Return one of the jobs in these states."""
        meant = [id for id, state in self.jobs.items() if state in states]
        return meant[number % len(meant)] if meant else None

    async def submit(self, number: int) -> None:
        user, node = PEOPLE[number % 3], f"w{number % 2 + 1}"
        wanted = {
            "minimum_cpus": number % 4 + 1,
            "account": ("lab", "")[number % 2],
            "time_limit": 60,
        }
        id = await self.here.world.submitted_past_us(user=user, **wanted)
        self.here.world.slurm.move(id, JobState.RUNNING, nodes=node)

    async def suspend(self, number: int) -> None:
        if id := self.job(number, JobState.RUNNING):
            self.here.world.slurm.move(id, JobState.SUSPENDED)

    async def resume(self, number: int) -> None:
        if id := self.job(number, JobState.SUSPENDED):
            self.here.world.slurm.move(id, JobState.RUNNING)

    async def requeue(self, number: int) -> None:
        if id := self.job(number, JobState.RUNNING):
            await self.here.world.slurm.requeue(id, user=None)

    async def start_again(self, number: int) -> None:
        # Slurm lets one that was queued again wait for two minutes; until then it is seen waiting.
        await self.here.look()
        if id := self.job(number, JobState.PENDING):
            self.here.world.slurm.move(id, JobState.RUNNING, nodes=f"w{number % 2 + 1}")

    async def resize(self, number: int) -> None:
        if id := self.job(number, JobState.RUNNING):
            world = self.here.world
            await self.here.look()
            resized = world.slurm.resize(id, f"w{number % 2 + 1}", cpus=number % 4 + 1)
            await world.site.recorder.record([resized])

    async def forget(self, number: int) -> None:
        live = self.here.world.slurm._live
        if over := [id for id, job in live.items() if job.state.ended]:
            self.here.world.slurm.forget(over[number % len(over)])

    async def end(self, number: int) -> None:
        if id := self.job(number, JobState.RUNNING, JobState.SUSPENDED, JobState.PENDING):
            self.here.world.slurm.move(id, JobState.FAILED if number % 2 else JobState.COMPLETED)

    async def reprice(self, number: int) -> None:
        self.rate = (number + 1) * 7_777
        self.here.at_rates(repriced(SMALL, self.rate))
        await self.here.world.observer.nodes.look()

    async def lose_a_node(self, number: int) -> None:
        await self.here.world.slurm.mark_down(f"w{number % 2 + 1}", "lost")

    async def join(self, number: int) -> None:
        self.here.world.slurm.join(a_node(f"w{number % 2 + 1}"))

    async def die(self, _: int) -> None:
        self.here = self.here.reborn()
        self.here.at_rates(repriced(SMALL, self.rate))

    async def wait(self, number: int) -> None:
        self.here.pass_time(seconds=number * 61 + 1)

    async def wait_long(self, number: int) -> None:
        self.here.pass_time(hours=number % 13)

    async def look_around(self, _: int) -> None:
        await self.here.look()
        site, world = self.here.world.site, self.here.world
        await read_past(site, days=1, store=world.store, clock=world.clock)
        await site.wasting.settle()

    async def end_all(self) -> None:
        for id in self.jobs:
            self.here.world.slurm.move(id, JobState.COMPLETED)


Step: TypeAlias = Callable[[Life, int], Coroutine[Any, Any, None]]

STEPS: tuple[Step, ...] = (
    Life.submit,
    Life.suspend,
    Life.resume,
    Life.requeue,
    Life.start_again,
    Life.resize,
    Life.end,
    Life.forget,
    Life.reprice,
    Life.lose_a_node,
    Life.join,
    Life.die,
    Life.wait,
    Life.wait,
    Life.wait_long,
    Life.look_around,
    Life.look_around,
)

lives = st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 60)), max_size=40)


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(lives, st.booleans())
def test_events_books_usage_statement_and_profile_agree(
    steps: list[tuple[Step, int]], all_seen: bool
) -> None:
    """They agree at all times; and if nothing was over before we looked, so does the future.

    A pause or a run that came and went between two looks is found later, at the latest when the
    job ends: until then nobody can have shown it.
    """

    async def story() -> None:
        life = Life()
        await life.here.look()
        for step, number in steps:
            await step(life, number)
            if all_seen:
                await life.here.look()
            life.here.pass_time(seconds=7)
        await life.look_around(0)
        await _agree(life.here)

        before = (await reported(life.here)).work
        await life.end_all()
        await life.look_around(0)
        after = (await reported(life.here)).work
        assert before.micros == after.booked.micros or not all_seen
        assert (after.pending.micros, after.running) == (0, 0)
        told = await life.here.costs("job.cost.finalized")
        assert after.booked.jobs == sum(each["last"] for each in told)
        await _agree(life.here)

    asyncio.run(story())


async def _agree(here: Priced) -> None:
    whole = await reported(here)
    work = whole.work
    assert work.booked.micros == await finalized(here)
    assert work.micros == await stated(here)
    for by in Dimension:
        apart = await reported(here, by)
        assert apart.total == whole.total, by
        grouped = sum(each.work.micros + each.waste.micros for each in apart.groups)
        others = apart.others.micros if apart.others else 0
        inside = by in (Dimension.CLUSTER, Dimension.WORKSPACE, Dimension.DAY, Dimension.MONTH)
        inside |= by is Dimension.WHAT
        assert grouped + others == (whole.total if inside else work).micros, by
    people = {each.key[0]: each.work.micros for each in (await reported(here, PERSON)).groups}
    for login in PEOPLE:
        spent = people.get(login, 0)
        assert (await reported(here, person=login)).total.micros == spent
        assert await on_the_profile(here, login) == spent
        assert await stated(here, person=login) == spent
    wasted = [each["micros"] for each in await here.costs("fleet.cost.wasted")]
    assert sum(each.booked.micros for each in whole.waste.values()) == sum(wasted)
    assert sum(each["cost_micros"] or 0 for each in await here.costs("job.cost.finalized")) == sum(
        each.sums.micros for each in await here.world.store.spent(_of_jobs())
    )


PERSON = Dimension.PERSON


def _of_jobs() -> Spending:
    return Spending(
        clusters=(LAB,),
        since=MARCH.since,
        until=MARCH.until,
        by=(By.PERSON, By.ACCOUNT),
        what=frozenset({What.JOB}),
    )


def test_a_pause_that_was_seen_stays_where_it_was_when_accounting_tells_the_end() -> None:
    async def story() -> None:
        here = Priced()
        await here.look()
        # Two that end together are read from accounting, which does not say when they paused.
        jobs = [await here.started(), await here.started(node="w2")]
        here.pass_time(minutes=10)
        for state in (JobState.SUSPENDED, JobState.RUNNING):
            for id in jobs:
                here.world.slurm.move(id, state)
            await here.look()
            here.pass_time(minutes=10)
        here.at_rates(repriced(SMALL, 36_000_000))
        await here.look()
        here.pass_time(minutes=10)
        await here.look()
        shown = (await reported(here)).work.micros
        for id in jobs:
            here.world.slurm.move(id, JobState.COMPLETED)
        await here.look()

        assert (await reported(here)).work.booked.micros == shown == 2 * (60_000 + 3_000_000)

    asyncio.run(story())


# --- what it is told apart by


def test_days_of_another_zone_begin_at_its_midnight() -> None:
    async def story() -> None:
        here = Priced()
        await here.look()
        here.pass_time(hours=6)  # 18:00 UTC: 23:30 in Kolkata
        id = await here.started()
        here.pass_time(hours=1)
        await here.ended(id)

        kolkata = zone("Asia/Kolkata")
        there = await reported(here, Dimension.DAY, period=named("2026-03", kolkata), zone=kolkata)
        days = {each.key[0]: each.work.micros for each in there.groups}
        assert len(days) == 31
        assert (days["2026-03-02"], days["2026-03-03"]) == (90_000, 90_000)
        assert sum(days.values()) == 180_000
        here_ = {each.key[0]: each.work.micros for each in (await reported(here, DAY)).groups}
        assert here_["2026-03-02"] == 180_000

    asyncio.run(story())


DAY = Dimension.DAY


def test_a_day_of_25_hours_is_paid_for_25() -> None:
    async def story() -> None:
        here = Priced()
        here.world.clock.advance(named("2026-10-24", UTC).until - NOON)
        await here.look()
        berlin = zone("Europe/Berlin")
        day = named("2026-10-25", berlin)
        await here.started()
        here.pass_time(hours=48)
        await here.look()
        found = await reported(here, period=day, zone=berlin)
        # Its last 24 of 25 hours: it began at midnight in Greenwich, 2 in Berlin.
        assert found.work.pending.micros == 180_000 * 23
        assert found.work.running == 1

    asyncio.run(story())


def test_several_at_once_are_told_apart_by_each() -> None:
    async def story() -> None:
        here = Priced()
        await here.look()
        first, second = await here.started(), await here.started(user="ben", node="w2")
        here.pass_time(hours=1)
        await here.ended(first)
        here.pass_time(days=1)
        await here.ended(second)

        found = await reported(here, PERSON, DAY)
        rows = {each.key: each.work.micros for each in found.groups}
        assert rows == {
            ("ana", "2026-03-02"): 180_000,
            ("ben", "2026-03-02"): 180_000 * 12,
            ("ben", "2026-03-03"): 180_000 * 13,
        }
        assert [each.key[1] for each in found.groups] == ["2026-03-02", "2026-03-02", "2026-03-03"]

    asyncio.run(story())


def test_the_dearest_jobs_come_first_and_the_rest_is_one_line() -> None:
    async def story() -> None:
        here = Priced()
        await here.look()
        for minutes in (10, 30, 20):
            id = await here.started(name=f"{minutes} minutes")
            here.pass_time(minutes=minutes)
            await here.ended(id)
        await here.started(name="goes on", user="ben")
        here.pass_time(minutes=25)

        found = await reported(here, Dimension.JOB, limit=2)
        names = [(each.job.name, each.work.micros) for each in found.groups if each.job]
        assert names == [("30 minutes", 90_000), ("goes on", 75_000)]
        assert found.others is not None
        assert (found.others.micros, found.others.booked.jobs) == (90_000, 2)

    asyncio.run(story())


def test_a_job_counts_in_a_period_with_what_falls_into_it() -> None:
    async def story() -> None:
        here = Priced()
        await here.look()
        id = await here.started()
        here.pass_time(days=2)
        await here.ended(id)

        day = await reported(here, Dimension.JOB, period=named("2026-03-03", UTC))
        assert [each.work.micros for each in day.groups] == [180_000 * 24]
        assert day.work.micros == 180_000 * 24

    asyncio.run(story())


def test_what_is_not_known_is_counted_with_the_reason_and_is_in_no_amount() -> None:
    async def story() -> None:
        here = Priced()
        here.world.slurm.join(a_node("bench", features=()))
        await here.look()
        known, unknown = await here.started(), await here.started(node="bench", user="ben")
        going_on = await here.started(node="bench", user="cleo")
        here.pass_time(hours=1)
        await here.ended(known)
        await here.ended(unknown)

        found = await reported(here, PERSON)
        why = "It is not known what kind of machine bench is"
        rows = {each.key[0]: (each.work.micros, each.work.unknown) for each in found.groups}
        assert rows == {"ana": (180_000, 0), "ben": (0, 1), "cleo": (0, 1)}
        reasons = {each.key[0]: each.why_unknown for each in found.groups}
        assert reasons["ana"] == ()
        assert reasons["ben"][0].startswith(why)
        assert reasons["cleo"][0].startswith(why)
        assert found.work.running == 1
        assert going_on in here.world.site.meter.running

    asyncio.run(story())


def test_more_days_than_can_be_told_apart_are_refused() -> None:
    long = replace(MARCH, until=MARCH.since + timedelta(days=401))

    with pytest.raises(Invalid, match="more than 400 days"):
        asyncio.run(reported(Priced(), DAY, period=long))


def test_the_real_books_come_to_the_same(tmp_path: Any) -> None:
    async def story() -> None:
        store = SqliteStore(tmp_path / "books.db")
        here = Priced(World(store=store))
        await here.look()
        id = await here.started()
        here.pass_time(minutes=17)
        await here.ended(id)
        await here.started(user="ben")
        here.pass_time(minutes=9)
        await _agree(here)
        store.close()

    asyncio.run(story())
