"""A figure says what was measured, what stood beside it, and whether that is enough."""

from bench.__main__ import FIGURES, NAMES
from bench.figure import Goal, Row


def row(*, ours: float, beside: float, goal: Goal, unit: str = "ms") -> Row:
    return Row(
        name="list-page",
        what="the first page",
        ours=ours,
        unit=unit,
        beside=beside,
        beside_what="/healthz",
        goal=goal,
    )


def test_a_goal_is_met_at_its_bound_and_short_beyond_it() -> None:
    at_most = Goal(bound=15)

    assert row(ours=15, beside=1, goal=at_most).met
    assert not row(ours=15.1, beside=1, goal=at_most).met


def test_a_goal_may_be_for_the_ratio_and_may_ask_for_more_instead_of_less() -> None:
    most = Goal(bound=0.7, least=True, of_ratio=True)

    assert row(ours=70, beside=100, goal=most).met
    assert not row(ours=69, beside=100, goal=most).met


def test_a_line_tells_name_ours_beside_ratio_goal_and_verdict_in_this_order() -> None:
    line = row(ours=12.34, beside=2, goal=Goal(bound=15)).line()

    assert line.split() == [
        "list-page",
        "12.3",
        "ms",
        "2.00",
        "ms",
        "6.17×",
        "≤",
        "15",
        "ms",
        "met",
    ]


def test_a_row_of_the_report_has_the_fields_that_programs_read() -> None:
    record = row(ours=3, beside=2, goal=Goal(bound=1.5, of_ratio=True)).record()

    assert {name: record[name] for name in ("name", "ours", "unit", "beside", "ratio")} == {
        "name": "list-page",
        "ours": 3,
        "unit": "ms",
        "beside": 2,
        "ratio": 1.5,
    }
    assert record["goal"] == "≤ 1.5×"
    assert record["met"] is True


def test_every_row_of_the_table_has_a_name_of_its_own() -> None:
    assert len(set(NAMES)) == len(NAMES) == sum(len(figure.rows) for figure in FIGURES)
