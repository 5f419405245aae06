from dataclasses import replace
from datetime import timedelta

from clusterra.core.ids import cluster_id, uuid7
from clusterra.core.jobs.job import JobState, continues, stands_for
from tests.builders import NOON, a_job


def test_a_requeued_job_is_the_same_job_and_another_with_its_id_is_not() -> None:
    old = a_job(7)
    requeued = a_job(7, submitted_at=NOON + timedelta(minutes=5), restarts=1)
    later = NOON + timedelta(days=400)

    assert continues(old, requeued) == replace(requeued, born_at=NOON)
    assert continues(a_job(7, state=JobState.COMPLETED), a_job(7, submitted_at=later)) is None
    assert continues(old, a_job(7, submitted_at=later, name="another")) is None


def test_a_requeue_is_the_same_job_before_slurm_has_counted_it() -> None:
    old = a_job(7, state=JobState.RUNNING)
    moved = a_job(7, submitted_at=NOON + timedelta(minutes=5))

    assert continues(old, moved) == replace(moved, born_at=NOON)


def test_ids_are_written_as_people_write_them() -> None:
    assert a_job(41).label == "41"
    assert a_job(50, array_id=43, array_task=5).label == "43_5"
    assert a_job(43, array_id=43, array_waiting="6-9").label == "43_[6-9]"


def test_an_arrays_entry_stands_for_its_waiting_tasks_and_no_others() -> None:
    waiting = a_job(43, array_id=43, array_waiting="1,4-6,10-20:5%2")

    assert [task for task in range(30) if stands_for(waiting, task)] == [1, 4, 5, 6, 10, 15, 20]
    assert not stands_for(a_job(43, array_id=43, array_waiting="0-…"), 0)
    assert not stands_for(a_job(41), 0)


def test_later_run_ids_sort_later_and_are_valid_uuids() -> None:
    early, late = uuid7(NOON, b"\xff" * 10), uuid7(NOON + timedelta(milliseconds=1), b"\0" * 10)

    assert early < late
    assert early[14] == "7"
    assert early[19] in "89ab"
    assert cluster_id(b"\x1a\x2b") == "clus1a2b"
