"""Promises every Slurm keeps: the one in memory, and the real one of the end-to-end session."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest

from clusterra.adapters.clock import SystemClock
from clusterra.adapters.memory_slurm import MemorySlurm
from clusterra.adapters.slurmrest import SlurmRest
from clusterra.core.errors import Conflict, Forbidden, Invalid, NotFound, Refused, Unreachable
from clusterra.core.jobs.comment import Mark, stamp
from clusterra.core.jobs.job import Job, JobState
from clusterra.core.jobs.request import JobEdit, JobRequest
from clusterra.ports import Slurm
from tests.builders import a_job
from tests.cluster import Running

UNKNOWN = 99_999_999
QUICK = "#!/bin/bash\nexit 3\n"
LONG = "#!/bin/bash\nsleep 300\n"


class MovableClock:
    """Stands still on a whole second, as all of Slurm's times are, until it is moved."""

    def __init__(self) -> None:
        self.time = SystemClock().now().replace(microsecond=0)

    def now(self) -> datetime:
        return self.time


@dataclass
class World:
    slurm: Slurm
    clock: MovableClock | SystemClock
    cut_off: Slurm
    """The same Slurm, from where it cannot be reached."""
    user: str
    account: str
    stranger: str
    running: Running | None = None
    submitted: list[int] = field(default_factory=list)

    @property
    def memory(self) -> MemorySlurm | None:
        return self.slurm if isinstance(self.slurm, MemorySlurm) else None

    def command(self, *words: str) -> str:
        """Run one of Slurm's own commands beside its controller."""
        assert self.running is not None
        return self.running.slurm_says(*words).strip()

    async def passes(self, seconds: int) -> None:
        """Return when so much time has passed, which is what is counted here."""
        if isinstance(self.clock, MovableClock):
            self.clock.time += timedelta(seconds=seconds)
        else:
            await asyncio.sleep(seconds)

    async def submit(self, script: str = LONG, **properties: Any) -> Job:
        request = JobRequest(
            script=script,
            properties={
                "name": "contract",
                "account": self.account,
                "environment": ["PATH=/usr/bin:/bin"],
                "current_working_directory": "/tmp",
                "standard_output": "/dev/null",
                "time_limit": {"set": True, "number": 5},
                "memory_per_node": {"set": True, "number": 100},
                **properties,
            },
        )
        accepted = await self.slurm.submit(request, user=self.user)
        self.submitted.append(accepted.job_id)
        return await self.only(accepted.job_id)

    async def only(self, id: int) -> Job:
        (job,) = await self.slurm.job(id)
        return job

    async def seen(self, id: int, done: Callable[[Job], bool]) -> Job:
        """Return the job once it is as wanted; Slurm takes a moment."""
        for _ in range(600):
            job = await self.only(id)
            if done(job):
                return job
            await asyncio.sleep(0.05)
        raise TimeoutError(job)

    async def started(self, job: Job) -> Job:
        if self.memory:
            self.memory.move(job.id, JobState.RUNNING)
        return await self.seen(job.id, lambda now: now.state is not JobState.PENDING)

    async def ended(self, job: Job) -> Job:
        if self.memory:
            self.memory.move(job.id, JobState.RUNNING)
            self.memory.move(job.id, JobState.FAILED, exit_code=3)
        return await self.seen(job.id, lambda now: now.state.ended and not now.flags)


def in_memory(_: pytest.FixtureRequest) -> World:
    clock = MovableClock()
    cut_off = MemorySlurm(clock)
    cut_off.reachable = False
    return World(
        slurm=MemorySlurm(clock),
        clock=clock,
        cut_off=cut_off,
        user="ana",
        account="lab",
        stranger="bo",
    )


def over_rest(request: pytest.FixtureRequest) -> World:
    request.getfixturevalue("needs_root")
    running: Running = request.getfixturevalue("running")
    key = (running.path / "etc/slurm/jwt_hs256.key").read_bytes()
    clock = SystemClock()
    # Submitting once makes the Linux user and their association.
    running.submit("true", person="ana")
    return World(
        slurm=SlurmRest(running.slurm["url"], key, clock=clock),
        clock=clock,
        cut_off=SlurmRest("http://127.0.0.1:9", key, clock=clock),
        user="ana",
        account="clusterra",
        stranger="slurmrest",
        running=running,
    )


