"""`GET …/jobs/{job}/diagnosis`, and posting what it proposes."""

import asyncio
from datetime import timedelta

from clusterra.core.jobs.job import JobState
from tests.api.test_jobs import JOBS, Api
from tests.people import token_of
from tests.world import World

OOM = b"start\nslurmstepd: error: Detected 1 oom_kill event in StepId=1.batch.\n"
SCRIPT = "#!/bin/bash\n#SBATCH --mem=1G --time=10 --comment='first try'\ntrue\n"


async def failed(api: Api, state: JobState = JobState.FAILED, **facts: object) -> int:
    id = await api.submit(script=SCRIPT, env={"A": "1"}, cpus=2)
    await api.plane.submitters[api.world.id].settle()
    api.world.slurm.move(id, JobState.RUNNING)
    api.world.clock.advance(timedelta(minutes=2))
    api.world.slurm.move(id, state, **facts)
    await api.world.observer.look()
    return id


def test_a_failure_is_explained_with_its_evidence() -> None:
    async def story() -> None:
        api = Api(world := World())
        world.logs.written[1] = OOM
        world.slurm.peaks[1] = 1000
        id = await failed(api, signal=9)

        told = (await api("GET", f"{JOBS}/{id}/diagnosis")).json

        assert (told["state"], told["failed"], told["cause"]) == ("FAILED", True, "out-of-memory")
        assert told["ended_with"] == "ended by signal 9 (SIGKILL)"
        assert told["last_lines"][0] == "start"
        assert (told["memory_asked_mib"], told["memory_used_mib"]) == (1024, 1000)
        assert (told["ran_seconds"], told["spot"], told["node_events"]) == (120, False, [])
        assert told["advice"] == "Submit it again with more memory, such as 1.5 GiB."
        assert told["resubmit"]["changes"] == ["memory: 1 GiB → 1.5 GiB"]
        assert told["why_not"] == ""

    asyncio.run(story())


def test_what_is_proposed_can_be_posted_as_it_is_and_runs() -> None:
    async def story() -> None:
        api = Api(world := World())
        world.logs.written[1] = OOM
        id = await failed(api, signal=9)
        first = await world.job(id)
        proposed = (await api("GET", f"{JOBS}/{id}/diagnosis")).json["resubmit"]["body"]

        answer = await api("POST", f"{JOBS}/submit", proposed)

        assert answer.status == 201, answer.body
        (second,) = await world.slurm.job(answer.json["job_id"])
        assert (second.memory_mib, second.time_limit_minutes) == (1536, 10)
        assert second.run_id == answer.json["run_id"] != first.run_id
        assert (second.name, second.comment, second.work_dir) == (
            first.name,
            "first try",
            first.work_dir,
        )
        await api.plane.submitters[world.id].settle()
        kept = await api.plane.requests.of(second.run_id)
        assert kept is not None
        assert {"A=1", "SLURM_CPUS_PER_TASK=2"} <= set(kept.properties["environment"])
        assert kept.script == SCRIPT

    asyncio.run(story())


def test_a_job_that_completed_or_runs_is_no_error() -> None:
    async def story() -> None:
        api = Api(World())
        done = await failed(api, JobState.COMPLETED)
        waiting = await api.submit()

        one = await api("GET", f"{JOBS}/{done}/diagnosis")
        other = await api("GET", f"{JOBS}/{waiting}/diagnosis")

        assert (one.status, one.json["summary"]) == (200, "It completed; there is nothing to mend.")
        assert (one.json["cause"], one.json["cost_lost_micros"]) == ("none", None)
        assert (other.status, other.json["failed"]) == (200, False)
        assert other.json["resubmit"] is None
        assert other.json["why_not"] == "It has not ended."

    asyncio.run(story())


def test_it_is_for_whoever_may_read_the_output() -> None:
    async def story() -> None:
        api = Api(World())
        id = await failed(api, JobState.TIMEOUT)
        ben = await token_of(api.plane, "ben")

        refused = await api("GET", f"{JOBS}/{id}/diagnosis", token=ben)
        unknown = await api("GET", f"{JOBS}/99/diagnosis")

        assert (refused.status, refused.json["code"]) == (403, "foreign-job")
        assert (unknown.status, unknown.json["code"]) == (404, "job-not-found")

    asyncio.run(story())
