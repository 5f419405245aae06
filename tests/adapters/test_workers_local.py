"""Workers as processes of this machine: what only they can get wrong."""

import asyncio
import json
import random
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from clusterra.adapters.workers_local import LocalWorkers, read_place
from clusterra.core.errors import Invalid, Refused
from clusterra.core.scaling.edge import Failed
from clusterra.local.tcp import WORKER_PORTS
from clusterra.ports import WorkerShape
from tests.agent.standin import StandIn

pytestmark = pytest.mark.enable_socket

SHAPE = WorkerShape(name="small", arch="amd64", cpus=2, memory_mib=512, features=("a", "b"))
GPU = WorkerShape(name="gpu-l4-x2", arch="amd64", cpus=3, memory_mib=9, gpus=2, gpu_model="l4")


@pytest.fixture
def stand_in(tmp_path: Path) -> Iterator[StandIn]:
    made = StandIn(tmp_path / "place", first_port=random.choice(WORKER_PORTS))
    yield made
    made.end_all()


async def until(true: Callable[[], Awaitable[bool]]) -> None:
    for _ in range(1500):
        if await true():
            return
        await asyncio.sleep(0.02)
    pytest.fail("it never was so")


async def all_ready(workers: LocalWorkers) -> None:
    async def so() -> bool:
        return all(each.ready for each in await workers.present())

    await until(so)


async def failed(workers: LocalWorkers) -> Failed:
    found: list[Failed] = []

    async def so() -> bool:
        found.extend(await workers.failures())
        return bool(found)

    await until(so)
    [only] = found
    return only


def test_slurmd_is_told_what_the_worker_offers(stand_in: StandIn) -> None:
    async def story() -> None:
        stand_in.let("answer")
        workers = await LocalWorkers.opened(stand_in.place)
        await workers.resize(SHAPE, 1)
        await workers.resize(GPU, 1)
        await all_ready(workers)
        await workers.close()

    asyncio.run(story())

    [small], [gpu] = stand_in.calls_of("small-1"), stand_in.calls_of("gpu-l4-x2-1")
    port = stand_in.place.first_port
    assert small[:-1] == [
        *("slurmd", "-D", "-f", "/etc/slurm/slurm-node.conf", "-Z", "-b"),
        *("-N", "small-1", "--conf"),
    ]
    assert small[-1].split()[1:] == ["CPUs=2", "RealMemory=512", "Weight=2", "Feature=a,b"]
    assert port <= int(small[-1].split()[0].removeprefix("Port=")) < port + 50
    assert gpu[-1].endswith("CPUs=3 RealMemory=9 Weight=2003 Gres=gpu:l4:2")


def test_a_port_that_somebody_else_has_is_left_to_them(stand_in: StandIn) -> None:
    async def story() -> None:
        stand_in.let("answer")
        workers = await LocalWorkers.opened(stand_in.place)
        await workers.resize(SHAPE, 1)
        await all_ready(workers)
        await workers.close()

    with socket.create_server(("127.0.0.1", stand_in.place.first_port)):
        asyncio.run(story())

    assert stand_in.notes()["small-1"]["port"] != stand_in.place.first_port


def test_a_slurmd_that_was_ready_and_dies_comes_back_and_does_not_say_it_was_rebooted(
    stand_in: StandIn,
) -> None:
    async def story() -> None:
        stand_in.let("answer")
        workers = await LocalWorkers.opened(stand_in.place)
        await workers.resize(SHAPE, 1)
        await all_ready(workers)
        first = stand_in.pid("small-1")

        stand_in.kill("small-1")

        async def back() -> bool:
            [worker] = await workers.present()
            return worker.ready and stand_in.pid("small-1") != first

        await until(back)
        assert await workers.failures() == []
        await workers.close()

    asyncio.run(story())

    begun, again = stand_in.calls_of("small-1")
    assert "-b" in begun
    assert again == [word for word in begun if word != "-b"]


def test_one_that_dies_again_and_again_is_given_up_with_its_last_words(stand_in: StandIn) -> None:
    async def story() -> None:
        stand_in.let("answer")
        workers = await LocalWorkers.opened(stand_in.place, pauses=(0, 0, 0))
        await workers.resize(SHAPE, 1)
        await all_ready(workers)
        stand_in.let("fail", "fatal: the disk is gone")

        stand_in.kill("small-1")

        told = await failed(workers)
        assert told.why == "slurmd ended before it answered: fatal: the disk is gone"
        assert await workers.present() == []
        await workers.close()

    asyncio.run(story())

    assert len(stand_in.calls()) == 4
    assert stand_in.notes() == {}


