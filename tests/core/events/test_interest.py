"""Which events somebody means: each part narrows, and what is left out narrows nothing."""

from typing import Any

import pytest

from clusterra.core.errors import Invalid
from clusterra.core.events.catalogue import CATALOGUE
from clusterra.core.events.interest import (
    MOST,
    Interest,
    Particulars,
    check_interest,
    particulars,
    tidied,
)
from clusterra.core.events.severity import Severity, severity_of

JOB = Particulars(
    user="ana",
    person="ana@lab.example",
    partition="gpu",
    state="FAILED",
    name="align-7",
    run_id="run-1",
)


@pytest.mark.parametrize(
    ("part", "meant", "another"),
    [
        ("types", ("job.*",), ("node.*", "user.quota.high")),
        ("types", ("job.failed",), ("job.completed",)),
        ("clusters", ("lab", "rival"), ("rival",)),
        ("people", ("ana",), ("ben",)),
        ("people", ("ana@lab.example",), ("ana@lab",)),
        ("partitions", ("main", "gpu"), ("main",)),
        ("states", ("FAILED",), ("TIMEOUT",)),
        ("names", ("align-*",), ("align",)),
        ("runs", ("run-1",), ("run-2",)),
        ("severity", Severity.ERROR, None),
    ],
)
def test_each_part_narrows(part: str, meant: Any, another: Any) -> None:
    assert Interest().means("job.failed", "lab", JOB)
    assert Interest(**{part: meant}).means("job.failed", "lab", JOB)
    if another is not None:
        assert not Interest(**{part: another}).means("job.failed", "lab", JOB)


def test_nothing_that_matters_less_is_meant() -> None:
    meant = {
        severity: {
            type
            for type in CATALOGUE
            if Interest(severity=severity).means(type, "lab", Particulars())
        }
        for severity in Severity
    }

    assert meant[Severity.INFO] == set(CATALOGUE)
    assert meant[Severity.ERROR] < meant[Severity.WARNING] < meant[Severity.NOTICE]
    assert {"job.failed", "job.out_of_memory"} <= meant[Severity.ERROR]
    assert severity_of("job.completed") is Severity.NOTICE
    assert severity_of("job.started") is Severity.INFO


def test_only_what_looks_inside_an_event_needs_its_data() -> None:
    outside = Interest(types=("job.*",), clusters=("lab",), severity=Severity.ERROR)

    assert not outside.looks_inside
    inside: list[dict[str, Any]] = [
        {part: ("x",)} for part in ("people", "partitions", "states", "names", "runs")
    ]
    assert all(Interest(**part).looks_inside for part in inside)


def test_what_an_event_is_about_is_read_from_its_data() -> None:
    body = b'{"data":{"user":"ana","partition":"gpu","state":"FAILED","name":"a","run_id":"r"}}'

    assert particulars(body, lambda user: f"{user}@lab.example") == Particulars(
        user="ana",
        person="ana@lab.example",
        partition="gpu",
        state="FAILED",
        name="a",
        run_id="r",
    )
    about = particulars(b'{"data":{"email":"ben@lab.example"}}', str)
    assert (about.user, about.person) == ("ben@lab.example", "ben@lab.example")


def test_it_is_compared_however_it_was_typed() -> None:
    typed = Interest(
        people=(" Ana@Lab.Example", "ana@lab.example"), states=("failed",), names=("Align",)
    )

    assert tidied(typed) == Interest(
        people=("ana@lab.example",), states=("FAILED",), names=("Align",)
    )


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (Interest(types=("job.fialed",)), "Did you mean job.failed?"),
        (Interest(types=("nothing.*",)), "docs/reference/events.md"),
        (Interest(names=("",)), "is empty"),
        (Interest(names=("x" * 201,)), "longer than 200"),
        (Interest(people=("a\nb",)), "not printable"),
        (Interest(names=tuple(f"a{n}" for n in range(MOST + 1))), f"{MOST + 1} entries"),
    ],
)
def test_what_could_never_be_meant_is_refused(wrong: Interest, says: str) -> None:
    with pytest.raises(Invalid) as refused:
        check_interest(wrong)

    assert says in refused.value.detail + refused.value.hint
