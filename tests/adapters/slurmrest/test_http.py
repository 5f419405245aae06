"""The whole adapter against servers that behave, and servers that do not."""

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import cast

import pytest

from clusterra.adapters.slurmrest import SlurmRest, client
from clusterra.core.errors import (
    ClusterraError,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    Refused,
    Unanswered,
    Unreachable,
)
from clusterra.core.jobs.job import Job
from clusterra.core.jobs.request import JobEdit, JobRequest
from tests.adapters.slurmrest.replay import (
    DIAG,
    NEWEST,
    FakeSlurmrestd,
    Request,
    StoppedClock,
    fake_slurmrestd,
    hangs_up,
    raw,
    recording,
    replays,
    says,
    talking_to,
)
from tests.builders import NOON

pytestmark = pytest.mark.enable_socket

JOB = JobRequest(script="#!/bin/bash\n", properties={"partition": "main"})
STATES = "GET /slurm/v0.0.45/jobs/state/"
JOBS = "GET /slurm/v0.0.45/jobs/"
SUBMIT = "POST /slurm/v0.0.45/job/submit"


def with_slurm(
    story: Callable[[FakeSlurmrestd, SlurmRest], Awaitable[None]],
    *versions: str,
    timeout_seconds: float = 5,
) -> None:
    async def run() -> None:
        async with (
            fake_slurmrestd(*versions) as fake,
            talking_to(fake.url, timeout_seconds=timeout_seconds) as slurm,
        ):
            await story(fake, slurm)

    asyncio.run(run())


@pytest.mark.parametrize("offered", ["v0.0.42", "v0.0.43", "v0.0.44", "v0.0.45"])
def test_the_newest_version_both_sides_know_is_spoken(offered: str) -> None:
    async def story(fake: FakeSlurmrestd, slurm: SlurmRest) -> None:
        fake.on(f"GET /slurmdb/{offered}/diag/", says({"errors": []}))
        fake.on("GET /slurm/v0.0.45/conf", says({"slurm_conf_meta": {"BOOT_TIME": 1772452800}}))

        info = await slurm.about()

        assert (info.api_version, info.version, info.cluster_name) == (offered, "26.05.5", "dev")
        assert info.accounting
        assert info.booted_at == (NOON if offered == "v0.0.45" else None)

    with_slurm(story, "v0.0.41", "v0.0.42", offered)


def test_a_server_without_a_version_of_ours_is_named_as_such() -> None:
    async def story(_fake: FakeSlurmrestd, slurm: SlurmRest) -> None:
        with pytest.raises(Refused, match=r"none of v0\.0\.42 to v0\.0\.45"):
            await slurm.states()

    with_slurm(story, "v0.0.41")


def test_an_upgraded_slurmrestd_is_asked_again_what_it_speaks() -> None:
    async def story(fake: FakeSlurmrestd, slurm: SlurmRest) -> None:
        fake.on("GET /slurm/v0.0.42/jobs/state/", says({"jobs": []}))
        await slurm.states()

        fake.answers.clear()
        fake.on("GET /slurm/v0.0.44/diag/", says(DIAG))
        fake.on("GET /slurm/v0.0.44/jobs/state/", says({"jobs": [{"job_id": "1", "state": []}]}))
        fake.on("GET /slurm/v0.0.44/jobs/", says({"jobs": [{"job_id": 1}]}))

        assert set(await slurm.states()) == {1}
        assert [job.id async for job in slurm.all_jobs()] == [1]

    with_slurm(story, "v0.0.42")


def test_every_request_carries_the_name_and_the_token_of_whom_it_is_for() -> None:
    async def story(fake: FakeSlurmrestd, slurm: SlurmRest) -> None:
        fake.on(SUBMIT, says({"job_id": 7}))
        fake.on(STATES, says({"jobs": []}))

        await slurm.submit(JOB, user="ana")
        await slurm.states()

        by_ana, by_us = fake.requests[-2:]
        assert by_ana.headers["x-slurm-user-name"] == "ana"
        assert by_us.headers["x-slurm-user-name"] == "root"
        assert by_ana.headers["x-slurm-user-token"] != by_us.headers["x-slurm-user-token"]

    with_slurm(story)


def test_a_read_is_tried_again_when_the_connection_breaks() -> None:
    async def story(fake: FakeSlurmrestd, slurm: SlurmRest) -> None:
        async def mends(request: Request, writer: asyncio.StreamWriter) -> None:
            fake.on(STATES, says({"jobs": [{"job_id": "3", "state": ["PENDING"]}]}))
            writer.close()

        fake.on(STATES, mends)

        assert await slurm.states() == {3: "PENDING"}

    with_slurm(story)


