import re

from hypothesis import given
from hypothesis import strategies as st

from clusterra.core.jobs.comment import LONGEST, Mark, read, stamp

RUN = "0198c2d4-7a55-7c3e-9d41-1f6a2b3c4d5e"


def test_a_submission_carries_its_run_and_the_persons_words() -> None:
    words = Mark(run_id=RUN, note="grid search")

    assert stamp(Mark(run_id=RUN)) == f"clusterra:run_id={RUN}"
    assert stamp(words) == f"clusterra:run_id={RUN};note=grid%20search"


def test_a_step_of_a_workflow_says_which() -> None:
    mark = Mark(run_id=RUN, template="sum-up", chain="0198", step="last")

    assert stamp(mark) == f"clusterra:run_id={RUN};template=sum-up;chain=0198;step=last"
    assert read(stamp(mark)) == mark


def test_a_job_of_an_earlier_version_is_known_again() -> None:
    assert read(f"clusterra:run={RUN};note=x") == Mark(run_id=RUN, note="x")


def test_a_comment_that_is_not_ours_is_left_as_it_is() -> None:
    assert read("run=1;note=2") == Mark(note="run=1;note=2")
    assert read("") == Mark()


def test_a_mark_that_somebody_damaged_is_read_as_far_as_it_goes() -> None:
    assert read("clusterra:") == Mark()
    assert read("clusterra:;;x;note=%zz") == Mark(note="%zz")


@given(st.text())
def test_what_a_person_writes_comes_back_and_never_breaks_the_token(note: str) -> None:
    stamped = stamp(Mark(run_id=RUN, note=note))

    assert read(stamped) == Mark(run_id=RUN, note=note)
    assert not re.search(r"\s", stamped)
    assert stamped.count(";") == (1 if note else 0)


def test_ordinary_words_keep_nearly_all_of_slurms_room() -> None:
    assert len(stamp(Mark(run_id=RUN, note="ä/(ö)" * 130)).encode()) < LONGEST
