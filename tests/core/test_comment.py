import re

from hypothesis import given
from hypothesis import strategies as st

from clusterra.core.jobs.comment import LONGEST, read, stamp

RUN = "0198c2d4-7a55-7c3e-9d41-1f6a2b3c4d5e"


def test_a_submission_carries_its_run_and_the_persons_words() -> None:
    assert stamp(RUN) == f"clusterra:run={RUN}"
    assert stamp(RUN, "grid search") == f"clusterra:run={RUN};note=grid%20search"


def test_a_comment_that_is_not_ours_is_left_as_it_is() -> None:
    assert read("run=1;note=2") == ("", "run=1;note=2")
    assert read("") == ("", "")


def test_a_mark_that_somebody_damaged_is_read_as_far_as_it_goes() -> None:
    assert read("clusterra:") == ("", "")
    assert read("clusterra:;;x;note=%zz") == ("", "%zz")


@given(st.text())
def test_what_a_person_writes_comes_back_and_never_breaks_the_token(note: str) -> None:
    stamped = stamp(RUN, note)

    assert read(stamped) == (RUN, note)
    assert not re.search(r"\s", stamped)
    assert stamped.count(";") == (1 if note else 0)


def test_ordinary_words_keep_nearly_all_of_slurms_room() -> None:
    assert len(stamp(RUN, "ä/(ö)" * 130).encode()) < LONGEST
