"""A job query as SQL: what `core.jobs.query.matches` means, in SQLite's words.

Text columns hold lower case, folded by Python, because SQLite folds only ASCII.
"""

from typing import Any

from clusterra.core.jobs.query import Op, Query, Sort, Term

SPANS = {
    "waited": "(coalesce(nullif(started, 0), nullif(ended, 0), :now) - submitted)",
    "ran": "(coalesce(nullif(ended, 0), :now) - started)",
}

Binds = dict[str, Any]


def where(cluster: str, query: Query) -> tuple[str, Binds]:
    """Return the condition of a query without its page, and the values it names."""
    binds: Binds = {"cluster": cluster}
    if any(term.field in SPANS for term in query.terms):
        binds["now"] = query.now  # and only then: what is found does not depend on it otherwise
    parts = ["cluster = :cluster"]
    alone = len(query.terms) == 1
    for number, term in enumerate(query.terms):
        condition = _condition(term, f"t{number}", binds, alone=alone)
        parts.append(f"not coalesce({condition}, 0)" if term.negated else condition)
    return " and ".join(parts), binds


def page(cluster: str, query: Query) -> tuple[str, Binds]:
    """Return the statement for one page: one row more than asked for, to know if more follow."""
    condition, binds = where(cluster, query)
    order = _order(query.sort)
    way, past = ("desc", "<") if query.descending else ("asc", ">")
    if query.after is not None:
        condition += f" and ({order}, id, born) {past} (:after_value, :after_id, :after_born)"
        binds["after_value"], binds["after_id"], binds["after_born"] = query.after
    binds["rows"] = query.limit + 1
    found = (
        f"select key, {order} as value, id, born from job where {condition}"  # noqa: S608
        f" order by {order} {way}, id {way}, born {way} limit :rows"
    )
    statement = (
        f"select body from ({found}) join job_body using (key)"  # noqa: S608
        f" order by value {way}, id {way}, born {way}"
    )
    return statement, binds


def _order(sort: Sort) -> str:
    nullable = sort in {Sort.STARTED, Sort.ENDED, Sort.PRIORITY}
    return f"coalesce({sort.value}, 0)" if nullable else sort.value


def _condition(term: Term, name: str, binds: Binds, *, alone: bool) -> str:
    if term.op is Op.HAS:
        # SQLite goes through text a quarter faster this way than with instr().
        binds[name] = f"*{_exactly(str(term.values[0]))}*"
        return f"searched glob :{name}"
    names = [f"{name}_{n}" for n in range(len(term.values))]
    binds.update(zip(names, term.values, strict=True))
    column = SPANS.get(term.field, term.field)
    if term.op is not Op.IS:
        return f"{column} {term.op.value} :{names[0]}"
    globs = [each for each in names if "*" in str(binds[each])]
    plain = [f":{each}" for each in names if each not in globs]
    binds.update({each: glob(binds[each]) for each in globs})
    # SQLite looks up a glob that begins with text in an index, as a range. If other conditions
    # need the jobs themselves, going through the newest until a page is full is quicker; the plus
    # keeps SQLite to that.
    arms = [f"{'' if alone else '+'}{column} glob :{each}" for each in globs]
    if plain:
        arms.append(f"{column} in ({', '.join(plain)})")
    return f"({' or '.join(arms)})"


def glob(text: str) -> str:
    """Only `*` is special to us; `?` and `[` stand for themselves."""
    return "*".join(map(_exactly, text.split("*")))


def _exactly(text: str) -> str:
    """Write what finds this very text, whatever is special in it to SQLite."""
    return "".join(f"[{char}]" if char in "*[?" else char for char in text)
