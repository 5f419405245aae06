"""Slurm's small languages: counts, arrays, dependencies, moments, signals, host lists.

Each is read as far as needed to tell a person that it is wrong, and what of it,
before Slurm says no more than "Invalid job array specification". Every function
takes what was written, the name it was written under, and where.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from clusterra.core.errors import Invalid
from clusterra.core.quote import shown
from clusterra.core.units import LARGEST

SMALL = 65_533
"""The most of what Slurm counts in 16 bits. slurmrestd does not check: 70,000 CPUs per task are
taken as 4,464."""

LARGEST_ARRAY = 4_000_001
"""What Slurm never lets MaxArraySize exceed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One thing a person asked for."""

    option: str
    """sbatch's long name for it."""

    value: str | None
    at: str
    """Where they wrote it: a field, or a line of the script."""

    said: str
    """What they called it: `cpus`, or `--cpus-per-task`."""

    @property
    def text(self) -> str:
        return self.value or ""

    def wrong(self, what: str, hint: str) -> Invalid:
        return Invalid(f"{self.said} {what}", hint=hint, at=self.at)


def count(ask: Ask, *, least: int = 1, most: int = LARGEST) -> int:
    """Read a whole number."""
    if not re.fullmatch(r"[+-]?\d{1,30}", ask.text, re.ASCII):
        raise ask.wrong(
            f"must be a whole number, not {shown(ask.text)}.",
            f"Write a number such as {max(least, 4)}.",
        )
    number = int(ask.text)
    if not least <= number <= most:
        raise ask.wrong(
            f"must be between {least:,} and {most:,}, not {number:,}.",
            "Write a number in that range, or leave it out.",
        )
    return number


def choice(ask: Ask, choices: dict[str, Any]) -> Any:
    """Look the value up among the words there are, in any case."""
    word = ask.text.strip().lower()
    if word not in choices:
        raise ask.wrong(
            f"cannot be {shown(ask.text)}.",
            f"It can be {', '.join(key for key in choices if key)}.",
        )
    return choices[word]


def text(ask: Ask, *, longest: int = 1024) -> str:
    """Take text as it is, if Slurm can hold it."""
    strange = re.search(r"[\x00-\x1f\x7f\ud800-\udfff]", ask.text)
    if strange:
        raise ask.wrong(
            f"holds the character {shown(strange[0])}.",
            "Remove it: only printable text can be used.",
        )
    if len(ask.text.encode()) > longest:
        raise ask.wrong(
            f"is {len(ask.text.encode()):,} bytes long; Slurm takes at most {longest:,}.",
            "Shorten it.",
        )
    return ask.text


def node_count(ask: Ask) -> str:
    """Read `2`, `2-4`, or a list of acceptable sizes `2,4,8-16:4`."""
    number = r"(\d{1,10})([kKmM]?)"
    for part in ask.text.split(","):
        match = re.fullmatch(rf"{number}(?:-{number}(?::\d{{1,10}})?)?", part, re.ASCII)
        if match is None:
            raise ask.wrong(
                f"must be a number of nodes or a range, not {shown(ask.text)}.",
                "Write 2, or 2-4 for at least two and at most four.",
            )
        low, low_unit, high, high_unit = match.groups()
        least = _in_thousands(low, low_unit)
        most = _in_thousands(high, high_unit) if high else least
        if not (1 <= least <= LARGEST and 1 <= most <= LARGEST):
            raise ask.wrong(
                f"must be between 1 and {LARGEST:,}, not {shown(part)}.",
                "Write 2, or 2-4 for at least two and at most four.",
            )
        if most < least:
            raise ask.wrong(f"counts backwards: {shown(part)}.", f"Write {high}-{low}.")
    return ask.text


def _in_thousands(digits: str, unit: str) -> int:
    return int(digits) * {"": 1, "k": 1024, "m": 1024**2}[unit.lower()]


def array(ask: Ask, *, max_array: int | None = None) -> str:
    """Read `0-9`, `1,5,7`, `0-100:4%8`.

    `max_array` is the cluster's MaxArraySize: the largest index is one less.
    """
    indexes, percent, limit = ask.text.partition("%")
    indexes = re.sub(r"^\[(.*)\]$", r"\1", indexes)
    if percent and not (limit.isascii() and limit.isdigit() and 0 < int(limit[:12]) <= LARGEST):
        raise ask.wrong(
            f"must have a number of at least 1 after %, not {shown(limit)}.",
            "Write 0-99%8 to run at most eight tasks at a time.",
        )
    largest = max(_array_part(ask, part) for part in indexes.split(","))
    size = min(max_array or LARGEST_ARRAY, LARGEST_ARRAY)
    if largest >= size:
        raise Invalid(
            f"{ask.said} goes up to {largest:,}; the largest index here is {size - 1:,}.",
            hint="Use smaller indexes, or let each task do several pieces of the work.",
            code="array-too-large",
            at=ask.at,
        )
    return ask.text


def _array_part(ask: Ask, part: str) -> int:
    match = re.fullmatch(r"(\d{1,12})(?:-(\d{1,12})(?::(\d{1,12}))?)?", part, re.ASCII)
    if match is None:
        raise ask.wrong(
            f"cannot be {shown(ask.text)}.",
            "Write 0-9, 1,5,7 or 0-100:4, with %8 for eight at a time.",
        )
    first, last, step = (int(each) if each else None for each in match.groups())
    assert first is not None
    if last is not None and last < first:
        raise ask.wrong(f"counts backwards: {shown(part)}.", f"Write {last}-{first}.")
    if step == 0:
        raise ask.wrong(f"has a step of 0: {shown(part)}.", "Use a step of at least 1.")
    return first if last is None else last


