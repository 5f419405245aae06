"""One spelling for each e-mail address, and none that could be taken for another."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterra.core.errors import Invalid
from clusterra.core.people.email import LONGEST, domain_of, read_email


@pytest.mark.parametrize("typed", ["Ana@Lab.Example", " ana@lab.example\n", "ANA@LAB.EXAMPLE"])
def test_case_and_spaces_around_make_no_other_person(typed: str) -> None:
    assert read_email(typed) == "ana@lab.example"


@pytest.mark.parametrize(
    "odd",
    [
        "o'brien+hpc@lab.example",
        "a@b",
        "root@localhost",
        "x_1.y-z@sub.lab-2.example",
        "{weird}!#$%&*/=?^`|~@lab.example",
        "42@lab.example",
        "ana@xn--bcher-kva.example",
    ],
)
def test_an_odd_address_that_is_one_is_taken(odd: str) -> None:
    assert read_email(odd) == odd


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "ana",
        "@lab.example",
        "ana@",
        "ana@@lab.example",
        "ana@lab@example",
        "a na@lab.example",
        ".ana@lab.example",
        "ana.@lab.example",
        "a..b@lab.example",
        "ana@-lab.example",
        "ana@lab-.example",
        "ana@lab..example",
        "ana@lab.example.",
        "ana@[127.0.0.1]",
        '"ana"@lab.example',
        "ana@lab.example\nbcc@evil.example",
        "ana\x00@lab.example",
        "ana@lab.example, bo@lab.example",
        "<ana@lab.example>",
    ],
)
def test_what_is_no_address_is_refused_with_an_example(wrong: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_email(wrong)

    assert refused.value.code == "email"
    assert "ana@lab.example" in refused.value.hint


@pytest.mark.parametrize(
    "alike",
    [
        "\u0430na@lab.example",  # a Cyrillic a
        "ana@l\u0430b.example",
        "\uff41na@lab.example",  # a wide a
        "ana\u200b@lab.example",  # a space of no width
        "\u212aim@lab.example",  # the Kelvin sign, whose small letter is k
        "ana@b\u00fccher.example",
    ],
)
def test_a_letter_that_reads_like_another_is_refused_and_named(alike: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_email(alike)

    assert refused.value.code == "email"
    assert "mistaken" in refused.value.detail


def test_an_address_is_as_long_as_mail_allows_and_no_longer() -> None:
    longest = "a" * (LONGEST - len("@lab.example")) + "@lab.example"

    assert read_email(longest) == longest
    with pytest.raises(Invalid) as refused:
        read_email("a" + longest)
    assert len(refused.value.detail) < LONGEST


def test_the_domain_is_what_follows_the_at_sign() -> None:
    assert domain_of("ana+x@sub.lab.example") == "sub.lab.example"


@given(st.text() | st.emails())
def test_what_was_read_once_reads_the_same_again(typed: str) -> None:
    try:
        email = read_email(typed)
    except Invalid:
        return

    assert read_email(email) == email
    assert email == email.lower() == email.strip()
    assert email.isascii()
    assert len(email) <= LONGEST
