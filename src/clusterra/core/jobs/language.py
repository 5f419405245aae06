"""The little query language, read into a `Query`.

    user:ana state:failed,timeout cpus>=4 ended<2d -partition:gpu "grid search"

Bare words look in what a person would search: id, name, user, account,
partition, nodes. A word with `:` or a comparison asks one field. Commas mean
*or*, everything else means *and*, a leading `-` means *not*. Ages are read as
people say them: `ended<2d` is "ended less than two days ago".

A mistake is an Invalid that names the column it stands in.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from difflib import get_close_matches

from clusterra.core.errors import Invalid
from clusterra.core.jobs.job import JobState
from clusterra.core.jobs.query import FIELDS, STATE_WORDS, After, Op, Query, Sense, Sort, Term
from clusterra.core.units import parse_duration, parse_memory_mib

_WORD = re.compile(r'(?P<not>-?)(?:"(?P<quoted>[^"]*)"|(?P<plain>(?:[^\s"]|"[^"]*")+))')
_TERM = re.compile(r"(?P<field>[A-Za-z_]+)(?P<op>:|<=|>=|<|>|=)(?P<value>.*)", re.DOTALL)


def parse(
    text: str,
    *,
    now: datetime,
    sort: str = "",
    limit: int = 50,
    after: After | None = None,
) -> Query:
    """Read a query; an Invalid names the column where it went wrong."""
    order, descending = _read_sort(sort)
    return Query(
        terms=tuple(_terms(text, now)),
        sort=order,
        descending=descending,
        limit=limit,
        after=after,
        now=int(now.timestamp()),
    )


def _read_sort(text: str) -> tuple[Sort, bool]:
    if not text:
        return Sort.SUBMITTED, True
    name = text.removeprefix("-")
    if name not in set(Sort):
        raise Invalid(
            f"Jobs cannot be sorted by {name!r}.",
            hint=f"Sort by one of {', '.join(Sort)}; a leading - means largest or newest first.",
            at="sort",
            code="query-sort",
        )
    return Sort(name), text.startswith("-")


def _terms(text: str, now: datetime) -> Iterator[Term]:
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        word = _WORD.match(text, position)
        end = position if word is None else word.end()
        if word is None or text[end : end + 1] == '"':
            raise _wrong("This quotation mark is never closed.", 'Add the closing ".', end)
        yield _term(word, now)
        position = end


def _term(word: re.Match[str], now: datetime) -> Term:
    negated = bool(word["not"])
    column = word.start() + len(word["not"])
    if word["quoted"] is not None:
        return Term(field="text", op=Op.HAS, values=(word["quoted"].lower(),), negated=negated)
    parts = _TERM.fullmatch(word["plain"])
    if parts is None:
        if word["plain"][0] in "<>:=":
            raise _wrong(
                f"{word['plain']!r} compares nothing.", "Put a field before it: cpus>=4.", column
            )
        plain = word["plain"].replace('"', "").lower()
        return Term(field="text", op=Op.HAS, values=(plain,), negated=negated)
    field = parts["field"].lower()
    if field not in FIELDS:
        near = get_close_matches(field, FIELDS, n=1)
        raise _wrong(
            f"Jobs have no field {parts['field']!r}.",
            f"Did you mean {near[0]}?" if near else f"The fields are {', '.join(FIELDS)}.",
            column,
        )
    op = Op.IS if parts["op"] in ":=" else Op(parts["op"])
    value = parts["value"].replace('"', "")
    where = column + parts.start("value")
    if not value:
        raise _wrong(f"There is nothing after {field}{parts['op']}.", "Say a value.", where)
    return _read_values(field, op, value, where, now, negated=negated)


def _read_values(
    field: str, op: Op, text: str, column: int, now: datetime, *, negated: bool
) -> Term:
    sense = FIELDS[field][0]
    if sense is Sense.TEXT:
        if op is not Op.IS:
            raise _wrong(
                f"{field} is a word; it is not more or less than another.",
                f"Write {field}:{text}.",
                column,
            )
        words = [word for word in text.lower().split(",") if word]
        if field == "state":
            words = [state for word in words for state in _states(word, column)]
        return Term(field=field, op=op, values=tuple(words), negated=negated)
    if sense is Sense.MOMENT:
        moment, flipped = _moment(field, op, text, column, now)
        return Term(field=field, op=flipped, values=(moment,), negated=negated)
    values = tuple(_number(field, sense, part, column) for part in text.split(","))
    if op is not Op.IS and len(values) > 1:
        raise _wrong(f"{field}{op} takes one value.", "Commas go with a colon.", column)
    return Term(field=field, op=op, values=values, negated=negated)


def _states(word: str, column: int) -> Sequence[str]:
    if word in STATE_WORDS:
        return STATE_WORDS[word]
    names = [state.lower() for state in JobState]
    if word in names or "*" in word:
        return (word,)
    near = get_close_matches(word, [*names, *STATE_WORDS], n=1)
    raise _wrong(
        f"There is no state {word!r}.",
        f"Did you mean {near[0]}?" if near else f"States are {', '.join(names)}.",
        column,
    )


_FLIPPED = {Op.LT: Op.GT, Op.LE: Op.GE, Op.GT: Op.LT, Op.GE: Op.LE}


def _moment(field: str, op: Op, text: str, column: int, now: datetime) -> tuple[int, Op]:
    """Read an age (`2d`: less is later, so the comparison turns round) or a date."""
    if op is Op.IS:
        raise _wrong(
            f"{field} needs a comparison.", f"Write {field}<{text} or {field}>{text}.", column
        )
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        try:
            age = parse_duration(text)
        except Invalid as error:
            raise _wrong(
                f"{text!r} is neither an age nor a date.",
                "Write an age such as 2h or 3d, or a date such as 2026-11-01.",
                column,
            ) from error
        return int((now - age).timestamp()), _FLIPPED[op]
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return int(date.timestamp()), op


def _number(field: str, sense: Sense, text: str, column: int) -> int:
    try:
        if sense is Sense.MEMORY:
            return parse_memory_mib(text)
        if sense is Sense.SPAN:
            return int(parse_duration(text).total_seconds())
        return _whole(text)
    except (Invalid, ValueError, OverflowError):
        kind = {Sense.MEMORY: "memory such as 4G", Sense.SPAN: "a time such as 10m"}
        raise _wrong(
            f"{text!r} is not {kind.get(sense, 'a whole number')}, which {field} needs.",
            "Mend that value.",
            column,
        ) from None


def _whole(text: str) -> int:
    number = int(text)
    if abs(number) >= 1 << 63:
        raise OverflowError
    return number


def _wrong(detail: str, hint: str, column: int) -> Invalid:
    return Invalid(detail, hint=hint, at=f"column {column + 1}", code="query")
