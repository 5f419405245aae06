"""`clusterra agent` as a person, a guard and a control plane meet it."""

import asyncio
import json
import random
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from click.testing import CliRunner

from clusterra.cli.main import cli
from clusterra.local.tcp import WORKER_PORTS
from tests.agent.central import KEY, FakeCentral, central, command
from tests.agent.standin import StandIn

CLUSTER = "clus1a2b"
VARIABLES = (
    *("CLUSTERRA_CENTRAL_API_URL", "CLUSTERRA_CLUSTER_ID", "CLUSTERRA_AGENT_API_KEY"),
    *("CLUSTERRA_POLL_INTERVAL", "CLUSTERRA_GHOST_TIMEOUT_SECONDS", "EFS_BASE_PATH", "POD_IP"),
)


def agent(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli, ["agent", *words], prog_name="clusterra")
    return result.exit_code, result.output


@pytest.fixture
def stand_in(tmp_path: Path) -> Iterator[StandIn]:
    made = StandIn(tmp_path / "place", first_port=random.choice(WORKER_PORTS))
    made.let("answer")
    yield made
    made.end_all()


@pytest.fixture
def key(tmp_path: Path) -> Path:
    file = tmp_path / "agent.key"
    file.write_text(f"{KEY}\n")
    return file


@asynccontextmanager
async def running(
    stand_in: StandIn, *words: str, env: dict[str, str] | None = None
) -> AsyncIterator[asyncio.subprocess.Process]:
    ready = stand_in.home / "ready"
    ready.unlink(missing_ok=True)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "clusterra", "agent", "--local", str(stand_in.place_file())),
        *("--ready-file", str(ready), "--json", *words),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"PATH": "/usr/bin:/bin", **(env or {})},
    )
    try:
        for _ in range(1500):
            if ready.exists() or process.returncode is not None:
                break
            await asyncio.sleep(0.02)
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


def options(server: FakeCentral, key: Path) -> tuple[str, ...]:
    return ("--url", server.url, "--cluster", CLUSTER, "--key-file", str(key), "--port", "0")


@pytest.mark.parametrize(
    ("given", "missing"),
    [((), "--url"), (("--url", "http://127.0.0.1:1"), "--cluster")],
)
def test_what_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: tuple[str, ...], missing: str
) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)

    code, output = agent("--local", str(tmp_path / "place.json"), *given)

    assert code == 2
    assert output.startswith(f"{missing} is missing.")
    assert "clusterra agent --url URL" in output


@pytest.mark.enable_socket
def test_a_place_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    code, output = agent(
        *("--local", str(tmp_path / "none.json"), "--url", "http://127.0.0.1:1"),
        *("--cluster", CLUSTER, "--port", "0"),
    )

    assert code == 2
    assert "cannot be read" in output


@pytest.mark.enable_socket
def test_it_starts_what_is_wanted_and_leaves_it_running_when_it_is_stopped(
    stand_in: StandIn, key: Path
) -> None:
    async def story() -> None:
        async with central() as server:
            await server.want(command("small", 2))
            async with running(stand_in, *options(server, key)) as process:
                beat = await server.hears(
                    lambda beat: [each.ready for each in beat.workers or ()] == [True, True], 30
                )
                assert beat.k8s_nodes == ["small-1", "small-2"]
                process.send_signal(signal.SIGTERM)
                said, complaints = await process.communicate()

            assert (process.returncode, complaints) == (0, b"")
            first = json.loads(said.splitlines()[0])
            assert (first["what"], first["why"]) == ("resized", "small: 0 → 2")
            assert not (stand_in.home / "ready").exists()
            assert len(stand_in.pids()) == 2
            assert set(server.keys) == {KEY}

    asyncio.run(story())


@pytest.mark.enable_socket
def test_another_start_is_the_same_agent_finds_its_workers_and_has_them_register_anew(
    stand_in: StandIn, key: Path
) -> None:
    async def story() -> None:
        async with central() as server:
            await server.want(command("small", 2))
            async with running(stand_in, *options(server, key)) as process:
                await server.hears(
                    lambda beat: [each.ready for each in beat.workers or ()] == [True, True], 30
                )
                before = set(stand_in.pids())
                process.kill()
                await process.wait()
            beats = len(server.beats)

            async with running(stand_in, *options(server, key)):
                await server.hears(lambda beat: beat is not server.beats[beats - 1], 30)

            again = server.beats[beats]
            assert again.last_applied_version == 0
            assert [(each.name, each.ready) for each in again.workers or ()] == [
                ("small-1", True),
                ("small-2", True),
            ]
            assert again.agent_id == server.beats[0].agent_id != ""
            assert not before & set(stand_in.pids())
            assert ["-b" in call for call in stand_in.calls_of("small-1")] == [True, False]

    asyncio.run(story())


@pytest.mark.enable_socket
def test_a_second_agent_on_one_place_does_not_start(stand_in: StandIn, key: Path) -> None:
    async def story() -> None:
        async with central() as server, running(stand_in, *options(server, key)) as first:
            second = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "clusterra", "agent"),
                *("--local", str(stand_in.place_file()), *options(server, key)),
                stderr=subprocess.PIPE,
            )
            _, complaint = await second.communicate()

            assert second.returncode == 3
            assert b"Another agent tends the workers in" in complaint
            assert first.returncode is None

    asyncio.run(story())


@pytest.mark.enable_socket
def test_the_variables_of_the_public_agent_are_understood_and_logs_are_served(
    stand_in: StandIn, tmp_path: Path
) -> None:
    (tmp_path / "slurm-41.out").write_text("hello\n")

    async def story() -> None:
        async with central() as server:
            environ = {
                "CLUSTERRA_CENTRAL_API_URL": server.url,
                "CLUSTERRA_CLUSTER_ID": CLUSTER,
                "CLUSTERRA_AGENT_API_KEY": KEY,
                "CLUSTERRA_POLL_INTERVAL": "0",
                "CLUSTERRA_GHOST_TIMEOUT_SECONDS": "soon",
                "EFS_BASE_PATH": str(tmp_path),
                "POD_IP": "127.0.0.1",
            }
            async with running(stand_in, "--port", "0", env=environ):
                beat = await server.hears(lambda beat: beat.wait_seconds > 0, 30)
                assert (beat.cluster_id, beat.wait_seconds) == (CLUSTER, 15)
                assert beat.agent_ip == "127.0.0.1"
                async with aiohttp.ClientSession() as http:
                    async with http.get(f"{beat.agent_url}/healthz") as answer:
                        assert (answer.status, await answer.read()) == (200, b"")
                    async with http.get(f"{beat.agent_url}/logs/41") as answer:
                        assert answer.status == 401
                    asked = {"X-Agent-Key": KEY}
                    async with http.get(f"{beat.agent_url}/logs/41", headers=asked) as answer:
                        assert await answer.read() == b"hello\n"

    asyncio.run(story())


@pytest.mark.enable_socket
def test_a_port_that_is_taken_is_said_so(stand_in: StandIn) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, output = agent(
            *("--local", str(stand_in.place_file()), "--url", "http://127.0.0.1:1"),
            *("--cluster", CLUSTER, "--port", str(port)),
        )

    assert code == 3
    assert f"Port {port} on 127.0.0.1 cannot be used" in output