@pytest.fixture(
    params=[
        pytest.param(in_memory, id="memory"),
        pytest.param(over_rest, id="real", marks=[pytest.mark.e2e, pytest.mark.enable_socket]),
    ]
)
def world(request: pytest.FixtureRequest) -> World:
    made: World = request.param(request)
    return made


def run(world: World, story: Callable[[], Awaitable[None]]) -> None:
    async def whole() -> None:
        try:
            await story()
        finally:
            for id in world.submitted:
                with suppress(Conflict):  # it has ended
                    await world.slurm.cancel(id, user=None)
            await world.slurm.close()
            await world.cut_off.close()

    asyncio.run(whole())


def test_a_slurm_says_what_it_is(world: World) -> None:
    async def story() -> None:
        info = await world.slurm.about()

        assert info.version[0].isdigit()
        assert info.api_version.startswith("v0.0.")
        assert info.cluster_name
        assert info.booted_at is not None
        assert (await world.slurm.about()).booted_at == info.booted_at

    run(world, story)


def test_it_has_nodes_and_partitions(world: World) -> None:
    async def story() -> None:
        nodes, partitions = await world.slurm.nodes(), await world.slurm.partitions()

        assert all(node.name and node.state and node.cpus for node in nodes)
        assert nodes
        assert all(each.name and each.state for each in partitions)
        assert partitions

    run(world, story)


def test_it_tells_what_holds_jobs_back(world: World) -> None:
    async def story() -> None:
        slurm = world.slurm
        partitions = {each.name: each for each in await slurm.partitions()}
        rules = {each.name: each for each in await slurm.partition_rules()}

        assert set(rules) == set(partitions)
        for name, each in rules.items():
            assert (each.state, each.max_minutes) == (
                partitions[name].state,
                partitions[name].max_minutes,
            )
        limits = await slurm.limits(user=world.user, account=world.account)
        assert all(each.of and each.amount >= 0 for each in limits.rows)
        assert limits.under(world.account, world.account)
        assert not limits.under(world.account, "somebody-elses")
        assert all(each.name for each in await slurm.reservations())
        assert all(each.free + each.used <= each.total for each in await slurm.licences())

    run(world, story)


def test_what_holds_jobs_back_cannot_be_told_from_where_slurm_cannot_be_reached(
    world: World,
) -> None:
    async def story() -> None:
        cut_off = world.cut_off
        for ask in (cut_off.partition_rules, cut_off.reservations, cut_off.licences):
            with pytest.raises(Unreachable):
                await ask()
        with pytest.raises(Unreachable):
            await cut_off.limits(user=world.user, account=world.account)

    run(world, story)


def test_a_submitted_job_waits_under_its_users_name_with_what_was_asked_for(world: World) -> None:
    async def story() -> None:
        job = await world.submit(hold=True, comment=stamp(Mark(run_id="run-1", note="a note")))

        assert job.state is JobState.PENDING
        assert (job.name, job.user, job.account) == ("contract", world.user, world.account)
        assert (job.time_limit_minutes, job.memory_mib, job.cpus) == (5, 100, 1)
        assert (job.run_id, job.comment) == ("run-1", "a note")
        assert job.born_at == job.submitted_at
        assert (job.started_at, job.ended_at, job.exit_code) == (None, None, None)
        assert job.restarts == 0

    run(world, story)


def test_two_submissions_are_two_jobs(world: World) -> None:
    async def story() -> None:
        assert (await world.submit(hold=True)).id != (await world.submit(hold=True)).id

    run(world, story)


def test_every_job_is_in_the_full_list_and_has_a_mark(world: World) -> None:
    async def story() -> None:
        job = await world.submit(hold=True)

        listed = {each.id: each async for each in world.slurm.all_jobs()}
        marks = await world.slurm.states()

        assert listed[job.id] == job
        assert set(listed) == set(marks)

    run(world, story)


def test_the_mark_changes_with_the_state_and_only_with_it(world: World) -> None:
    async def story() -> None:
        job = await world.submit(hold=True)
        waiting = (await world.slurm.states())[job.id]
        assert (await world.slurm.states())[job.id] == waiting

        await world.slurm.cancel(job.id, user=world.user)
        await world.seen(job.id, lambda now: now.state.ended)

        assert (await world.slurm.states())[job.id] != waiting

    run(world, story)


def test_the_waiting_tasks_of_an_array_are_one_entry(world: World) -> None:
    async def story() -> None:
        array = await world.submit(hold=True, array="0-4")

        assert array.array_id == array.id
        assert array.label == f"{array.id}_[0-4]"
        assert array.id in await world.slurm.states()

    run(world, story)


