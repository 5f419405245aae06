import pytest

from clusterra.core.scaling.features import satisfied

HAS = frozenset({"arm64", "large", "memory", "memory-large-arm"})


@pytest.mark.parametrize(
    "constraint",
    ["", "arm64", "arm64&large", "amd64|arm64", "(amd64|arm64)&memory", "[amd64|arm64]", "large*4",
     "arm64,large", "[(arm64&large)|gpu]", " arm64 & large ", "memory-large-arm", "gpu|arm64&large",
     "[arm64*2&large*4]"],
)  # fmt: skip
def test_a_constraint_that_holds(constraint: str) -> None:
    assert satisfied(constraint, HAS)


@pytest.mark.parametrize("constraint", ["amd64", "arm64&gpu", "a|b", "ARM64", "arm64|large&gpu"])
def test_a_constraint_that_does_not_hold(constraint: str) -> None:
    assert not satisfied(constraint, HAS)


@pytest.mark.parametrize(
    "constraint",
    [
        "arm64&",
        "&arm64",
        "(arm64",
        "arm64)",
        "[arm64)",
        "arm64 large",
        "!amd64",
        "()",
        "(",
        "arm64*",
    ],
)
def test_what_cannot_be_read_is_satisfied_by_nothing(constraint: str) -> None:
    assert not satisfied(constraint, HAS)
