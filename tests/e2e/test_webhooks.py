"""What happens on a real Slurm is told: to people and programs, signed, at least once, never lost."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from standardwebhooks import Webhook

from tests.cluster import Running, eventually
from tests.receiver import Receiver, listening

HUNGRY = "(head -c 260M /dev/zero; sleep 5) | tail -c 260M > /dev/null; echo had enough"
"""Holds 260 MB for five seconds; Slurm looks every two."""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with listening(Receiver()) as made:
        yield made


def add(running: Running, url: str, *more: str) -> dict[str, Any]:
    done = running.cli("webhooks", "add", url, "--allow-private", *more, "--json")
    made: dict[str, Any] = json.loads(done.stdout)
    return made


@pytest.fixture
def removing(running: Running) -> Iterator[list[str]]:
    """Webhooks and automations to be removed when a test is over: the cluster is shared."""
    made: list[str] = []
    yield made
    for id in made:
        noun = "webhooks" if id.startswith("whk_") else "automations"
        running.cli(noun, "remove", id, "--yes")


def test_a_failure_reaches_people_with_its_cost_and_cause_and_programs_signed(
    running: Running, receiver: Receiver, removing: list[str]
) -> None:
    slack = add(running, receiver.url("/slack"), "--format", "slack", "--zone", "Asia/Kolkata")
    hook = add(running, receiver.url("/hook"), "--types", "job.*")
    removing += [slack["id"], hook["id"]]
    name = "<!channel> & `whoami`"
    job = running.submit("echo started; date +%s.%N; samtoolz sort", name=name, memory="64M")
    running.wait_ended(job)

    eventually("people are told", lambda: bool(receiver.at("/slack")))
    [message] = receiver.at("/slack")
    text = message.json["text"]
    assert text.startswith(f"Job {job} failed")
    assert "IST" in text
    assert "ost:" in text
    assert "A command was not found." in text
    assert "samtoolz" not in message.body.decode()  # what it wrote stays where it ran
    assert "<!channel>" not in message.body.decode()
    failed_at = float(running.client().output(running.cluster, str(job)).data.split()[1])
    # How quick it is, is measured elsewhere; here two suites share two processors.
    assert message.at - failed_at < 10

    eventually("programs are told", lambda: bool(receiver.jobs("/hook", "job.failed")))
    for request in receiver.at("/hook"):
        told = Webhook(hook["secret"]).verify(request.body, request.headers)
        assert told["id"] == request.id
        assert told["source"] == f"/clusters/{running.cluster}"


def test_a_receiver_that_was_away_gets_everything_when_it_is_back_in_order_and_once(
    running: Running, removing: list[str]
) -> None:
    away = Receiver()
    hook = add(running, away.url(), "--types", "job.completed", "--ordered")
    removing.append(hook["id"])
    jobs = [running.submit("true", name=f"away-{n}") for n in range(5)]
    for job in jobs:
        assert running.wait_ended(job).state == "COMPLETED"
    path = f"/v1/webhooks/{hook['id']}/deliveries"

    def deliveries() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(running.connection().send("GET", path).body)[
            "deliveries"
        ]
        return found

    eventually("it was tried in vain", lambda: any(each["attempts"] for each in deliveries()))
    waiting = {each["event_id"]: each["seq"] for each in deliveries()}
    with listening(away):
        eventually(
            "all is told",
            lambda: {each["state"] for each in deliveries()} == {"ok"},
            timeout=90,
        )
    ids = [each.id for each in away.got]
    assert ids == sorted(waiting, key=waiting.__getitem__)
    assert sorted(away.jobs("/hook", "job.completed")) == sorted(jobs)


def test_a_control_plane_that_is_killed_while_it_tells_loses_nothing(
    running: Running, receiver: Receiver, removing: list[str]
) -> None:
    hook = add(running, receiver.url(), "--types", "job.completed")
    removing.append(hook["id"])
    jobs: list[int] = []
    for death in range(3):
        before = len(receiver.got)
        jobs += [running.submit("true", name=f"killed-{death}-{n}") for n in range(10)]
        eventually("some are told", lambda heard=before: len(receiver.got) > heard)  # type: ignore[misc]
        running.crash("control-plane")
    for job in jobs:
        running.wait_ended(job)

    everything = set(jobs)
    eventually(
        "all are told",
        lambda: everything <= set(receiver.jobs("/hook", "job.completed")),
        timeout=60,
    )
    twice = Counter(each.id for each in receiver.got)
    assert sum(twice.values()) - len(twice) <= 3 * 32  # a lane's width for each death


def test_a_job_that_ran_out_of_memory_is_run_again_with_more_and_both_are_linked(
    running: Running, removing: list[str]
) -> None:
    made = running.cli(
        *("automations", "add", "--name", "more-memory", "--when", "job.out_of_memory"),
        *("--retry", "--most", "1", "--json"),
    )
    removing.append(json.loads(made.stdout)["id"])
    first = running.submit(HUNGRY, name="hungry", memory="200M")
    assert running.wait_ended(first).state == "OUT_OF_MEMORY"

    def fired() -> list[dict[str, Any]]:
        path = f"/v1/clusters/{running.cluster}/events?type=automation.*&subject=job/{first}"
        events: list[dict[str, Any]] = json.loads(running.connection().send("GET", path).body)[
            "events"
        ]
        return events

    eventually("the rule has acted", lambda: bool(fired()))
    [event] = fired()
    assert event["type"] == "automation.fired", event
    second = event["data"]["made_job_id"]
    assert event["data"]["changed"] == ["memory: 200 MiB → 300 MiB"]
    view = running.wait_ended(second)
    assert (view.state, view.memory_mib, view.name) == ("COMPLETED", 300, "hungry")
    for job in (first, second):
        timeline = running.cli("jobs", "timeline", str(job)).stdout
        assert str(first) in timeline
        assert str(second) in timeline


def test_a_rule_stops_after_its_last_try(running: Running, removing: list[str]) -> None:
    made = running.cli(
        *("automations", "add", "--name", "once", "--when", "job.out_of_memory"),
        *("--retry", "--most", "1", "--json"),
    )
    removing.append(json.loads(made.stdout)["id"])
    first = running.submit(HUNGRY, name="too-hungry", memory="100M")
    running.wait_ended(first)

    def told(job: int) -> list[str]:
        path = f"/v1/clusters/{running.cluster}/events?type=automation.*&subject=job/{job}"
        events = json.loads(running.connection().send("GET", path).body)["events"]
        return [each["type"] for each in events]

    eventually("it was run again", lambda: "automation.fired" in told(first))
    path = f"/v1/clusters/{running.cluster}/events?type=automation.fired&subject=job/{first}"
    [fired] = json.loads(running.connection().send("GET", path).body)["events"]
    second = fired["data"]["made_job_id"]
    assert running.wait_ended(second).state == "OUT_OF_MEMORY"
    eventually("the rule says why it stops", lambda: "automation.stopped" in told(second))