def test_a_job_nobody_knows_is_nothing_to_look_at_and_not_found_to_act_on(world: World) -> None:
    async def story() -> None:
        slurm, user = world.slurm, world.user
        assert list(await slurm.job(UNKNOWN)) == []
        assert list(await slurm.accounted([UNKNOWN])) == []
        with pytest.raises(NotFound):
            await slurm.cancel(UNKNOWN, user=user)
        with pytest.raises(NotFound):
            await slurm.edit(UNKNOWN, JobEdit(name="x"), user=user)

    run(world, story)


def test_a_job_runs_and_ends_with_its_code_and_accounting_keeps_it(world: World) -> None:
    async def story() -> None:
        job = await world.submit(QUICK)
        before = job.submitted_at - timedelta(hours=1)

        ended = await world.ended(job)

        assert (ended.state, ended.exit_code, ended.signal) == (JobState.FAILED, 3, None)
        assert ended.started_at is not None
        assert ended.ended_at is not None
        assert ended.nodes
        assert ended.submitted_at == job.submitted_at
        kept = await accounted(world, job.id)
        assert (kept.exit_code, kept.ended_at) == (3, ended.ended_at)
        assert kept.started_at == ended.started_at
        after = ended.ended_at + timedelta(hours=1)
        assert job.id in [each.id async for each in world.slurm.history(before, after)]
        past = world.slurm.history(before - timedelta(days=9), before - timedelta(days=8))
        assert job.id not in [each.id async for each in past]

    run(world, story)


async def accounted(world: World, id: int) -> Job:
    for _ in range(200):
        found = await world.slurm.accounted([id, UNKNOWN])
        if found and found[0].state.ended:
            (job,) = found
            return job
        await asyncio.sleep(0.05)
    raise TimeoutError(id)


def test_a_cancelled_job_that_never_started_has_no_start_and_no_code(world: World) -> None:
    async def story() -> None:
        job = await world.submit(hold=True)

        await world.slurm.cancel(job.id, user=world.user)

        ended = await world.seen(job.id, lambda now: now.state.ended)
        assert ended.state is JobState.CANCELLED
        assert (ended.started_at, ended.exit_code) == (None, None)
        assert ended.ended_at is not None

    run(world, story)


def test_what_has_ended_can_be_neither_cancelled_nor_edited(world: World) -> None:
    async def story() -> None:
        job = await world.submit(hold=True)
        await world.slurm.cancel(job.id, user=world.user)
        await world.seen(job.id, lambda now: now.state.ended)

        with pytest.raises(Conflict):
            await world.slurm.cancel(job.id, user=world.user)
        with pytest.raises(Conflict):
            await world.slurm.edit(job.id, JobEdit(name="late"), user=world.user)

    run(world, story)


def test_only_the_owner_and_the_service_may_act_on_a_job(world: World) -> None:
    async def story() -> None:
        job = await world.submit(hold=True)

        with pytest.raises(Forbidden):
            await world.slurm.cancel(job.id, user=world.stranger)
        with pytest.raises(Forbidden):
            await world.slurm.edit(job.id, JobEdit(name="mine"), user=world.stranger)
        assert (await world.only(job.id)) == job

        await world.slurm.cancel(job.id, user=None)
        assert (await world.seen(job.id, lambda now: now.state.ended)).name == job.name

    run(world, story)


def test_name_and_time_limit_can_be_changed_by_the_owner_and_priority_by_the_service(
    world: World,
) -> None:
    async def story() -> None:
        slurm = world.slurm
        job = await world.submit(begin_time={"set": True, "number": 4_000_000_000})

        await slurm.edit(job.id, JobEdit(time_limit_minutes=9), user=world.user)
        await slurm.edit(job.id, JobEdit(priority=77), user=None)
        with pytest.raises(Forbidden):
            await slurm.edit(job.id, JobEdit(priority=99), user=world.user)

        changed = await world.only(job.id)
        assert (changed.time_limit_minutes, changed.priority) == (9, 77)
        assert changed.submitted_at == job.submitted_at
        await slurm.edit(job.id, JobEdit(name="renamed"), user=world.user)
        assert (await world.only(job.id)).name == "renamed"
        await slurm.cancel(job.id, user=world.user)

    run(world, story)


