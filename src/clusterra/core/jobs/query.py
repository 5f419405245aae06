"""Which jobs somebody wants to see: the little query language, read into values.

    user:ana state:failed,timeout cpus>=4 ended<2d -partition:gpu "grid search"

Bare words look in what a person would search: id, name, user, account,
partition, nodes. A word with `:` or a comparison asks one field. Commas mean
*or*, everything else means *and*, a leading `-` means *not*. Ages are read as
people say them: `ended<2d` ended less than two days ago.

Reading happens here; finding is the store's business. `matches` is the meaning
of a query, and every store is held to it by the contract suite.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from difflib import get_close_matches
from enum import StrEnum
from typing import Any

from clusterra.core.errors import Invalid
from clusterra.core.jobs.job import Job, JobState
from clusterra.core.units import parse_duration, parse_memory_mib


class Op(StrEnum):
    IS = ":"
    """Text: one of the values, `*` standing for anything. Numbers: equal."""
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    HAS = "has"
    """Free text: somewhere in what people search."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    field: str
    """A key of FIELDS, or `text`."""
    op: Op
    values: tuple[str | int, ...]
    """Lower-case text, or numbers; a moment is a number of seconds since 1970."""
    negated: bool = False


class Sort(StrEnum):
    SUBMITTED = "submitted"
    STARTED = "started"
    ENDED = "ended"
    ID = "id"
    NAME = "name"
    USER = "user"
    STATE = "state"
    CPUS = "cpus"
    MEMORY = "memory"
    PRIORITY = "priority"


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    terms: tuple[Term, ...] = ()
    sort: Sort = Sort.SUBMITTED
    descending: bool = True
    limit: int = 50
    after: tuple[Any, int, int] | None = None
    """The last job of the page before: its sort value, id and birth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    jobs: Sequence[Job]
    next: tuple[Any, int, int] | None = None
    """What to put into `Query.after` for the following page; None on the last."""