def test_one_that_dies_before_it_ever_answered_is_not_tried_again(stand_in: StandIn) -> None:
    async def story() -> None:
        stand_in.let("fail", "fatal: unknown node")
        workers = await LocalWorkers.opened(stand_in.place)

        await workers.resize(SHAPE, 1)

        told = await failed(workers)
        assert (told.name, told.shape) == ("small-1", "small")
        assert told.why == "slurmd ended before it answered: fatal: unknown node"
        await workers.close()

    asyncio.run(story())

    assert len(stand_in.calls()) == 1


def test_one_that_does_not_answer_in_time_is_stopped_however_stubborn(stand_in: StandIn) -> None:
    async def story() -> None:
        stand_in.let("stubborn")
        workers = await LocalWorkers.opened(stand_in.place, patience=0.3, stop_patience=0.1)

        await workers.resize(SHAPE, 1)

        told = await failed(workers)
        assert told.why == "slurmd did not answer within 0.3 s: hello from small-1"
        assert await workers.present() == []
        await workers.close()

    asyncio.run(story())

    assert stand_in.pids() == []
    assert stand_in.notes() == {}


def test_a_program_that_is_not_there_is_a_failure_and_not_an_end_of_the_agent(
    stand_in: StandIn,
) -> None:
    async def story() -> None:
        workers = await LocalWorkers.opened(replace(stand_in.place, launch=("/no/such/program",)))

        await workers.resize(SHAPE, 1)

        told = await failed(workers)
        assert told.why == "slurmd could not be started: there is no program /no/such/program"
        assert await workers.present() == []
        await workers.close()

    asyncio.run(story())


def test_a_shape_that_cannot_be_a_file_or_a_line_is_refused(stand_in: StandIn) -> None:
    async def story() -> None:
        workers = await LocalWorkers.opened(stand_in.place)
        for bad in ("../x", "Small", "a b", "", "-x", "x" * 80):
            with pytest.raises(Invalid):
                await workers.resize(WorkerShape(name=bad, arch="", cpus=1, memory_mib=1), 1)
        with pytest.raises(Invalid):
            await workers.resize(
                WorkerShape(name="x", arch="", cpus=1, memory_mib=1, features=("a b=c",)), 1
            )
        assert await workers.present() == []
        await workers.close()

    asyncio.run(story())


def test_a_second_agent_in_one_place_is_refused(stand_in: StandIn) -> None:
    async def story() -> None:
        workers = await LocalWorkers.opened(stand_in.place)
        with pytest.raises(Refused, match="Another agent tends the workers in"):
            await LocalWorkers.opened(stand_in.place)
        await workers.close()
        again = await LocalWorkers.opened(stand_in.place)
        await again.close()

    asyncio.run(story())


def altered(stand_in: StandIn, name: str, **changed: object) -> None:
    file = stand_in.place.directory / f"{name}.json"
    file.write_text(json.dumps({**json.loads(file.read_bytes()), **changed}))


async def with_one_ready(stand_in: StandIn) -> None:
    stand_in.let("answer")
    workers = await LocalWorkers.opened(stand_in.place)
    await workers.resize(SHAPE, 1)
    await all_ready(workers)
    await workers.close()


def test_what_the_last_life_of_the_cluster_left_behind_is_cleared_away(stand_in: StandIn) -> None:
    async def story() -> None:
        await with_one_ready(stand_in)
        stand_in.end_all()
        altered(stand_in, "small-1", life=1)

        workers = await LocalWorkers.opened(stand_in.place)

        assert await workers.present() == []
        assert await workers.failures() == []
        await workers.close()

    asyncio.run(story())

    assert stand_in.notes() == {}
    assert len(stand_in.calls()) == 1


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-SEI", "-c", "input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        yield process
        process.communicate(b"\n")


