"""What the last lines that a job wrote say of why it failed.

Slurm writes into the output of a job how it ended it, and that is believed. What programs
write is a guess: a line that looks like the reason may be one that the program lived with. So
it counts only near the end, the last such line before the others, and is told with
«probably» unless the exit code says the same.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from clusterra.core.jobs.failed.cause import Cause

NEAR = 15
"""Lines from the end in which what programs say counts."""

LONGEST_NAME = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Clue:
    cause: Cause
    line: str
    name: str = ""
    """What it names: a command, a module, a file, an exception."""

    by_slurm: bool = False
    last: bool = False
    """Nothing was written after it."""


_SLURM = r"(?:slurmstepd|slurmd|srun|\berror):.*"
_BY_SLURM: tuple[tuple[Cause, re.Pattern[str]], ...] = (
    (
        Cause.OUT_OF_MEMORY,
        re.compile(_SLURM + r"(?:oom[-_ ]?kill|exceeded \w*\s?memory limit)", re.IGNORECASE),
    ),
    (Cause.OUT_OF_MEMORY, re.compile(r"srun: error:.* Out Of Memory")),
    (Cause.TIMEOUT, re.compile(_SLURM + r"DUE TO TIME LIMIT")),
    (Cause.PREEMPTED, re.compile(_SLURM + r"DUE TO PREEMPTION")),
    (Cause.NODE_FAILED, re.compile(_SLURM + r"DUE TO NODE FAILURE")),
    (Cause.BAD_INTERPRETER, re.compile(_SLURM + r"bad interpreter\((?P<name>[^)]*)\)")),
)
_NAMED = r"(?:(?P<name>[^\s:'\"]+)['\"]?: )?{}(?:: ['\"](?P<after>[^'\"]+))?"
"""A complaint about a file, which the shell names before it and Python after it."""

_BY_PROGRAMS: tuple[tuple[Cause, re.Pattern[str]], ...] = (
    (Cause.BAD_INTERPRETER, re.compile(r"(?P<name>\S+): bad interpreter")),
    (
        Cause.GPU_OUT_OF_MEMORY,
        re.compile(r"CUDA(?: error)?:? out of memory|CUDA_ERROR_OUT_OF_MEMORY|cuda\.OutOfMemory"),
    ),
    (
        Cause.OUT_OF_MEMORY,
        re.compile(
            r"\bMemoryError\b|Cannot allocate memory|std::bad_alloc|java\.lang\.OutOfMemoryError"
            r"|\bout of memory\b",
            re.IGNORECASE,
        ),
    ),
    (Cause.NO_SPACE, re.compile(r"No space left on device|Disk quota exceeded", re.IGNORECASE)),
    (
        Cause.MISSING_LIBRARY,
        re.compile(r"error while loading shared libraries: (?P<name>[^:\s]+)"),
    ),
    (Cause.PERMISSION, re.compile(_NAMED.format("Permission denied"))),
    (
        Cause.NETWORK,
        re.compile(
            r"Could not resolve host|Name or service not known|failure in name resolution"
            r"|Connection (?:refused|timed out|reset by peer)|Network is unreachable",
            re.IGNORECASE,
        ),
    ),
    (Cause.MISSING_FILE, re.compile(_NAMED.format("No such file or directory"))),
)
_NOT_FOUND = re.compile(r"(?P<name>[^\s:]+): (?:command )?not found$")
_NOT_THERE = re.compile(r"(?P<name>[^\s:]+): No such file or directory$")
_DENIED = re.compile(r"(?P<name>[^\s:]+): (?:Permission denied|cannot execute|Is a directory)")
_TRACEBACK = "Traceback (most recent call last)"
_EXCEPTION = re.compile(r"(?:\w+\.)*(?P<name>[A-Z]\w*)(?:: .*)?")
_KILLED = re.compile(r"(?:^|\s)Killed(?:\s{2,}(?P<name>\S.*))?$")
_USED = re.compile(r"exceeded memory limit \((\d{1,18}) > \d{1,18}\)")


def lines_of(data: bytes) -> tuple[str, ...]:
    """Return what was written, line by line; the empty ones left out."""
    text = data.decode(errors="replace")
    return tuple(line.rstrip() for line in text.splitlines() if line.strip())


def clue_in(lines: Sequence[str]) -> Clue | None:
    """Return what the lines say most about the end; None if they say nothing that is known."""
    for line in reversed(lines):
        for cause, pattern in _BY_SLURM:
            if found := pattern.search(line):
                return Clue(cause=cause, line=line, name=_name(found), by_slurm=True)
    near = lines[-NEAR:]
    for place, line in enumerate(reversed(near)):
        for cause, pattern in _BY_PROGRAMS:
            if found := pattern.search(line):
                return Clue(cause=cause, line=line, name=_name(found), last=place == 0)
        if place == 0 and (raised := _raised(lines)):
            return raised
    return None


def command_in(lines: Sequence[str]) -> str:
    """Return the command that a shell could not find; empty if it names none."""
    return _last(lines, _NOT_FOUND) or _last(lines, _NOT_THERE)


def file_in(lines: Sequence[str]) -> str:
    """Return the file that a shell could not execute; empty if it names none."""
    return _last(lines, _DENIED)


def killed_in(lines: Sequence[str]) -> str | None:
    """Return the program that a shell says was killed, empty if it names none; None if it says no
    such thing."""
    for line in reversed(lines[-NEAR:]):
        if found := _KILLED.search(line):
            return " ".join((found["name"] or "").split()[:2])[:LONGEST_NAME]
    return None


def memory_used_in(lines: Sequence[str]) -> int | None:
    """Return the MiB that Slurm says it had when it went too far."""
    found = [int(match[1]) for line in lines if (match := _USED.search(line))]
    return -(-max(found) // (1 << 20)) if found else None


def _raised(lines: Sequence[str]) -> Clue | None:
    """Return the exception of Python that the last line tells of."""
    if not any(_TRACEBACK in line for line in lines):
        return None
    found = _EXCEPTION.fullmatch(lines[-1])
    if found is None:
        return None
    return Clue(cause=Cause.PYTHON_EXCEPTION, line=lines[-1], name=_name(found), last=True)


def _last(lines: Sequence[str], pattern: re.Pattern[str]) -> str:
    found = (pattern.search(line) for line in reversed(lines[-NEAR:]))
    return next((_name(each) for each in found if each), "")


def _name(found: re.Match[str]) -> str:
    names = found.groupdict()
    return (names.get("after") or names.get("name") or "")[:LONGEST_NAME]