def test_a_submission_is_sent_once_and_silence_is_not_a_no() -> None:
    async def story(fake: FakeSlurmrestd, slurm: SlurmRest) -> None:
        fake.on(SUBMIT, hangs_up)

        with pytest.raises(Unanswered):
            await slurm.submit(JOB, user="ana")

        assert fake.asked(SUBMIT) == 1

    with_slurm(story)


def test_a_reply_cut_off_leaves_a_submission_unanswered() -> None:
    async def story(fake: FakeSlurmrestd, slurm: SlurmRest) -> None:
        async def dies(_request: Request, writer: asyncio.StreamWriter) -> None:
            writer.write(raw(200, b'{"job_id":7,"errors":[]}')[:-10])
            await writer.drain()
            writer.close()

        fake.on(SUBMIT, dies)

        with pytest.raises(Unanswered):
            await slurm.submit(JOB, user="ana")

    with_slurm(story)


def test_a_submission_that_times_out_is_unanswered() -> None:
    async def story(fake: FakeSlurmrestd, slurm: SlurmRest) -> None:
        over = asyncio.Event()

        async def sleeps(_request: Request, _writer: asyncio.StreamWriter) -> None:
            await over.wait()

        fake.on(SUBMIT, sleeps)

        with pytest.raises(Unanswered, match="no answer in time"):
            await slurm.submit(JOB, user="ana")
        over.set()

    with_slurm(story, timeout_seconds=0.3)


def test_a_submission_to_nobody_was_certainly_not_sent() -> None:
    async def story() -> None:
        async with fake_slurmrestd() as fake, talking_to(fake.url) as slurm:
            fake.on(STATES, says({"jobs": []}))
            await slurm.states()
            url = fake.url
        async with talking_to(url) as slurm:
            with pytest.raises(Unreachable) as refusal:
                await slurm.submit(JOB, user="ana")

        assert type(refusal.value) is Unreachable
        assert url in refusal.value.detail

    asyncio.run(story())


def test_a_connection_the_server_has_closed_meanwhile_is_not_used() -> None:
    async def story(fake: FakeSlurmrestd, slurm: SlurmRest) -> None:
        closed = asyncio.Event()

        async def then_closes(_request: Request, writer: asyncio.StreamWriter) -> None:
            writer.write(raw(200, b'{"jobs":[]}'))
            await writer.drain()
            writer.close()
            closed.set()

        fake.on(STATES, then_closes)
        fake.on(SUBMIT, says({"job_id": 7}))
        await slurm.states()
        await closed.wait()
        await asyncio.sleep(0.05)  # the goodbye travels through the kernel

        assert (await slurm.submit(JOB, user="ana")).job_id == 7

    with_slurm(story)


def test_a_connection_that_closes_as_it_is_asked_loses_a_submission_and_no_read() -> None:
    async def story(fake: FakeSlurmrestd, slurm: SlurmRest) -> None:
        fake.on(STATES, says({"jobs": []}))
        fake.on(SUBMIT, hangs_up)
        await slurm.states()
        with pytest.raises(Unanswered):
            await slurm.submit(JOB, user="ana")
        assert fake.asked(SUBMIT) == 1

        async def mends(_request: Request, writer: asyncio.StreamWriter) -> None:
            fake.on(STATES, says({"jobs": []}))
            writer.close()

        fake.on(SUBMIT, says({"job_id": 7}))
        await slurm.submit(JOB, user="ana")
        fake.on(STATES, mends)
        assert await slurm.states() == {}
        assert fake.asked(STATES) == 3

    with_slurm(story)


