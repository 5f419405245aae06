"""The lines of options of a template: what they may not say, and how a submission overrides them.

A template is somebody else's text that runs in your name, so what decides who you are, where your
output goes and what happens next is not a template's to say.
"""

import re
from collections.abc import Mapping
from typing import Any

from clusterra.core.errors import Invalid
from clusterra.core.jobs.options import OPTIONS, SAME_AS, Takes
from clusterra.core.jobs.script import directives
from clusterra.core.quote import shown

DENIED: Mapping[str, str] = {
    "account": "which account pays is for whoever submits",
    "begin": "when it starts is for whoever submits",
    "burst-buffer": "it names a file on the machine where sbatch runs",
    "chdir": "the directory it starts in is the submitter's",
    "comment": "Clusterra keeps its own mark there",
    "deadline": "when it has to end is for whoever submits",
    "dependency": "what it waits for follows from the steps of a workflow",
    "error": "where its output goes is for whoever submits",
    "hold": "a job that is held would never start",
    "input": "what it reads is for whoever submits",
    "job-name": "its name is the template's, or the submitter's",
    "mail-type": "notifications are set up by each person",
    "mail-user": "notifications are set up by each person",
    "nice": "its priority is for whoever submits",
    "output": "where its output goes is for whoever submits",
    "priority": "its priority is for whoever submits",
    "qos": "which quality of service it uses is for whoever submits",
    "reservation": "reservations are given to people",
    "wckey": "accounting is for whoever submits",
}
"""Beside those that no job submitted here can use (`core/jobs/options.py`)."""

OVERRIDE = "sbatch_override"


def check_directives(block: str) -> None:
    """Raise Invalid for a line that is no option, or one that a template may not use."""
    for number, line in enumerate(block.split("\n"), start=1):
        if line.strip() and not line.startswith("#"):
            raise Invalid(
                f"Line {number}: {shown(line)} is not a line of options.",
                hint="Every line begins with #SBATCH, or with # for a remark.",
                code="directive-invalid",
                at=f"line {number}",
            )
    for directive in directives(block):
        if directive.option in DENIED:
            raise Invalid(
                f"Line {directive.line}: a template may not use --{directive.option}:"
                f" {DENIED[directive.option]}.",
                hint="Remove it from the template; whoever submits can still ask for it.",
                code="directive-denied",
                at=f"line {directive.line}",
            )


def overridden(block: str, overrides: Mapping[str, str]) -> str:
    """Return the lines with single options replaced, or added where they were not said."""
    left = dict(overrides)
    lines = []
    for line in block.split("\n"):
        said = [each.option for each in directives(line)]
        if len(said) == 1 and said[0] in overrides:
            if said[0] in left:
                lines.append(_line(said[0], left.pop(said[0])))
        else:
            lines.append(line)
    while lines and not lines[-1].strip():
        lines.pop()
    return "\n".join([*lines, *(_line(*each) for each in left.items())])


def read_override(value: Any) -> dict[str, str]:
    """Read `{"time": "2:00:00"}`, or the same as sbatch writes it: `--time=2:00:00 --gres=gpu:1`."""
    match value:
        case None:
            return {}
        case Mapping():
            pairs = [(str(name).lstrip("-"), _said(name, each)) for name, each in value.items()]
            text = "\n".join(_line(_known(name), each) for name, each in pairs)
        case str():
            text = "\n".join(
                line if line.startswith("#SBATCH") else f"#SBATCH {line}"
                for line in value.split("\n")
                if line.strip()
            )
        case list() if all(isinstance(each, str) for each in value):
            return read_override("\n".join(value))
        case _:
            raise Invalid(
                f"{OVERRIDE} cannot be {shown(value)}.",
                hint='Send an object: {"time": "2:00:00", "gres": "gpu:1"}.',
                at=OVERRIDE,
            )
    try:
        check_directives(text)
        return {each.option: each.value or "" for each in directives(text)}
    except Invalid as error:
        detail = re.sub(r"^Line \d+: ", "", error.detail)
        raise Invalid(
            f"{OVERRIDE}: {detail}", hint=error.hint, code=error.code, at=OVERRIDE
        ) from None


def _said(name: str, value: Any) -> str:
    if value is None or value is True:
        return ""
    if isinstance(value, str | int | float) and not re.search(r"[\x00-\x1f]", str(value)):
        return str(value)
    raise Invalid(
        f"{OVERRIDE}: {name} cannot be {shown(value)}.",
        hint="Give it text or a number, on one line.",
        at=OVERRIDE,
    )


def _known(name: str) -> str:
    name = SAME_AS.get(name, name)
    if name in OPTIONS:
        return name
    raise Invalid(
        f"{OVERRIDE}: sbatch has no option {shown('--' + name)}.",
        hint="Write the long name, such as time or gres.",
        at=OVERRIDE,
    )


def _line(option: str, value: str) -> str:
    if OPTIONS[option].takes is Takes.NOTHING or not value:
        return f"#SBATCH --{option}"
    plain = re.fullmatch(r"[A-Za-z0-9_:,.%@/+*\[\]=-]+", value)
    escaped = value if plain else '"' + re.sub(r'([\\"])', r"\\\1", value) + '"'
    return f"#SBATCH --{option}={escaped}"