def test_a_held_job_says_so_until_it_is_released(world: World) -> None:
    async def story() -> None:
        slurm = world.slurm
        job = await world.submit(begin_time={"set": True, "number": 4_000_000_000})

        await slurm.edit(job.id, JobEdit(hold=True), user=world.user)
        assert (await world.only(job.id)).reason == "JobHeldUser"

        await slurm.edit(job.id, JobEdit(hold=False), user=world.user)
        assert (await world.only(job.id)).reason != "JobHeldUser"

    run(world, story)


def test_an_unknown_signal_is_refused_and_harms_nothing(world: World) -> None:
    async def story() -> None:
        job = await world.submit(hold=True)

        with pytest.raises(Invalid):
            await world.slurm.cancel(job.id, user=world.user, signal="NOSUCH")

        assert (await world.only(job.id)).state is JobState.PENDING

    run(world, story)


def test_a_signal_that_does_not_kill_leaves_the_job_running(world: World) -> None:
    async def story() -> None:
        job = await world.started(await world.submit(LONG))

        await world.slurm.cancel(job.id, user=world.user, signal="CONT")

        assert (await world.only(job.id)).state is JobState.RUNNING

    run(world, story)


def test_what_slurm_will_not_have_is_refused_with_a_next_step(world: World) -> None:
    async def story() -> None:
        with pytest.raises(Refused) as partition:
            await world.submit(partition="no-such-partition")
        with pytest.raises(Invalid):
            await world.submit(script="")

        assert "no-such-partition" in partition.value.detail
        assert partition.value.code == "unknown-partition"

    run(world, story)


def test_a_requeued_job_waits_again_with_one_start_behind_it(world: World) -> None:
    async def story() -> None:
        job = await world.started(await world.submit(LONG))

        if (await world.slurm.about()).api_version < "v0.0.45":
            with pytest.raises(Refused, match=r"26\.05"):
                await world.slurm.requeue(job.id, user=world.user)
            return
        await world.slurm.requeue(job.id, user=world.user)

        again = await world.seen(job.id, lambda now: now.state is JobState.PENDING)
        assert again.restarts == 1
        assert again.submitted_at >= job.submitted_at
        with pytest.raises(Conflict):
            await world.slurm.requeue(job.id, user=world.user)

    run(world, story)


def test_enrolling_twice_is_enrolling_once(world: World) -> None:
    async def story() -> None:
        await world.slurm.enroll(world.user, world.account)
        await world.slurm.enroll(world.user, world.account)

        assert (await world.submit(hold=True)).account == world.account

    run(world, story)


def test_the_memory_a_job_used_is_known_where_it_was_looked_at(world: World) -> None:
    async def story() -> None:
        used_60 = '#!/bin/bash\nhold=$(head -c 60000000 /dev/zero | tr "\\0" a); sleep 5\n'
        job = await world.submit(used_60)
        if world.memory:
            world.memory.peaks[job.id] = 62
        await world.ended(job)

        found = None
        for _ in range(200):  # accounting is a moment behind
            if found := await world.slurm.peak_memory_mib(job.id):
                break
            await asyncio.sleep(0.05)

        assert found is not None
        assert 57 <= found <= 100
        assert await world.slurm.peak_memory_mib(UNKNOWN) is None

    run(world, story)


def test_a_slurm_that_cannot_be_reached_says_so_and_never_answers_with_nothing(
    world: World,
) -> None:
    async def story() -> None:
        slurm = world.cut_off
        since = SystemClock().now()
        questions: list[Callable[[], Awaitable[object]]] = [
            slurm.about,
            slurm.states,
            lambda: anext(slurm.all_jobs()),
            lambda: slurm.job(1),
            lambda: slurm.accounted([1]),
            lambda: slurm.earlier_runs(1),
            lambda: slurm.peak_memory_mib(1),
            lambda: anext(slurm.history(since, since)),
            slurm.nodes,
            slurm.partitions,
            lambda: slurm.submit(JobRequest(script=LONG), user="ana"),
            lambda: slurm.cancel(1, user=None),
            lambda: slurm.edit(1, JobEdit(name="x"), user=None),
            lambda: slurm.requeue(1, user=None),
            lambda: slurm.stamp(a_job(1), "$0.42"),
            lambda: slurm.stamp(a_job(1, state=JobState.COMPLETED), "$0.42"),
            lambda: slurm.enroll("ana", "lab"),
        ]
        for question in questions:
            with pytest.raises(Unreachable) as error:
                await question()
            assert type(error.value) is Unreachable
            assert error.value.hint

    run(world, story)
