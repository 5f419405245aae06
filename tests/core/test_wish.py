from contextlib import suppress
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterra.core.errors import Invalid
from clusterra.core.jobs.wish import JobWish, wish_from
from clusterra.wire.jobs import SubmitJob

SCRIPT = "#!/bin/bash\n"


def test_a_wish_has_the_fields_of_the_public_contract() -> None:
    ours = {field.name: (field.type, field.default) for field in fields(JobWish)}
    theirs = {field.name: (field.type, field.default) for field in fields(SubmitJob)}

    assert ours == theirs


def test_what_is_null_is_left_out() -> None:
    assert wish_from({"script": SCRIPT, "cpus": None, "name": "a"}) == JobWish(
        script=SCRIPT, name="a"
    )


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("cpus", "four", 'cpus must be a whole number, got "four".'),
        ("cpus", 4.5, "cpus must be a whole number, got 4.5."),
        ("cpus", True, "cpus must be a whole number, got true."),
        ("memory", 4.5, "memory must be text or a whole number, got 4.5."),
        ("name", 5, "name must be text, got 5."),
        ("hold", "yes", 'hold must be true or false, got "yes".'),
        ("hold", 1, "hold must be true or false, got 1."),
        ("env", ["A=b"], 'env must be an object, got ["A=b"].'),
        ("env", {"A": 1}, 'env holds 1 for "A"; every value must be text.'),
        ("script", 5, "script must be text, got 5."),
    ],
)
def test_a_value_of_the_wrong_kind_is_named(field: str, value: Any, says: str) -> None:
    with pytest.raises(Invalid) as refusal:
        wish_from({"script": SCRIPT, field: value})

    assert refusal.value.detail == says
    assert refusal.value.at == field


def test_an_unknown_field_is_named_with_the_nearest_there_is() -> None:
    with pytest.raises(Invalid) as refusal:
        wish_from({"script": SCRIPT, "cpu": 4})

    assert refusal.value.detail == 'There is no field "cpu".'
    assert refusal.value.hint == "Did you mean cpus?"
    assert refusal.value.at == "cpu"


def test_a_wish_without_a_script_is_none() -> None:
    for body in ({}, {"script": None}, {"name": "a"}):
        with pytest.raises(Invalid, match="no script") as refusal:
            wish_from(body)
        assert refusal.value.code == "script-empty"


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
names = st.sampled_from([field.name for field in fields(JobWish)]) | st.text()


@given(st.dictionaries(names, json))
def test_any_json_object_is_a_wish_or_refused(body: dict[str, Any]) -> None:
    with suppress(Invalid):
        wish_from(body)


def test_a_refusal_is_never_as_long_as_what_it_refuses() -> None:
    with pytest.raises(Invalid) as refusal:
        wish_from({"script": SCRIPT, "cpus": "4" * 1_000_000})

    assert len(refusal.value.detail) < 120
