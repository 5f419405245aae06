"""Values of an event in what an automation submits: `{{job.id}}`, and CLUSTERRA_CAUSE_JOB_ID.

The name of a job is whatever somebody typed: `$(rm -rf ~)`, quotes, a newline. Quoting it
for a shell protects only where nothing is quoted already: inside "…", in a comment, in a
here-document or in Python it does nothing, or harm. So into the text of a script goes only
what means nothing anywhere: letters, digits and a few marks. Everything else is refused with
the way that is always right: the environment variable of the same value.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from clusterra.core.automation.cause import Cause
from clusterra.core.errors import Invalid, Refused
from clusterra.core.quote import shown

PREFIX = "CLUSTERRA_CAUSE_"

NAMES = (
    "job.id",
    "job.name",
    "job.user",
    "job.state",
    "job.run_id",
    "event.id",
    "event.type",
    "cluster",
)

AS_TEXT = frozenset({"name", "comment"})
"""Options in which any text is only a text. In the others it may be a path or a list."""

_PLACE = re.compile(r"\{\{\s*([^{}\n]*?)\s*\}\}")
_HARMLESS = re.compile(r"(?!-)(?!\.+\Z)[A-Za-z0-9_.@%+=:,-]+")
"""No blank, quote, slash or sign of a shell; not the beginning of an option; not `..`."""

_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


def values(cause: Cause) -> dict[str, str]:
    """Return what an event has to say, by name; without what it does not say."""
    known = {
        "job.id": "" if cause.job_id is None else cause.label or str(cause.job_id),
        "job.name": cause.name,
        "job.user": cause.user,
        "job.state": cause.state,
        "job.run_id": cause.run_id,
        "event.id": cause.id,
        "event.type": cause.type,
        "cluster": cause.cluster,
    }
    return {name: value for name, value in known.items() if value}


def environment(known: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that every submitted script finds, whatever it says itself."""
    return {
        variable(name): _UNPRINTABLE.sub(" ", value)
        for name, value in known.items()
        if name in NAMES
    }


def variable(name: str) -> str:
    return PREFIX + name.upper().replace(".", "_")


def check_names(text: str, *, at: str) -> None:
    """Raise Invalid for a value that no event has."""
    for found in _PLACE.finditer(text):
        if found[1] not in NAMES:
            raise Invalid(
                f"There is no value {shown(found[0])}.",
                hint=f"The values are: {', '.join(NAMES)}.",
                at=at,
                code="unknown-value",
            )


def in_script(script: str, known: Mapping[str, str]) -> str:
    """Return the script with its values. Raises Refused for one that is missing or not harmless."""
    return _filled(script, known, at="script", harmless=True)


TABLES = ("env", "params", "inputs")
"""Options that hold several values by name."""


def in_options(options: Mapping[str, Any], known: Mapping[str, str]) -> dict[str, Any]:
    """Return the options with their values, as `in_script` does."""
    filled: dict[str, Any] = {}
    for name, value in options.items():
        if isinstance(value, str):
            filled[name] = _filled(value, known, at=name, harmless=name not in AS_TEXT)
        elif name in TABLES and isinstance(value, Mapping):
            filled[name] = {
                each: _filled(text, known, at=name, harmless=name != "env")
                if isinstance(text, str)
                else text
                for each, text in value.items()
            }
        else:
            filled[name] = value
    return filled


def texts(options: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Return every text that may name values, and where it stands."""
    for name, value in options.items():
        if isinstance(value, str):
            yield name, value
        elif isinstance(value, Mapping):
            yield from ((name, each) for each in value.values() if isinstance(each, str))


def _filled(text: str, known: Mapping[str, str], *, at: str, harmless: bool) -> str:
    def value(place: re.Match[str]) -> str:
        name = place[1]
        if name not in known:
            raise Refused(
                f"This event has no {name}.",
                hint="Name only events that have it in when.types.",
                code="missing-value",
                at=at,
            )
        found = known[name]
        if harmless and not _HARMLESS.fullmatch(found):
            raise Refused(
                f"{name} is {shown(found)}: that is not put into {_what(at)}, where it could do"
                " something.",
                hint=f'Read it from the environment instead: "${variable(name)}".',
                code="unsafe-value",
                at=at,
            )
        return _UNPRINTABLE.sub(" ", found)

    return _PLACE.sub(value, text)


def _what(at: str) -> str:
    return "the text of a script" if at == "script" else f"the option {at}"
