"""Which events somebody wants to be told of: a webhook's filter, and an automation's `when`.

Each part narrows; an empty part narrows nothing. What somebody may read is another
question (`access`), and is asked as well.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches

from clusterra.core.errors import Invalid
from clusterra.core.events.fact import NAMES
from clusterra.core.events.filter import is_like
from clusterra.core.events.severity import Severity, severity_of
from clusterra.core.quote import shown

MOST = 50
"""Entries in one part."""

LONGEST = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Particulars:
    """What a filter looks at in an event's data; empty where the event has no such thing."""

    user: str = ""
    """The Linux user of the job, or whom it is about."""

    person: str = ""
    """The same as an e-mail, where they are a person here."""

    partition: str = ""
    state: str = ""
    name: str = ""
    run_id: str = ""


def particulars(body: bytes, person_of: Callable[[str], str]) -> Particulars:
    """Read them from an event as the ledger has it."""
    data = json.loads(body)["data"]
    user = data.get("user") or data.get("email") or ""
    return Particulars(
        user=user,
        person=data.get("person") or person_of(user),
        partition=data.get("partition", ""),
        state=data.get("state", ""),
        name=data.get("name", ""),
        run_id=data.get("run_id", ""),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Interest:
    types: tuple[str, ...] = ()
    """Types or globs, as `job.*`."""

    clusters: tuple[str, ...] = ()
    """Ids of clusters. What is the workspace's own (quotas, access) is not of any."""

    people: tuple[str, ...] = ()
    """E-mails or Linux users."""

    partitions: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    """Slurm's words: FAILED, TIMEOUT."""

    names: tuple[str, ...] = ()
    """Names of jobs, or globs, as `align-*`."""

    runs: tuple[str, ...] = ()
    """Submissions through us, by run id."""

    severity: Severity = Severity.INFO
    """Nothing that matters less."""

    @property
    def looks_inside(self) -> bool:
        """Whether an event's data matters, and not only its type and where it happened."""
        return bool(self.people or self.partitions or self.states or self.names or self.runs)

    def means(self, type: str, ledger: str, about: Particulars) -> bool:
        """Say whether an event is meant."""
        return (
            _among(type, self.types)
            and (not self.clusters or ledger in self.clusters)
            and (not self.people or about.user in self.people or about.person in self.people)
            and _is_one_of(about.partition, self.partitions)
            and _is_one_of(about.state.upper(), self.states)
            and _among(about.name, self.names)
            and _is_one_of(about.run_id, self.runs)
            and (self.severity is Severity.INFO or severity_of(type).rank >= self.severity.rank)
        )


def _among(text: str, globs: tuple[str, ...]) -> bool:
    return not globs or any(is_like(text, glob) for glob in globs)


def _is_one_of(text: str, wanted: tuple[str, ...]) -> bool:
    return not wanted or text in wanted


def tidied(interest: Interest) -> Interest:
    """Return it as it is compared: each entry once, people and states however they were typed."""
    return replace(
        interest,
        types=_once(interest.types),
        clusters=_once(interest.clusters),
        people=_once(each.lower() for each in interest.people),
        partitions=_once(interest.partitions),
        states=_once(each.upper() for each in interest.states),
        names=_once(interest.names),
        runs=_once(interest.runs),
    )


def _once(entries: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.strip() for each in entries))


def check_interest(interest: Interest) -> None:
    """Raise Invalid if it cannot mean what somebody meant."""
    for part in fields(interest):
        entries = getattr(interest, part.name)
        if not isinstance(entries, tuple):
            continue
        if len(entries) > MOST:
            raise Invalid(
                f"{part.name} has {len(entries)} entries; the most is {MOST}.",
                hint="Use a glob, as job.*, or leave it out for all.",
                at=part.name,
            )
        for entry in entries:
            _check_entry(entry, part.name)
    check_types(interest.types)


def _check_entry(entry: str, at: str) -> None:
    if not entry or len(entry) > LONGEST or not entry.isprintable():
        raise Invalid(
            f"An entry of {at} is empty, longer than {LONGEST} characters, or not printable.",
            hint="Leave it out.",
            at=at,
        )


def check_types(types: Iterable[str], *, at: str = "types") -> None:
    """Raise Invalid for a type that no event has: it would never be told of, in silence."""
    for wanted in types:
        if any(is_like(type, wanted) for type in NAMES):
            continue
        near = get_close_matches(wanted, NAMES, n=1)
        raise Invalid(
            f"There is no event {shown(wanted)}.",
            hint=f"Did you mean {near[0]}?" if near else "docs/reference/events.md lists them all.",
            at=at,
            code="unknown-event-type",
        )
