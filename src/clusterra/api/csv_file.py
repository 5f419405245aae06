"""Tables as files that a spreadsheet opens, and in which nothing is a formula."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal

from starlette.responses import Response

from clusterra.core.money import MICROS

Cell = str | int | datetime | None

_FORMULAS = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of one. Names of jobs are chosen by anybody."""


def csv_file(columns: Sequence[str], rows: Iterable[Mapping[str, Cell]], name: str) -> Response:
    """Return a file with a header; a column that a row does not have is empty there."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_spelled(row.get(column)) for column in columns])
    return Response(
        text.getvalue(),
        media_type="text/csv; charset=utf-8",
        headers={"content-disposition": f'attachment; filename="{name}.csv"'},
    )


def amounts(**micros: int) -> Mapping[str, Cell]:
    """Return each amount twice: `x_micros`, a whole number, and `x_usd`, in dollars."""
    found: dict[str, Cell] = {}
    for name, amount in micros.items():
        found |= {f"{name}_micros": amount, f"{name}_usd": f"{Decimal(amount) / MICROS:.6f}"}
    return found


def _spelled(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, datetime):
        return cell.isoformat()
    if isinstance(cell, int):
        return str(cell)
    return f"'{cell}" if cell.startswith(_FORMULAS) else cell