def test_a_reply_longer_than_anything_slurm_says_is_not_taken_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(client, "LONGEST", 1 << 20)

    async def story(fake: FakeSlurmrestd, slurm: SlurmRest) -> None:
        async def never_ends(_request: Request, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
            while True:
                writer.write(b" " * 65536)
                await writer.drain()

        fake.on(STATES, never_ends)
        fake.on(SUBMIT, never_ends)

        with pytest.raises(Unreachable, match="longer than 1 MiB"):
            await slurm.states()
        assert fake.asked(STATES) == 1
        with pytest.raises(Unanswered, match="longer than 1 MiB"):
            await slurm.submit(JOB, user="ana")

    with_slurm(story)


def test_whoever_gives_up_waiting_gives_the_place_back_and_no_connection() -> None:
    async def story() -> None:
        async with fake_slurmrestd() as fake, talking_to(fake.url, connections=1) as slurm:
            asked, over = asyncio.Event(), asyncio.Event()

            async def waits(_request: Request, _writer: asyncio.StreamWriter) -> None:
                asked.set()
                await over.wait()

            fake.on(SUBMIT, waits)
            giving_up = asyncio.create_task(slurm.submit(JOB, user="ana"))
            await asked.wait()
            giving_up.cancel()

            fake.on(STATES, says({"jobs": []}))
            assert await slurm.states() == {}
            assert fake.connections == 2
            assert giving_up.cancelled()
            over.set()

    asyncio.run(story())


def test_a_list_that_nobody_reads_to_its_end_leaves_no_connection_behind() -> None:
    async def story() -> None:
        async with fake_slurmrestd() as fake, talking_to(fake.url, connections=1) as slurm:
            fake.on(JOBS, replays(recording("26.05", "v0.0.45", "jobs")))
            fake.on(STATES, says({"jobs": []}))
            async with aclosing(cast("AsyncGenerator[Job, None]", slurm.all_jobs())) as jobs:
                assert (await anext(jobs)).id > 0

            assert await slurm.states() == {}

    asyncio.run(story())


def test_connections_are_kept_and_bounded() -> None:
    async def story() -> None:
        async with fake_slurmrestd() as fake, talking_to(fake.url, connections=2) as slurm:
            fake.on(STATES, says({"jobs": []}))
            await asyncio.gather(*(slurm.states() for _ in range(20)))

            assert fake.asked(STATES) == 20
            assert fake.connections <= 2

    asyncio.run(story())


def test_an_error_said_twice_is_heard_once() -> None:
    async def story(fake: FakeSlurmrestd, slurm: SlurmRest) -> None:
        reply = recording("26.05", "v0.0.45", "submit-partition")

        async def repeats(_request: Request, writer: asyncio.StreamWriter) -> None:
            again = raw(reply.status, b"Invalid partition name", "text/plain", close=True)
            writer.write(raw(reply.status, reply.body, close=True) + again)
            await writer.drain()
            writer.close()

        fake.on(SUBMIT, repeats)

        for _ in range(3):
            with pytest.raises(Refused, match="no partition main"):
                await slurm.submit(JOB, user="ana")

    with_slurm(story)


@pytest.mark.parametrize(("release", "version"), NEWEST)
def test_a_recorded_queue_is_streamed_whole(release: str, version: str) -> None:
    async def story(fake: FakeSlurmrestd, slurm: SlurmRest) -> None:
        reply = recording(release, version, "jobs")

        async def in_chunks(_request: Request, writer: asyncio.StreamWriter) -> None:
            writer.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                b"Transfer-Encoding: chunked\r\n\r\n"
            )
            for at in range(0, len(reply.body), 5000):
                chunk = reply.body[at : at + 5000]
                writer.write(b"%x\r\n" % len(chunk) + chunk + b"\r\n")
                await writer.drain()
            writer.write(b"0\r\n\r\n")

        fake.on(f"GET /slurm/{version}/jobs/", in_chunks)
        fake.on(f"GET /slurmdb/{version}/jobs/", replays(recording(release, version, "past-jobs")))

        live = [job async for job in slurm.all_jobs()]
        past = [job async for job in slurm.history(NOON, NOON)]

        assert len(live) == len({job.id for job in live}) >= 12
        assert {job.id for job in past} == {job.id for job in live}

    with_slurm(story, version)


