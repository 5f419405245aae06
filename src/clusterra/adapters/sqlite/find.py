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
    binds: Binds = {"cluster": cluster, "now": query.now}
    parts = ["cluster = :cluster"]
    for number, term in enumerate(query.terms):
        condition = _condition(term, f"t{number}", binds)
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


def _condition(term: Term, name: str, binds: Binds) -> str:
    if term.op is Op.HAS:
        binds[name] = term.values[0]
        return f"instr(searched, :{name}) > 0"
    names = [f"{name}_{n}" for n in range(len(term.values))]
    binds.update(zip(names, term.values, strict=True))
    column = SPANS.get(term.field, term.field)
    if term.op is not Op.IS:
        return f"{column} {term.op.value} :{names[0]}"
    globs = [each for each in names if "*" in str(binds[each])]
    plain = [f":{each}" for each in names if each not in globs]
    binds.update({each: glob(binds[each]) for each in globs})
    arms = [f"{column} in ({', '.join(plain)})", *(f"{column} glob :{each}" for each in globs)]
    return f"({' or '.join(arms)})"


def glob(text: str) -> str:
    """Only `*` is special to us; `?` and `[` stand for themselves."""
    return "".join(f"[{char}]" if char in "[?" else char for char in text)
