"""Whose a place is, what stores call it, and who may write there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterra.core.access import Caller, Role
from clusterra.core.errors import Forbidden, Invalid
from clusterra.core.files.place import Location, Place, check_may_write, owner_of, place_of, room_of

ANA = Caller(user="ana", email="ana@lab.example")
BOSS = Caller(user="boss", email="boss@lab.example", role=Role.ADMIN)


def test_a_persons_keys_begin_with_their_e_mail_and_shared_ones_with_shared() -> None:
    assert place_of(ANA, "data", "runs/x.bin").key == "ana@lab.example/data/runs/x.bin"
    assert place_of(ANA, "shared", "ref/hg38.fa").key == "shared/ref/hg38.fa"
    assert place_of(ANA, "outputs", "", folder=True).prefix == "ana@lab.example/outputs/"
    assert place_of(ANA, "outputs", "41/", folder=True).prefix == "ana@lab.example/outputs/41/"


def test_an_e_mail_with_a_slash_is_still_one_part() -> None:
    odd = Caller(user="x", email="ana/lab%2f@lab.example")

    assert place_of(odd, "data", "x").key == "ana%2Flab%252f@lab.example/data/x"


@given(st.emails(), st.emails())
def test_two_people_never_share_a_room(one: str, other: str) -> None:
    assert (room_of(one) == room_of(other)) == (one == other)
    assert "/" not in room_of(one)
    assert owner_of(room_of(one)) == one


def test_only_those_locations_exist() -> None:
    with pytest.raises(Invalid, match="no location") as refused:
        place_of(ANA, "ben@lab.example/data", "x")

    assert refused.value.hint == "The locations are: scripts, data, outputs, shared."


def test_only_those_who_run_the_workspace_write_what_is_shared() -> None:
    shared = Place(location=Location.SHARED, path="x")

    check_may_write(BOSS, shared)
    check_may_write(ANA, place_of(ANA, "data", "x"))
    with pytest.raises(Forbidden, match="only admins write there; you are a member"):
        check_may_write(ANA, shared)


def test_an_admin_means_their_own_files_too_and_never_somebody_elses() -> None:
    assert place_of(BOSS, "data", "x").owner == "boss@lab.example"


def test_whoever_is_no_person_has_no_files() -> None:
    with pytest.raises(Forbidden, match="belong to people"):
        place_of(Caller(user="root"), "data", "x")
