from clusterra.core.jobs.marks import ended, fresh, gone, wants_full_list


def test_what_changed_between_two_looks() -> None:
    before = {1: "PENDING", 2: "RUNNING", 3: "COMPLETED"}
    after = {1: "RUNNING", 2: "RUNNING", 4: "PENDING"}

    assert fresh(before, after.items()) == {1, 4}
    assert gone(before, after) == {3}


def test_a_job_that_is_still_completing_has_not_ended() -> None:
    assert ended("COMPLETED")
    assert not ended("COMPLETED COMPLETING")
    assert not ended("PENDING")


def test_a_full_list_is_asked_for_only_when_much_of_a_long_queue_changed() -> None:
    assert not wants_full_list(fresh=200, held=200)
    assert not wants_full_list(fresh=1000, held=50_000)
    assert wants_full_list(fresh=20_000, held=50_000)
