"""What a message knows beyond its event, and for whom."""

from dataclasses import replace
from datetime import timedelta

from clusterra.control.people.edit import edit_workspace
from clusterra.core.access import OthersJobs
from clusterra.core.change import Change
from clusterra.core.events.catalogue.jobs import JobOutOfMemory
from clusterra.core.jobs.job import JobState
from clusterra.ports import Store
from tests.builders import NOON, a_job
from tests.control.webhooks.post import Post
from tests.people import SOMEBODY, somebody

SLACK = "https://hooks.slack.com/services/T/B/x"
HUNGRY = a_job(
    1,
    state=JobState.OUT_OF_MEMORY,
    name="hungry",
    memory_mib=200,
    nodes="w[1-2]",
    started_at=NOON,
    ended_at=NOON + timedelta(minutes=2),
    billed_micros=12_400,
    billed_until=NOON + timedelta(minutes=2),
    billed_runs=(0,),
    signal=9,
)


async def test_a_message_says_what_it_cost_why_it_failed_and_what_to_do(store: Store) -> None:
    post = await Post(store).open()
    endpoint = await post.endpoint(SLACK)
    await store.commit(post.world.id, Change(jobs=[HUNGRY]))
    post.world.logs.written[1] = b"s3cret result\nerror: Exceeded job memory limit\n"
    await post.happens(1, kind=JobOutOfMemory, state="OUT_OF_MEMORY", ran_seconds=120)

    await post.deliver(endpoint)

    [message] = post.receiver.bodies()
    assert message["text"].startswith("Job 1 failed: out of memory")
    assert "Cost: $0.0124." in message["text"]
    assert "It asked for 200 MiB" in message["text"]
    assert message["text"].count("out of memory") == 1
    assert "such as 300 MiB" in message["text"]
    # What a job wrote stays where it ran.
    assert "s3cret" not in str(message)


async def test_whoever_may_not_see_a_job_whole_is_told_nothing_of_it(store: Store) -> None:
    post = await Post(store).open()
    ben = await somebody(post.plane, "ben")
    endpoint = await post.endpoint(SLACK, by=ben)
    directory = post.plane.people.directory
    await edit_workspace(
        directory,
        post.plane.people.home,
        name=None,
        others_jobs=OthersJobs.QUEUE,
        by=SOMEBODY,
        at=post.clock.now(),
    )
    await post.happens(1, user="ana")
    await post.happens(1, user="ben")

    await post.deliver(endpoint)

    [message] = post.receiver.bodies()
    assert message["text"].startswith("Job 2 failed")


async def test_a_job_that_is_known_no_more_is_told_of_all_the_same(store: Store) -> None:
    post = await Post(store).open()
    endpoint = await post.endpoint(SLACK)
    await post.happens(1)

    await post.deliver(endpoint)

    assert post.receiver.bodies()[0]["text"].startswith("Job 1 failed")


async def test_slurm_out_of_reach_keeps_no_message_back(store: Store) -> None:
    post = await Post(store).open()
    endpoint = await post.endpoint(SLACK)
    await store.commit(post.world.id, Change(jobs=[replace(HUNGRY, state=JobState.FAILED)]))
    post.world.slurm.reachable = False
    await post.happens(1)

    await post.deliver(endpoint)

    assert post.receiver.bodies()[0]["text"].startswith("Job 1 failed")
