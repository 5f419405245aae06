"""A table that fits: columns drop from the right, names are cut in the middle, nothing wraps."""

from collections.abc import Sequence
from dataclasses import dataclass

from clusterra.cli.screen import Screen, columns_of, cut_end, cut_middle, pad, tame

GAP = 2
_ROOMY_NAME = 16
_LEAST_NAME = 10
_LEAST_NOTE = 16


@dataclass(frozen=True, slots=True)
class Column:
    title: str
    right: bool = False
    """Numbers are read from the right."""
    name: bool = False
    """May be cut in the middle to make room."""
    note: bool = False
    """A sentence: the last column, without a title, cut at its end."""


@dataclass(frozen=True, slots=True)
class Cell:
    text: str
    colour: str | None = None
    faint: bool = False


def table(
    columns: Sequence[Column], rows: Sequence[Sequence[str | Cell]], screen: Screen
) -> list[str]:
    """Return the lines of the table, header first, none wider than the screen."""
    cells = [[each if isinstance(each, Cell) else Cell(each) for each in row] for row in rows]
    cells = [[Cell(tame(c.text), c.colour, c.faint) for c in row] for row in cells]
    widths = _fit(columns, cells, screen.width - GAP)
    header = _line(columns, [Cell(column.title, faint=True) for column in columns], widths, screen)
    return [header, *(_line(columns, row, widths, screen) for row in cells)]


def _fit(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], room: int) -> list[int]:
    """Return the widths of the columns that stay, from the left."""
    widths = [
        max(columns_of(text) for text in (column.title, *(row[place].text for row in rows)))
        for place, column in enumerate(columns)
    ]
    # An empty last column would only cost the room of its gap.
    while len(widths) > 1 and widths[-1] == 0:
        widths.pop()
    while (over := sum(widths) + GAP * (len(widths) - 1) - room) > 0:
        if _narrow(columns, widths, over):
            break
        if len(widths) == 1:
            return [room]
        widths.pop()
    return widths


def _narrow(columns: Sequence[Column], widths: list[int], over: int) -> bool:
    """Take `over` from long names, then the sentence, then all names; nothing if not enough.

    (A column that is dropped instead gives its room back to the names.)
    """
    narrowed = list(widths)
    names = [place for place in range(len(widths)) if columns[place].name]
    notes = [place for place in range(len(widths)) if columns[place].note]
    for places, least in ((names, _ROOMY_NAME), (notes, _LEAST_NOTE), (names, _LEAST_NAME)):
        for place in places:
            less = min(over, max(0, narrowed[place] - least))
            narrowed[place] -= less
            over -= less
    if over > 0:
        return False
    widths[:] = narrowed
    return True


def _line(
    columns: Sequence[Column], row: Sequence[Cell], widths: Sequence[int], screen: Screen
) -> str:
    parts = []
    for place, (column, cell, width) in enumerate(zip(columns, row, widths, strict=False)):
        text = cut_end(cell.text, width) if column.note else cut_middle(cell.text, width)
        if column.right or place < len(widths) - 1:
            text = pad(text, width, right=column.right)
        parts.append(screen.faint(text) if cell.faint else screen.paint(text, cell.colour))
    return (" " * GAP + (" " * GAP).join(parts)).rstrip()
