"""The table of who may do what, and the questions that are put to it."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterra.core.access import (
    ALL_SCOPES,
    TABLE,
    Caller,
    Deed,
    OthersJobs,
    Role,
    Scope,
    Who,
    check_may,
    check_may_change,
    check_may_read_output,
    check_scope,
    sees,
    sees_whole,
)
from clusterra.core.errors import Forbidden
from clusterra.core.jobs.job import Job
from tests.builders import a_job

by_role = st.sampled_from([deed for deed in Deed if not isinstance(TABLE[deed].who, Who)])
everybodys = st.sampled_from([deed for deed in Deed if isinstance(TABLE[deed].who, Who)])
roles = st.sampled_from(Role)


def may(role: Role, deed: Deed) -> bool:
    try:
        check_may(role, deed, workspace="lab")
    except Forbidden:
        return False
    return True


def test_every_deed_is_in_the_table() -> None:
    assert set(TABLE) == set(Deed)


def test_every_scope_is_needed_for_something_and_each_role_below_owner_is_a_step() -> None:
    least = {
        min(right.who, key=lambda role: role.rank)
        for right in TABLE.values()
        if not isinstance(right.who, Who)
    }

    assert {right.scope for right in TABLE.values()} == set(Scope)
    assert least == {Role.VIEWER, Role.MEMBER, Role.ADMIN}


@given(by_role, roles, roles)
def test_each_role_may_do_all_that_lower_ones_may(deed: Deed, one: Role, other: Role) -> None:
    lower, higher = sorted((one, other), key=lambda role: role.rank)

    assert may(higher, deed) or not may(lower, deed)


@given(by_role)
def test_an_owner_may_do_whatever_any_role_may(deed: Deed) -> None:
    assert may(Role.OWNER, deed)


@given(everybodys, roles)
def test_a_deed_that_hangs_on_no_role_is_refused_to_none(deed: Deed, role: Role) -> None:
    assert may(role, deed)


@pytest.mark.parametrize(
    ("deed", "least"),
    [
        (Deed.SEE_JOBS, Role.VIEWER),
        (Deed.SEE_EVENTS, Role.VIEWER),
        (Deed.SEE_PEOPLE, Role.VIEWER),
        (Deed.LEAVE, Role.VIEWER),
        (Deed.SUBMIT, Role.MEMBER),
        (Deed.CHANGE_JOBS, Role.MEMBER),
        (Deed.READ_OUTPUT, Role.MEMBER),
        (Deed.MANAGE_PEOPLE, Role.ADMIN),
        (Deed.KEEP_KEYS, Role.ADMIN),
        (Deed.SET_UP, Role.ADMIN),
        (Deed.TAKE_LEDGER, Role.ADMIN),
    ],
)
def test_a_deed_begins_at_its_role_and_not_below(deed: Deed, least: Role) -> None:
    assert [role for role in Role if may(role, deed)] == list(Role)[least.rank :]


def test_a_refusal_says_what_one_is_and_what_one_would_have_to_be() -> None:
    with pytest.raises(Forbidden) as refused:
        check_may(Role.VIEWER, Deed.MANAGE_PEOPLE, workspace="lab")

    assert refused.value.code == "role"
    assert "one has to be an admin; you are a viewer" in refused.value.detail
    assert "lab" in refused.value.hint


@given(st.sampled_from(Deed), st.frozensets(st.sampled_from(Scope)))
def test_a_token_reaches_exactly_as_far_as_its_scopes(deed: Deed, scopes: frozenset[Scope]) -> None:
    needed = TABLE[deed].scope
    if needed in scopes:
        check_scope(scopes, deed)
        return
    with pytest.raises(Forbidden) as refused:
        check_scope(scopes, deed)
    assert refused.value.code == "scope"
    assert f"`{needed}`" in refused.value.detail


def test_a_token_that_only_reads_changes_nothing() -> None:
    changing = {
        Deed.SUBMIT,
        Deed.CHANGE_JOBS,
        Deed.MANAGE_PEOPLE,
        Deed.SET_UP,
        Deed.KEEP_KEYS,
        Deed.KEEP_TOKENS,
        Deed.LEAVE,
        Deed.LET_IN,
        Deed.BE_ONESELF,
    }

    assert Scope.READ not in {TABLE[deed].scope for deed in changing}
    for deed in Deed:
        check_scope(ALL_SCOPES, deed)


@pytest.mark.parametrize("check", [check_may_change, check_may_read_output])
def test_a_job_is_its_owners_and_of_those_who_run_the_workspace(
    check: Callable[[Caller, Job], None],
) -> None:
    anas = a_job(user="ana")

    check(Caller(user="ana", role=Role.MEMBER), anas)
    check(Caller(user="bo", role=Role.ADMIN), anas)
    check(Caller(user="bo", role=Role.OWNER), anas)
    for role in (Role.MEMBER, Role.VIEWER):
        with pytest.raises(Forbidden) as refused:
            check(Caller(user="bo", role=role), anas)
        assert refused.value.code == "foreign-job"


@pytest.mark.parametrize(
    ("setting", "there", "whole"),
    [
        (OthersJobs.DETAILS, True, True),
        (OthersJobs.QUEUE, True, False),
        (OthersJobs.HIDDEN, False, False),
    ],
)
def test_members_see_of_others_what_the_workspace_allows(
    setting: OthersJobs, there: bool, whole: bool
) -> None:
    member = Caller(user="bo", role=Role.MEMBER, others_jobs=setting)
    admin = Caller(user="bo", role=Role.ADMIN, others_jobs=setting)

    assert (sees(member, "ana"), sees_whole(member, "ana")) == (there, whole)
    assert (sees(member, "bo"), sees_whole(member, "bo")) == (True, True)
    assert (sees(admin, "ana"), sees_whole(admin, "ana")) == (True, True)


def test_the_ledger_names_a_caller_by_e_mail() -> None:
    assert Caller(user="ana", email="ana@lab.example").actor == "user:ana@lab.example"
    assert Caller(user="ana").actor == "user:ana"