def test_somebody_elses_process_with_a_pid_of_ours_is_left_alone(
    stand_in: StandIn, stranger: subprocess.Popen[bytes]
) -> None:
    async def story() -> None:
        await with_one_ready(stand_in)
        stand_in.end_all()
        altered(stand_in, "small-1", pid=stranger.pid, started=1)

        workers = await LocalWorkers.opened(stand_in.place)
        await all_ready(workers)
        await workers.remove("small-1")
        await workers.close()

    asyncio.run(story())

    assert stranger.poll() is None


def test_one_that_died_while_no_agent_looked_is_started_again_for_the_jobs_it_left(
    stand_in: StandIn,
) -> None:
    async def story() -> None:
        await with_one_ready(stand_in)
        stand_in.end_all()

        workers = await LocalWorkers.opened(stand_in.place)
        await all_ready(workers)

        assert [each.name for each in await workers.present()] == ["small-1"]
        assert await workers.failures() == []
        await workers.close()

    asyncio.run(story())

    assert ["-b" in call for call in stand_in.calls_of("small-1")] == [True, False]


def test_one_whose_pid_an_agent_did_not_live_to_write_down_is_found(stand_in: StandIn) -> None:
    async def story() -> None:
        await with_one_ready(stand_in)
        pid = stand_in.pid("small-1")
        altered(stand_in, "small-1", pid=0, started=0, was_ready=False)

        workers = await LocalWorkers.opened(stand_in.place)
        await all_ready(workers)

        assert [each.name for each in await workers.present()] == ["small-1"]
        assert stand_in.pids() == [pid]
        await workers.remove("small-1")
        await workers.close()

    asyncio.run(story())

    assert stand_in.pids() == []


def test_all_register_anew_when_slurmctld_has_forgotten(stand_in: StandIn) -> None:
    async def story() -> None:
        stand_in.let("answer")
        workers = await LocalWorkers.opened(stand_in.place)
        await workers.resize(SHAPE, 3)
        await all_ready(workers)
        before = set(stand_in.pids())

        await workers.register_anew()

        assert [each.ready for each in await workers.present()] == [True] * 3
        assert len(stand_in.pids()) == 3
        assert not before & set(stand_in.pids())
        await workers.close()

    asyncio.run(story())

    assert [["-b" in call for call in stand_in.calls_of(f"small-{n}")] for n in (1, 2, 3)] == [
        [True, False]
    ] * 3


def test_one_that_answers_unnoticed_does_not_say_it_was_rebooted(stand_in: StandIn) -> None:
    async def story() -> None:
        await with_one_ready(stand_in)
        altered(stand_in, "small-1", was_ready=False)

        workers = await LocalWorkers.opened(stand_in.place)
        await workers.register_anew()
        await workers.close()

    asyncio.run(story())

    assert ["-b" in call for call in stand_in.calls_of("small-1")] == [True, False]


def test_workers_outlive_the_process_that_started_them(stand_in: StandIn) -> None:
    stand_in.let("answer")
    program = f"""
import asyncio, os
from pathlib import Path
from clusterra.adapters.workers_local import LocalWorkers, read_place
from clusterra.ports import WorkerShape
async def story():
    workers = await LocalWorkers.opened(read_place(Path({str(stand_in.place_file())!r})))
    shape = WorkerShape(name="small", arch="", cpus=1, memory_mib=1)
    await workers.resize(shape, 2)
    os._exit(9)
asyncio.run(story())
"""
    done = subprocess.run([sys.executable, "-c", program], check=False)

    async def story() -> None:
        workers = await LocalWorkers.opened(stand_in.place)
        await all_ready(workers)
        assert [each.name for each in await workers.present()] == ["small-1", "small-2"]
        await workers.resize(SHAPE, 0)

        async def gone() -> bool:
            return not await workers.present()

        await until(gone)
        await workers.close()

    asyncio.run(story())
    assert done.returncode == 9
    assert stand_in.pids() == []
    assert [each.name for each in stand_in.place.directory.iterdir()] == ["agent.lock"]


@pytest.mark.parametrize("written", ["{", '{"directory": 3, "first_port": 1}', '{"first_port": 1}'])
def test_a_place_that_is_none_is_said_so(tmp_path: Path, written: str) -> None:
    file = tmp_path / "place.json"
    file.write_text(written)

    with pytest.raises(Invalid, match="does not describe a place for workers"):
        read_place(file)
    with pytest.raises(Invalid, match="cannot be read"):
        read_place(tmp_path / "none.json")
