"""Several events in one message."""

from clusterra.core.events.severity import Severity
from clusterra.core.webhooks.message import message
from clusterra.core.webhooks.telling import JobContext, Place
from clusterra.core.webhooks.together import tasks_in, together
from tests.core.webhooks.tellings import ALIGN, MUMBAI, a_telling, array, burst, failed, node


def test_one_alone_is_told_as_it_always_is() -> None:
    assert together([failed()], MUMBAI) == message(failed(), MUMBAI)


def test_the_tasks_of_an_array_are_one_line() -> None:
    told = together(array(), MUMBAI)

    assert told.sentence == "sweep (array 43): 3 tasks failed, 47 completed"
    assert told.lines == ()
    assert told.facts == (("Cost together", "$1.00"),)
    assert told.link.endswith("/jobs/43")
    assert told.severity is Severity.ERROR


def test_a_burst_is_counted_and_what_does_not_fit_too() -> None:
    told = together(burst(), MUMBAI)

    assert told.title == "14 jobs failed, 18 completed, 1 worker down on helix"
    assert told.lines[0] == "sweep (array 43): 2 tasks failed, 18 completed"
    assert told.lines[-1] == "and 4 more"
    assert len(told.lines) == 11


def test_a_failure_is_never_among_the_more() -> None:
    many = [a_telling(id=str(n), subject=f"job/{n}") for n in range(30)]

    told = together([*many, failed()], MUMBAI)

    assert "out of memory" in told.lines[0]
    assert told.lines[-1] == "and 21 more"


def test_several_clusters_are_named() -> None:
    told = together([node(), a_telling("node.down", cluster="orion", ledger="clus2")], MUMBAI)

    assert told.title == "2 workers down on helix and orion"
    assert told.link == ""


def test_what_is_about_neither_jobs_nor_workers_is_counted_as_events() -> None:
    quiet = [a_telling("cluster.recovered", data={"unseen_seconds": 9}) for _ in range(3)]

    assert together(quiet, Place()).title == "3 events on helix"
    assert (
        together([*quiet, failed()], Place()).title
        == "1 job ran out of memory, 3 other events on helix"
    )


def test_what_all_cost_is_said_only_if_it_is_known_of_all() -> None:
    known = a_telling(id="1", subject="job/1", job=JobContext(cost_micros=5_000_000, is_final=True))
    running = a_telling(id="2", subject="job/2", job=JobContext(cost_micros=1_000_000))

    assert together([known, running], MUMBAI).facts == ()
    assert together([known, a_telling(id="3", subject="job/3")], MUMBAI).facts == ()
    # The same job twice is paid for once.
    assert together([known, known], MUMBAI).facts == (("Cost together", "$5.00"),)


def test_an_entry_that_stands_for_many_tasks_counts_as_many() -> None:
    waiting = {"label": "43_[6-9]", "array_id": 43, "name": "sweep"}
    told = [
        a_telling("job.cancelled", id="1", data=ALIGN | waiting),
        a_telling("job.cancelled", id="2", data=ALIGN | waiting | {"label": "43_5"}),
    ]

    assert together(told, MUMBAI).title == "sweep (array 43): 5 tasks cancelled"
    assert tasks_in("43_[1,3,5-9:2%4]") == 5
    assert tasks_in("43_[garbage-,9999999999999-1,1-2:0]") == 1