_JOB = r"\d{1,10}(?:_(?:\d{1,10}|\*))?"
_DEPENDENCY = re.compile(
    rf"singleton|after:{_JOB}(?:\+\d{{1,10}})?(?::{_JOB}(?:\+\d{{1,10}})?)*"
    rf"|(?:afterany|afterok|afternotok|aftercorr|afterburstbuffer|expand):{_JOB}(?::{_JOB})*",
    re.ASCII | re.IGNORECASE,
)


def dependency(ask: Ask) -> str:
    """Read `afterok:12:13,afterany:14`, `afterok:1?afterok:2`, `after:12+5`, `singleton`."""
    written = text(ask, longest=128 * 1024)
    separator = "?" if "?" in written else ","
    for part in written.split(separator):
        if not _DEPENDENCY.fullmatch(part):
            raise ask.wrong(
                f"cannot be {shown(part)}.",
                "Write a kind and job ids, such as afterok:41 or afterany:41:42; kinds are after, "
                "afterany, afterok, afternotok, aftercorr and singleton. Join several with `,` "
                "(all of them) or `?` (any of them), not both.",
            )
    return written


_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_RELATIVE = re.compile(
    r"now(?:([+-])(\d{1,10})(s|sec|secs|seconds?|m|min|mins|minutes?|h|hours?|d|days?|w|weeks?)?)?",
    re.ASCII,
)
_TIME = r"(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d)?(?: ?[ap]m)?|midnight|noon|fika|teatime|elevenses"
_MONTH_DAY = r"(?:0?[1-9]|1[0-2])[/.](?:0?[1-9]|[12]\d|3[01])(?:[/.]\d\d(?:\d\d)?)?"
_DATE = rf"\d{{4}}-(?:0?[1-9]|1[0-2])-(?:0?[1-9]|[12]\d|3[01])|{_MONTH_DAY}|today|tomorrow"
_WALL_CLOCK = re.compile(rf"(?:{_TIME})|(?:{_DATE})(?:[T -](?:{_TIME}))?", re.ASCII | re.IGNORECASE)


def moment(ask: Ask, *, now: datetime) -> int | str:
    """Read when: seconds since 1970, or Slurm's own words where only the cluster knows its zone.

    `now+2hours`, and any time with a zone (`2031-05-01T16:00Z`), is the same moment
    everywhere. `16:00` is four o'clock on the cluster's clock, so it stays as it is:
    slurmrestd of 24.11 to 26.05 reads it there.
    """
    written = ask.text.strip()
    relative = _RELATIVE.fullmatch(written.lower())
    try:
        if relative:
            sign, number, unit = relative.groups()
            seconds = int(number or 0) * _UNITS[(unit or "s")[0]]
            return _epoch(now + timedelta(seconds=-seconds if sign == "-" else seconds))
        if re.fullmatch(r"uts\d{1,10}", written.lower(), re.ASCII):
            return int(written[3:])
        if _WALL_CLOCK.fullmatch(written):
            return written
        absolute = datetime.fromisoformat(written)
        if absolute.tzinfo is not None:
            return _epoch(absolute)
    except (ValueError, OverflowError):
        pass
    raise ask.wrong(
        f"cannot be {shown(ask.text)}.",
        "Write now+2hours, 16:00, tomorrow, or 2031-05-01T16:00 (the cluster's time; "
        "with Z or +02:00 at the end, that zone's).",
    )


def _epoch(when: datetime) -> int:
    return max(int(when.timestamp()), 1)


def signal(ask: Ask) -> dict[str, Any]:
    """Read `B:USR1@60`: which signal, how many seconds before the end, and to whom."""
    match = re.fullmatch(
        r"(?:([RB]{1,2}):)?([A-Z0-9+-]{1,20})(?:@(\d{1,10}))?", ask.text, re.ASCII | re.IGNORECASE
    )
    if match is None or int(match[3] or 0) > SMALL:
        raise ask.wrong(
            f"cannot be {shown(ask.text)}.",
            f"Write USR1@60, or B:USR1@60 to send it to the script itself; at most {SMALL:,} seconds.",
        )
    whom, name, seconds = match.groups()
    flags = {"B": "BATCH_JOB", "R": "RESERVATION_JOB"}
    return {
        "kill_warning_signal": name.upper().removeprefix("SIG"),
        "kill_warning_delay": {"set": True, "number": int(seconds or 60)},
        "kill_warning_flags": [flags[letter] for letter in sorted(set((whom or "").upper()))],
    }


def hosts(ask: Ask) -> list[str]:
    """Split a host list at its commas, but not at those inside brackets: `w[1,3],gpu7`."""
    written = text(ask, longest=64 * 1024)
    if "/" in written:
        raise ask.wrong(
            f"cannot be a file ({written}): files are read where sbatch runs.",
            "Write the nodes themselves, such as node[1-4].",
        )
    if not re.fullmatch(r"[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*", written):
        raise ask.wrong(f"has brackets that do not match: {shown(written)}.", "Write node[1-4].")
    return re.findall(r"(?:[^,\[]|\[[^\]]*\])+", written)
