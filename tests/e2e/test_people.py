"""Two people on one cluster: each their own Linux user, and neither in the other's things."""

import json

import pytest

from clusterra.client.client import WhichEvents
from clusterra.core.errors import Forbidden, NotFound, Refused, Unauthenticated
from tests.cluster import Running, eventually

pytestmark = pytest.mark.usefixtures("needs_root")


FOREVER = "sleep 600"


def uid_of(running: Running, person: str) -> int:
    people = json.loads(running.cli("people", "list", "--json").stdout)["people"]
    return int(next(each["uid"] for each in people if each["login"] == person))


def output(running: Running, job_id: int) -> list[str]:
    running.wait_ended(job_id)
    return running.client().output(running.cluster, job_id).data.decode().splitlines()


def test_each_persons_jobs_run_under_their_own_name_and_number(running: Running) -> None:
    ids = {who: running.submit("id -un; id -u; id -g", person=who) for who in ("ana", "ben")}

    for who, job_id in ids.items():
        uid = str(uid_of(running, who))
        assert output(running, job_id) == [who, uid, uid]
    assert uid_of(running, "ana") != uid_of(running, "ben")


def test_one_cannot_read_the_others_files_in_a_job(running: Running) -> None:
    running.wait_ended(running.submit("echo secret > ~/secret; chmod 644 ~/secret", person="ana"))
    thief = running.submit("cat /home/ana/secret /home/ana/job_*.out; ls /home/ana", person="ben")

    lines = output(running, thief)

    assert "secret" not in lines
    assert len(lines) == 3
    assert all("Permission denied" in line for line in lines)


def test_one_cannot_read_what_the_others_job_wrote(running: Running) -> None:
    job_id = running.submit("echo secret", person="ana")
    running.wait_ended(job_id)

    with pytest.raises(Forbidden, match="is for ana, who submitted it"):
        running.client("ben").output(running.cluster, job_id)
    assert running.client("ana").output(running.cluster, job_id).data == b"secret\n"


def test_one_cannot_read_it_by_calling_it_ones_own_output(running: Running) -> None:
    """The path of a job's output is its submitter's to choose, and the server runs as root."""
    running.wait_ended(running.submit("echo secret > ~/kept", person="ana"))
    job_id = running.submit("true", person="ben", output="/home/ana/kept")
    running.wait_ended(job_id)

    with pytest.raises(Refused, match="does not belong to ben"):
        running.client("ben").output(running.cluster, job_id)


def test_a_workspace_that_hides_others_jobs_hides_them(running: Running) -> None:
    job_id = running.submit(FOREVER, person="ana", name="hers")
    try:
        running.cli("workspaces", "set", "--others-jobs", "hidden")
        ben = running.client("ben")
        eventually(
            "the job is observed",
            lambda: any(
                job.job_id == job_id for job in running.client().jobs(running.cluster).jobs
            ),
        )

        assert all(job.user == "ben" for job in ben.jobs(running.cluster).jobs)
        with pytest.raises(NotFound):
            ben.job(running.cluster, job_id)
        with pytest.raises(NotFound):
            ben.cancel(running.cluster, job_id)
        told = ben.events(running.cluster, WhichEvents(types=("job.*",)), last=1000).events
        assert {event.data["user"] for event in told} <= {"ben"}
        assert running.client("ana").job(running.cluster, job_id).name == "hers"
    finally:
        running.cli("workspaces", "set", "--others-jobs", "details")
        running.client().cancel(running.cluster, job_id)


def test_somebody_removed_submits_nothing_more_and_their_jobs_go_on(running: Running) -> None:
    job_id = running.submit(FOREVER, person="eve")
    eve = running.client("eve")
    running.wait(job_id, until=lambda view: view.state == "RUNNING")

    removed = json.loads(
        running.cli("people", "remove", "eve@lab.example", "--yes", "--json").stdout
    )

    assert removed["live_jobs"] == 1
    with pytest.raises(Unauthenticated):
        eve.clusters()
    assert running.client().job(running.cluster, job_id).state == "RUNNING"
    running.client().cancel(running.cluster, job_id)
    running.wait_ended(job_id)
    # The number stays theirs, whoever comes next.
    was = removed["person"]["uid"]
    invited = json.loads(running.cli("people", "invite", "eve@other.example", "--json").stdout)
    assert invited["person"]["uid"] != was
    assert invited["person"]["login"] == "eve-2"


def test_the_ledger_names_people_by_their_e_mail(running: Running) -> None:
    job_id = running.submit(FOREVER, person="ana")
    running.client("ana").cancel(running.cluster, job_id)
    running.wait_ended(job_id)
    ledger = running.client()
    eventually(
        "both are told",
        lambda: (
            {
                (event.type, event.actor)
                for event in ledger.timeline(running.cluster, job_id).events
                if event.type in ("job.submitted", "job.cancelled")
            }
            == {
                ("job.submitted", "user:ana@lab.example"),
                ("job.cancelled", "user:ana@lab.example"),
            }
        ),
    )

    # Others of these tests act as ana too, on the same cluster: what she did first is long ago.
    of_ana = ("audit", "--json", "--actor", "ana@lab.example", "--limit", "1000")
    told = json.loads(running.cli(*of_ana).stdout)["events"]

    assert {"job.submitted", "job.cancelled", "admin.token.first_used"} <= {
        each["type"] for each in told
    }
