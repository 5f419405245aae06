"""What is kept from others in a workspace is neither shown to them nor found by them."""

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterra.core.access import Caller, OthersJobs, Role
from clusterra.core.jobs.job import Job
from clusterra.core.jobs.language import parse
from clusterra.core.jobs.privacy import as_seen_by, shown_to
from clusterra.core.jobs.query import FIELDS, Op, Query, Sort, Term, matches, sort_value
from tests.builders import a_job

SECRET = "hunter2"
ANAS = a_job(
    user="ana",
    name=SECRET,
    features=SECRET,
    dependency=f"afterok:{SECRET}",
    work_dir=f"/home/ana/{SECRET}",
    stdout=f"/home/ana/{SECRET}.out",
    stderr=f"/home/ana/{SECRET}.err",
    comment=SECRET,
    run_id=SECRET,
)

callers = st.builds(
    Caller,
    user=st.sampled_from(["ana", "bo"]),
    role=st.sampled_from(Role),
    others_jobs=st.sampled_from(OthersJobs),
)


def bo(others: OthersJobs, role: Role = Role.MEMBER) -> Caller:
    return Caller(user="bo", role=role, others_jobs=others)


def test_what_people_wrote_is_kept_and_what_the_queue_shows_anyway_is_not() -> None:
    seen = shown_to(bo(OthersJobs.QUEUE), ANAS)

    assert SECRET not in repr(seen)
    assert (seen.user, seen.cpus, seen.state, seen.submitted_at) == (
        "ana",
        ANAS.cpus,
        ANAS.state,
        ANAS.submitted_at,
    )


def test_nothing_is_kept_from_oneself_nor_from_those_who_run_the_workspace() -> None:
    assert shown_to(Caller(user="ana", others_jobs=OthersJobs.HIDDEN), ANAS) == ANAS
    assert shown_to(bo(OthersJobs.HIDDEN, Role.ADMIN), ANAS) == ANAS
    assert shown_to(bo(OthersJobs.DETAILS), ANAS) == ANAS


def test_hidden_jobs_are_not_found() -> None:
    found = as_seen_by(bo(OthersJobs.HIDDEN), Query())

    assert not matches(ANAS, found)
    assert matches(replace(ANAS, user="bo"), found)


@pytest.mark.parametrize("question", [SECRET, f"name:{SECRET}", f"run:{SECRET}", f"-name:{SECRET}"])
def test_a_question_about_what_is_kept_is_put_to_ones_own_jobs_only(question: str) -> None:
    found = as_seen_by(bo(OthersJobs.QUEUE), parse(question, now=ANAS.submitted_at))

    assert not matches(ANAS, found)
    assert not matches(replace(ANAS, name="other", run_id=""), found)


def test_a_question_about_the_queue_is_put_to_everybodys_jobs() -> None:
    found = as_seen_by(bo(OthersJobs.QUEUE), parse("user:ana state:pending", now=ANAS.submitted_at))

    assert matches(ANAS, found)


def test_an_order_by_name_would_tell_names() -> None:
    assert not matches(ANAS, as_seen_by(bo(OthersJobs.QUEUE), Query(sort=Sort.NAME)))


@pytest.mark.parametrize("field", sorted(FIELDS))
def test_no_field_can_be_asked_about_that_would_be_blank_in_the_answer(field: str) -> None:
    caller, get = bo(OthersJobs.QUEUE), FIELDS[field][1]
    value = get(ANAS, 0)
    kept = value != get(shown_to(caller, ANAS), 0)
    asked = Query(terms=(Term(field=field, op=Op.IS, values=(value or 0,)),))

    assert (as_seen_by(caller, asked) != asked) == kept


@pytest.mark.parametrize("sort", Sort)
def test_no_order_is_given_by_what_would_be_blank_in_the_answer(sort: Sort) -> None:
    caller = bo(OthersJobs.QUEUE)
    kept = sort_value(ANAS, sort) != sort_value(shown_to(caller, ANAS), sort)

    assert (as_seen_by(caller, Query(sort=sort)) != Query(sort=sort)) == kept


@given(callers)
def test_what_is_shown_is_the_job_or_less_of_it(caller: Caller) -> None:
    seen = shown_to(caller, ANAS)

    for each in fields(Job):
        assert getattr(seen, each.name) in (getattr(ANAS, each.name), "")
    assert shown_to(caller, seen) == seen
