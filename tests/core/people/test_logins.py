"""The Linux user that each person is: a name that Linux takes, and a number nobody has."""

import re
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterra.core.errors import Invalid
from clusterra.core.people.logins import (
    FIRST_UID,
    LONGEST,
    RESERVED,
    TAKEN_BY_SYSTEMS,
    check_login,
    names_for,
    next_uid,
)

LINUX_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")


def first_name(email: str) -> str:
    return next(names_for(email))


@pytest.mark.parametrize(
    ("email", "name"),
    [
        ("ana@lab.example", "ana"),
        ("ana.lopez@lab.example", "ana-lopez"),
        ("ana+hpc@lab.example", "ana-hpc"),
        ("o'brien@lab.example", "o-brien"),
        ("ana_lopez@lab.example", "ana_lopez"),
        ("42ana@lab.example", "u42ana"),
        ("2026@lab.example", "u2026"),
        ("-ana-@lab.example", "ana"),
        ("_ana@lab.example", "ana"),
        ("+++@lab.example", "u"),
        ("a" * 40 + "@lab.example", "a" * 32),
        ("a" * 31 + ".bc@lab.example", "a" * 31),
    ],
)
def test_a_name_is_made_of_what_stands_before_the_at_sign(email: str, name: str) -> None:
    assert first_name(email) == name


@pytest.mark.parametrize("system", ["root", "slurm", "munge", "nobody", "www-data"])
def test_nobody_becomes_a_user_of_the_system_by_having_its_name(system: str) -> None:
    assert first_name(f"{system}@lab.example") == f"{system}-2"


def test_a_system_name_hides_behind_no_other_spelling() -> None:
    assert first_name("Root@lab.example") == "root-2"
    assert first_name("www.data@lab.example") == "www-data-2"
    assert first_name("_root_@lab.example") == "root-2"


def test_two_addresses_of_one_name_are_two_users() -> None:
    theirs = names_for("ana@lab.example")
    others = (name for name in names_for("ana@other.example") if name != "ana")

    assert [next(theirs), next(others)] == ["ana", "ana-2"]


def test_a_long_name_makes_room_for_its_number() -> None:
    names = list(islice(names_for("a" * 40 + "@lab.example"), 12))

    assert names[1] == "a" * 30 + "-2"
    assert names[11] == "a" * 29 + "-12"


@given(st.text(max_size=80), st.integers(1, 30))
def test_every_name_is_one_that_linux_takes_and_no_name_comes_twice(local: str, many: int) -> None:
    names = list(islice(names_for(f"{local}@lab.example"), many))

    assert len(set(names)) == many
    for name in names:
        assert LINUX_NAME.fullmatch(name)
        assert len(name) <= LONGEST
        assert name not in RESERVED
        assert check_login(name) == name


@given(st.sampled_from(sorted(RESERVED)))
def test_no_reserved_name_is_ever_given(name: str) -> None:
    assert RESERVED.isdisjoint(islice(names_for(f"{name}@lab.example"), 20))


def test_a_long_name_that_ends_in_a_number_already_is_not_offered_twice() -> None:
    names = list(islice(names_for("a" * 30 + "-2@lab.example"), 3))

    assert names == ["a" * 30 + "-2", "a" * 30 + "-3", "a" * 30 + "-4"]


@pytest.mark.parametrize(
    "name",
    ["", "Ana", "1ana", "-ana", "a b", "ana.lopez", "ana$", "añа", "a" * 33, "ana\n", "../x"],
)
def test_a_name_that_linux_refuses_cannot_be_asked_for(name: str) -> None:
    with pytest.raises(Invalid) as refused:
        check_login(name)

    assert refused.value.code == "user-name"
    assert refused.value.at == "login"


@pytest.mark.parametrize("name", ["root", "slurm", "clusterra"])
def test_a_name_of_the_system_cannot_be_asked_for(name: str) -> None:
    with pytest.raises(Invalid, match=f"no person can be {name}"):
        check_login(name)


def test_the_first_number_is_far_from_the_users_of_a_machine() -> None:
    assert next_uid(0) == FIRST_UID == 20_000


def test_numbers_of_daemons_are_left_out() -> None:
    assert next_uid(59_998) == 59_999
    assert next_uid(59_999) == 66_000
    assert next_uid(66_000) == 66_001


@given(st.integers(0, 2**31))
def test_numbers_only_rise_and_are_never_a_daemons(last: int) -> None:
    number = next_uid(last)

    assert number > last
    assert number >= FIRST_UID
    assert number not in TAKEN_BY_SYSTEMS
