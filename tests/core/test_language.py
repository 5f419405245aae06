"""The query language: what it reads, and where it points when it cannot."""

from contextlib import suppress
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterra.core.errors import Invalid
from clusterra.core.jobs.language import parse
from clusterra.core.jobs.query import Op, Query, Sort, Term
from tests.builders import NOON

NOW = int(NOON.timestamp())


def terms(text: str) -> list[Term]:
    return list(parse(text, now=NOON).terms)


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("align", Term(field="text", op=Op.HAS, values=("align",))),
        ('"grid search"', Term(field="text", op=Op.HAS, values=("grid search",))),
        ("user:Ana", Term(field="user", op=Op.IS, values=("ana",))),
        ("user=ana", Term(field="user", op=Op.IS, values=("ana",))),
        ('name:"my job"', Term(field="name", op=Op.IS, values=("my job",))),
        ("-partition:gpu", Term(field="partition", op=Op.IS, values=("gpu",), negated=True)),
        ("state:failed,done", Term(field="state", op=Op.IS, values=("failed", "completed"))),
        ("state:live", Term(field="state", op=Op.IS, values=("pending", "running", "suspended"))),
        ("cpus>=4", Term(field="cpus", op=Op.GE, values=(4,))),
        ("id:4,5", Term(field="id", op=Op.IS, values=(4, 5))),
        ("memory>2G", Term(field="memory", op=Op.GT, values=(2048,))),
        ("ran>1h30m", Term(field="ran", op=Op.GT, values=(5400,))),
        # An age: less than two days ago is later than that moment.
        ("ended<2d", Term(field="ended", op=Op.GT, values=(NOW - 172800,))),
        ("submitted>=2026-03-01", Term(field="submitted", op=Op.GE, values=(NOW - 129600,))),
    ],
)
def test_what_a_word_asks(text: str, term: Term) -> None:
    assert terms(text) == [term]


@pytest.mark.parametrize(
    ("text", "column", "hint"),
    [
        ("usr:ana", 1, "Did you mean user?"),
        ("align stat:failed", 7, "Did you mean state?"),
        ("state:faild", 7, "Did you mean failed?"),
        ("cpus>=four", 7, "Mend that value."),
        ("cpus:4 memory>lots", 15, "Mend that value."),
        ("user>ana", 6, "Write user:ana."),
        ("ended:2d", 7, "Write ended<2d or ended>2d."),
        ("ended<soon", 7, "Write an age such as 2h or 3d, or a date such as 2026-11-01."),
        ("user:", 6, "Say a value."),
        ('name:"my job', 6, 'Add the closing ".'),
        (">=4", 1, "Put a field before it: cpus>=4."),
        ("cpus>1,2", 6, "Commas go with a colon."),
        ("id:99999999999999999999", 4, "Mend that value."),
    ],
)
def test_a_mistake_is_named_with_its_column(text: str, column: int, hint: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse(text, now=NOON)

    assert (caught.value.at, caught.value.hint) == (f"column {column}", hint)


def test_the_newest_come_first_unless_said_otherwise() -> None:
    assert parse("", now=NOON) == Query(now=NOW)
    assert parse("", now=NOON, sort="cpus").descending is False
    assert parse("", now=NOON, sort="-cpus") == Query(sort=Sort.CPUS, now=NOW)
    with pytest.raises(Invalid, match="cannot be sorted by 'colour'"):
        parse("", now=NOON, sort="colour")


@given(st.text(max_size=40), st.timedeltas(timedelta(), timedelta(days=9000)))
def test_no_text_is_worse_than_invalid(text: str, later: timedelta) -> None:
    with suppress(Invalid):
        parse(text, now=NOON + later)