def test_a_list_killed_halfway_is_an_error_not_a_short_list() -> None:
    async def story(fake: FakeSlurmrestd, slurm: SlurmRest) -> None:
        body = recording("26.05", "v0.0.45", "jobs").body

        async def dies(_request: Request, writer: asyncio.StreamWriter) -> None:
            writer.write(raw(200, body)[: len(body) // 2])
            await writer.drain()
            writer.close()

        fake.on(JOBS, dies)
        jobs = slurm.all_jobs()

        assert (await anext(jobs)).id > 0
        with pytest.raises(Unreachable):
            assert [job async for job in jobs]

    with_slurm(story)


def test_a_list_that_cannot_be_had_says_why() -> None:
    async def story(fake: FakeSlurmrestd, slurm: SlurmRest) -> None:
        fake.on(JOBS, says({"jobs": [], "errors": [{"error_number": 1800}]}, 502))

        with pytest.raises(Unreachable) as refusal:
            assert [job async for job in slurm.all_jobs()]

        assert refusal.value.code == "controller-unreachable"

    with_slurm(story)


def test_accounting_is_asked_for_at_most_a_hundred_jobs_at_a_time() -> None:
    async def story(fake: FakeSlurmrestd, slurm: SlurmRest) -> None:
        fake.on("GET /slurmdb/v0.0.45/jobs/", says({"jobs": []}))

        assert list(await slurm.accounted(range(1, 251))) == []
        assert list(await slurm.accounted([])) == []

        asked = [each.path for each in fake.requests if "slurmdb" in each.path]
        assert [path.count("step=") for path in asked] == [100, 100, 50]
        assert all("disable_truncate_usage_time=true" in path for path in asked)

    with_slurm(story)


def test_earlier_runs_of_a_requeued_job_are_left_out_of_history() -> None:
    async def story(fake: FakeSlurmrestd, slurm: SlurmRest) -> None:
        states = ["PENDING", "REQUEUED"], ["COMPLETED"]
        runs = [
            {"job_id": 6, "nodes": "w1", "state": {"current": state}, "time": {"submission": n}}
            for n, state in enumerate(states, 1)
        ]
        fake.on("GET /slurmdb/v0.0.45/jobs/", says({"jobs": runs}))

        (job,) = [job async for job in slurm.history(NOON, NOON)]

        assert job.state.value == "COMPLETED"

    with_slurm(story)


@pytest.mark.parametrize(("release", "version"), NEWEST)
@pytest.mark.parametrize(
    ("name", "kind"),
    [("cancel-unknown", NotFound), ("cancel-foreign", Forbidden), ("cancel-ended", Conflict)],
)
def test_a_cancel_that_failed_is_an_error_though_it_answers_200(
    name: str, kind: type[ClusterraError], release: str, version: str
) -> None:
    async def story(fake: FakeSlurmrestd, slurm: SlurmRest) -> None:
        fake.on(f"DELETE /slurm/{version}/job/41", replays(recording(release, version, name)))
        fake.on(f"GET /slurm/{version}/job/41", says({"jobs": [{"job_id": 41}]}))

        with pytest.raises(kind):
            await slurm.cancel(41, user="ana")

    with_slurm(story, version)


def test_cancelling_an_array_succeeds_if_any_task_was_left_to_cancel() -> None:
    async def story(fake: FakeSlurmrestd, slurm: SlurmRest) -> None:
        ended = {"status": [{"error": {"code": 2021}, "step_id": "9_0"}]}
        fake.on("DELETE /slurm/v0.0.45/job/9", says(ended))
        fake.on("GET /slurm/v0.0.45/job/9", says({"jobs": [{"job_id": 10}, {"job_id": 9}]}))
        await slurm.cancel(9, user="ana")

        fake.on("GET /slurm/v0.0.45/job/9", says({"jobs": [{"job_id": 10}]}))
        with pytest.raises(Conflict):
            await slurm.cancel(9, user="ana")

    with_slurm(story)


def test_requeueing_needs_the_newest_version_and_says_what_to_do_without() -> None:
    async def story(_fake: FakeSlurmrestd, slurm: SlurmRest) -> None:
        with pytest.raises(Refused, match=r"26\.05") as refusal:
            await slurm.requeue(41, user="ana")

        assert "scontrol requeue 41" in refusal.value.hint

    with_slurm(story, "v0.0.44")


def test_requeueing_an_array_succeeds_if_any_task_was_requeued() -> None:
    async def story(fake: FakeSlurmrestd, slurm: SlurmRest) -> None:
        requeue = "GET /slurm/v0.0.45/job/9/requeue"
        fake.on(requeue, says({"status": [{"error_code": 0}, {"error_code": 2024}]}))
        await slurm.requeue(9, user="ana")

        fake.on(requeue, replays(recording("26.05", "v0.0.45", "requeue-waiting")))
        with pytest.raises(Conflict):
            await slurm.requeue(9, user="ana")

        fake.on(requeue, hangs_up)
        with pytest.raises(Unanswered):
            await slurm.requeue(9, user="ana")
        assert fake.asked(requeue) == 3

    with_slurm(story)


def test_an_edit_sends_only_what_changes() -> None:
    async def story(fake: FakeSlurmrestd, slurm: SlurmRest) -> None:
        fake.on("POST /slurm/v0.0.45/job/41", says({"results": None, "errors": []}))

        await slurm.edit(41, JobEdit(time_limit_minutes=30, hold=False), user="ana")

        assert fake.requests[-1].body == b'{"time_limit":{"set":true,"number":30},"hold":false}'

    with_slurm(story)


def test_an_association_that_304_pretends_to_have_is_not_believed() -> None:
    async def story(fake: FakeSlurmrestd, slurm: SlurmRest) -> None:
        async def nothing_new(_request: Request, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 304 NOT MODIFIED\r\nContent-Length: 0\r\n\r\n")

        there = says({"associations": [{"account": "lab", "user": "ana"}]})
        fake.on("GET /slurmdb/v0.0.45/associations/", says({"associations": []}))
        fake.on("POST /slurmdb/v0.0.45/accounts_association/", nothing_new)
        fake.on("POST /slurmdb/v0.0.45/users_association/", nothing_new)
        with pytest.raises(Unreachable, match="did not put ana into the account lab"):
            await slurm.enroll("ana", "lab")

        fake.on("GET /slurmdb/v0.0.45/associations/", there)
        await slurm.enroll("ana", "lab")

        assert fake.asked("POST /slurmdb/v0.0.45/users_association/") == 1

    with_slurm(story)


@pytest.mark.parametrize(
    ("answer", "accounting"),
    [
        (says({"errors": []}), True),
        (says({"errors": [{"error_number": 2002}]}, 422), True),
        (says({"errors": [{"error_number": 7000}]}, 502), False),
        (None, False),
    ],
)
def test_accounting_is_there_if_slurmdbd_answers_at_all(answer: object, accounting: bool) -> None:
    async def story(fake: FakeSlurmrestd, slurm: SlurmRest) -> None:
        if answer is not None:
            fake.on("GET /slurmdb/v0.0.44/diag/", answer)  # type: ignore[arg-type]

        assert (await slurm.about()).accounting is accounting

    with_slurm(story, "v0.0.44")


def test_a_rejected_token_is_our_fault_and_says_so() -> None:
    async def story(fake: FakeSlurmrestd, slurm: SlurmRest) -> None:
        fake.on("GET /slurm/v0.0.45/diag/", replays(recording("26.05", "v0.0.45", "bad-token")))

        with pytest.raises(Refused) as refusal:
            await slurm.about()

        assert refusal.value.code == "slurm-rejects-key"
        assert "jwt_key" in refusal.value.hint

    with_slurm(story)


def test_a_unix_socket_is_an_address_too(tmp_path: Path) -> None:
    async def story() -> None:
        fake = FakeSlurmrestd()
        fake.on("GET /slurm/v0.0.45/diag/", says(DIAG))
        fake.on(STATES, says({"jobs": []}))
        server = await asyncio.start_unix_server(fake.serve, tmp_path / "s.sock")
        async with talking_to(f"unix:{tmp_path}/s.sock") as slurm:
            assert await slurm.states() == {}
        server.close()

        async with talking_to(f"unix:{tmp_path}/none.sock") as slurm:
            with pytest.raises(Unreachable, match="No such file"):
                await slurm.submit(JOB, user="ana")

    asyncio.run(story())


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_https_is_spoken_with_whom_the_machine_trusts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    making = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *subject]
    made = [*making, "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(made, check=True, capture_output=True)

    async def story() -> None:
        fake = FakeSlurmrestd()
        fake.on("GET /prefix/slurm/v0.0.45/diag/", says(DIAG))
        fake.on("GET /prefix/slurm/v0.0.45/jobs/state/", says({"jobs": []}))
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate, key)
        server = await asyncio.start_server(fake.serve, "127.0.0.1", 0, ssl=tls)
        url = f"https://localhost:{server.sockets[0].getsockname()[1]}/prefix/"
        async with talking_to(url) as slurm:
            with pytest.raises(Unreachable, match="self-signed certificate"):
                await slurm.states()

        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        async with talking_to(url) as slurm:
            assert await slurm.states() == {}
            assert await slurm.states() == {}
        assert fake.connections == 1
        server.close()

    asyncio.run(story())


@pytest.mark.parametrize("url", ["head:6820", "http://", "ftp://head", "http://head:port", ""])
def test_what_is_no_address_is_said_so_before_anything_is_asked(url: str) -> None:
    with pytest.raises(Invalid, match="not the address of a slurmrestd"):
        SlurmRest(url, b"key", clock=StoppedClock())


def test_an_adapter_outlives_the_event_loop_it_was_first_used_in() -> None:
    async def story() -> None:
        async with fake_slurmrestd() as fake, talking_to(fake.url) as slurm:
            fake.on(STATES, says({"jobs": []}))
            assert await slurm.states() == {}

    asyncio.run(story())
    asyncio.run(story())
