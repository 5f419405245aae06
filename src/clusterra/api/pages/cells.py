"""The picture beside the door: a fleet of workers, busiest in the middle. It shows no real one."""

from math import hypot

from clusterra.api.pages.markup import Html

COLUMNS, ROWS = 14, 13
WIDTH, HEIGHT, GAP = 34, 44, 8


def _cell(column: int, row: int) -> str:
    x, y = column * (WIDTH + GAP), row * (HEIGHT + GAP)
    # Two small remainders stand in for chance, so that the picture is the same every time.
    wobble = (column * 5 + row * 3) % 7 / 60
    busy = 1.35 - hypot((column - 8.8) / 4.4, (row - 5.9) / 4.1) - wobble
    if busy < 0.22:
        kind = "soon" if busy > 0.14 else "none"
        return f'<use href="#{kind}" x="{x}" y="{y}"/>'
    cpu = min(1.0, busy)
    memory = cpu * (0.5 + (column * 3 + row * 5) % 6 / 11)
    bars = _bar("cpu", x + 3, y, cpu) + _bar("mem", x + 18, y, memory)
    return f'<use href="#busy" x="{x}" y="{y}"/>{bars}'


def _bar(kind: str, x: int, cell: int, full: float) -> str:
    tall = max(3, round(full * (HEIGHT - 6)))
    y = cell + HEIGHT - 3 - tall
    return f'<rect class="{kind}" x="{x}" y="{y}" width="13" height="{tall}" rx="2"/>'


def _frame(kind: str) -> str:
    return f'<rect id="{kind}" class="{kind}" x=".5" y=".5" width="33" height="43" rx="5"/>'


CELLS = Html(
    f'<svg viewBox="0 0 {COLUMNS * (WIDTH + GAP) - GAP} {ROWS * (HEIGHT + GAP) - GAP}"><defs>'
    '<pattern id="hatch" width="4" height="4" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><rect class="hatch" width="2" height="4"/></pattern>'
    + "".join(map(_frame, ("none", "soon", "busy")))
    + "</defs>"
    + "".join(_cell(column, row) for row in range(ROWS) for column in range(COLUMNS))
    + "</svg>"
)
