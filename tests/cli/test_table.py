from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterra.cli.jobs.list import COLUMNS, row
from clusterra.cli.screen import Screen, columns_of, cut_end, cut_middle, screen_of, tame
from clusterra.cli.table import Cell, Column, table
from tests.cli.world import NOON, a_job, ended, running

JOBS = [
    running(job_id=44, name="relion-class3d-refine-with-long-name", user="ben", gpus=1),
    a_job(job_id=43, label="43_[5-9]", name="sweep", reason="Resources"),
    ended(job_id=41, state="FAILED", exit_code=7),
]


def lines(width: int) -> list[str]:
    return table(
        COLUMNS,
        [row(job, NOON) for job in JOBS],
        Screen(live=False, colour=False, width=width),
    )


def test_a_wide_screen_shows_everything() -> None:
    header, first, second, _ = lines(140)

    assert header.split() == ["ID", "NAME", "USER", "STATE", "ASKED", "WAITED", "RAN", "COST"]
    assert "relion-class3d-refine-with-long-name" in first
    assert second.endswith("what it asks for is in use (Resources)")


def test_names_are_cut_in_the_middle_before_anything_is_dropped() -> None:
    header, first, *_ = lines(98)

    assert header.split()[-1] == "COST"
    assert "relion-c…ng-name" in first


def test_columns_drop_from_the_right() -> None:
    assert lines(60)[0].split()[-1] == "WAITED"
    assert lines(54)[0].split()[-1] == "ASKED"
    assert lines(40)[0].split()[-1] == "STATE"


@given(st.integers(8, 200))
def test_no_line_is_ever_wider_than_the_screen(width: int) -> None:
    assert all(columns_of(line) <= width for line in lines(width))


@given(st.text(), st.integers(0, 40))
def test_cutting_keeps_to_the_width_whatever_the_script(text: str, width: int) -> None:
    assert columns_of(cut_end(text, width)) <= width
    assert columns_of(cut_middle(text, width)) <= width


def test_wide_characters_count_double() -> None:
    assert columns_of("日本") == 4
    assert cut_middle("日本日本日本", 7) == "日…本"


def test_a_name_cannot_move_the_cursor() -> None:
    shown = table([Column("NAME")], [["evil\x1b[2J\nname"]], Screen(live=True, colour=True))

    assert "\x1b[2J" not in "".join(shown)
    assert len(shown) == 2
    assert tame("a\tb") == "a�b"


@pytest.mark.parametrize(("colour", "expected"), [(True, True), (False, False)])
def test_colour_is_there_only_when_wanted(colour: bool, expected: bool) -> None:
    screen = Screen(live=True, colour=colour)

    assert ("\x1b[" in "".join(table([Column("A")], [[Cell("x", "red")]], screen))) is expected


class Tty(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environ", "no_colour", "live", "colour"),
    [
        ({}, False, True, True),
        ({"NO_COLOR": "1"}, False, True, False),
        ({}, True, True, False),
        ({"TERM": "dumb"}, False, False, False),
    ],
)
def test_a_terminal_gets_colour_unless_somebody_says_no(
    environ: dict[str, str], no_colour: bool, live: bool, colour: bool
) -> None:
    screen = screen_of(Tty(), environ | {"COLUMNS": "72"}, no_colour=no_colour)

    assert (screen.live, screen.colour) == (live, colour)
    assert screen.width == (72 if live else 100)


def test_a_pipe_is_plain_and_a_hundred_wide() -> None:
    screen = screen_of(StringIO(), {"COLUMNS": "72"}, no_colour=False)

    assert (screen.live, screen.colour, screen.width) == (False, False, 100)
