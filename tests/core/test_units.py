from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterra.core.errors import Invalid
from clusterra.core.units import LARGEST, parse_duration, parse_memory_mib, parse_time_limit


@pytest.mark.parametrize(
    ("written", "mib"),
    [
        ("4000", 4000),
        ("512M", 512),
        ("4G", 4096),
        ("4g", 4096),
        ("1GB", 1024),
        ("1.5GiB", 1536),
        ("2T", 2 * 1024**2),
        ("1500K", 2),
        ("1024K", 1),
        ("0", 0),
        (" 8 G ", 8192),
        (str(LARGEST), LARGEST),
    ],
)
def test_memory_is_read_in_slurms_units_and_rounded_up(written: str, mib: int) -> None:
    assert parse_memory_mib(written) == mib


@pytest.mark.parametrize(
    "written", ["abc", "", "4X", "-4G", "4 G B", "1,5G", "4G4", "²G", "٤G", str(LARGEST + 1), "9P"]
)
def test_what_is_no_memory_is_refused_with_what_was_written(written: str) -> None:
    with pytest.raises(Invalid) as refusal:
        parse_memory_mib(written)

    assert f'"{written}"' in refusal.value.detail
    assert refusal.value.at == "memory"
    assert refusal.value.hint


@pytest.mark.parametrize(
    ("written", "minutes"),
    [
        ("90", 90),
        ("1:30", 2),
        ("2:00", 2),
        ("1:30:00", 90),
        ("2-12", 60 * 60),
        ("2-12:30", 60 * 60 + 30),
        ("1-1:1:1", 24 * 60 + 62),
        ("90m", 90),
        ("2h30m", 150),
        ("3d", 3 * 24 * 60),
        ("1w", 7 * 24 * 60),
        ("61s", 2),
        ("1.5h", 90),
        (str(LARGEST), LARGEST),
    ],
)
def test_time_limits_are_read_as_sbatch_and_people_write_them(written: str, minutes: int) -> None:
    assert parse_time_limit(written) == minutes


@pytest.mark.parametrize("written", ["unlimited", "UNLIMITED", "infinite"])
def test_no_limit_has_a_word(written: str) -> None:
    assert parse_time_limit(written) is None


@pytest.mark.parametrize(
    "written",
    ["", "0", "0:00", "-1", "-5", "abc", "1:2:3:4", "1-", "-1:00", "5x", "²", str(LARGEST + 1)],
)
def test_no_time_and_negative_time_are_no_limit_to_have(written: str) -> None:
    with pytest.raises(Invalid) as refusal:
        parse_time_limit(written)

    assert refusal.value.at == "time"
    assert refusal.value.hint


def test_lengths_of_time_add_up() -> None:
    assert parse_duration("2h30m") == timedelta(hours=2, minutes=30)
    assert parse_duration("1d 2h") == timedelta(hours=26)


def test_a_length_of_time_beyond_counting_is_refused_and_does_not_break() -> None:
    with pytest.raises(Invalid, match="longer than"):
        parse_duration("9" * 30 + "w")


@pytest.mark.parametrize("parse", [parse_memory_mib, parse_duration, parse_time_limit])
@given(written=st.text() | st.from_regex(r"[0-9.:-]{0,40}[a-zA-Z]{0,3}", fullmatch=True))
def test_anything_at_all_is_read_or_refused(parse: Callable[[str], Any], written: str) -> None:
    with suppress(Invalid):
        parse(written)


@given(st.integers(0, LARGEST))
def test_memory_without_a_unit_is_what_it_says(mib: int) -> None:
    assert parse_memory_mib(str(mib)) == parse_memory_mib(f"{mib}M") == mib


@given(days=st.integers(0, 500), hours=st.integers(0, 23), minutes=st.integers(1, 59))
def test_slurms_and_peoples_notations_agree(days: int, hours: int, minutes: int) -> None:
    assert parse_time_limit(f"{days}-{hours}:{minutes}") == parse_time_limit(
        f"{days}d{hours}h{minutes}m"
    )
