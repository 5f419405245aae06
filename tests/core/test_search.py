"""Text in bytes that come piece by piece."""

from hypothesis import given
from hypothesis import strategies as st

from clusterra.core.jobs.search import AROUND, Match, Search


def found(data: bytes, text: bytes, size: int = 7, *, ignore_case: bool = False) -> list[Match]:
    search = Search(text, ignore_case=ignore_case)
    matches: list[Match] = []
    for start in range(0, len(data), size):
        matches += search.feed(data[start : start + size])
    return [*matches, *search.feed(b"", last=True)]


@given(
    st.lists(st.text("ab", max_size=12), max_size=30),
    st.text("ab", min_size=1, max_size=3),
    st.integers(1, 40),
)
def test_each_line_with_the_text_is_told_once_however_it_comes(
    lines: list[str], text: str, size: int
) -> None:
    data = "\n".join(lines).encode()
    expected = [(n, line) for n, line in enumerate(lines, 1) if text in line]

    matches = found(data, text.encode(), size)

    assert [(each.line, each.text.decode()) for each in matches] == expected
    for each in matches:
        assert data[each.at :].startswith(text.encode())
        assert data[each.offset :].startswith(each.text)


def test_of_an_endless_line_what_stands_around_the_text_is_told() -> None:
    [match] = found(b"x" * 5000 + b"needle" + b"y" * 5000 + b"needle", b"needle", 1000)

    assert (match.line, match.offset, match.at, match.cut) == (1, 0, 5000, True)
    assert match.text == b"x" * AROUND + b"needle" + b"y" * AROUND


def test_case_is_ignored_where_that_is_wanted() -> None:
    assert [each.line for each in found(b"Error\nerror\n", b"ERROR", ignore_case=True)] == [1, 2]
    assert found(b"Error\nerror\n", b"ERROR") == []


def test_no_more_is_kept_than_what_may_be_shown() -> None:
    search = Search(b"needle")
    for _ in range(100):
        assert list(search.feed(b"\0" * 100_000)) == []
        assert len(search._kept) <= AROUND + len(b"needle")
