"""A job as a person asks for it: the friendly body, before anything is known of Slurm.

The twin of `wire.jobs.SubmitJob`, with the same names. Reading it from JSON is
strict: a misspelt field would otherwise be a job with one CPU that runs for a
day before anybody notices.
"""

import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any

from clusterra.core.errors import Invalid
from clusterra.core.quote import shown


@dataclass(frozen=True, slots=True, kw_only=True)
class JobWish:
    """Whatever is None is taken from the script's `#SBATCH` lines, else left to Slurm."""

    script: str
    name: str | None = None
    cpus: int | None = None
    """CPUs per task; with one task, simply the CPUs of the job."""
    memory: str | int | None = None
    """Per node, as `4G` or a number of MiB."""
    time: str | int | None = None
    """Time limit, as `2h`, `1:30:00` or a number of minutes."""
    gpus: int | str | None = None
    """GPUs per node: a number, or `model:number`."""
    nodes: int | str | None = None
    """How many: a number, or a range such as `2-4`."""
    tasks: int | None = None
    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    array: str | None = None
    dependency: str | None = None
    constraint: str | None = None
    env: dict[str, str] | None = None
    workdir: str | None = None
    output: str | None = None
    error: str | None = None
    begin: str | None = None
    hold: bool | None = None
    requeue: bool | None = None
    exclusive: bool | None = None
    comment: str | None = None
    script_name: str | None = None
    """What it is called among one's files: kept as `scripts/<name>`, with earlier versions."""
    then: list[dict[str, Any]] | None = None
    """What is to follow it: read by `core/automation/then.py`."""


_KINDS: dict[Any, str] = {
    str: "text",
    int: "a whole number",
    bool: "true or false",
    dict: "an object",
    list: "a list",
}


def _kinds() -> dict[str, tuple[type, ...]]:
    hints = typing.get_type_hints(JobWish)
    return {
        field.name: tuple(
            typing.get_origin(arm) or arm
            for arm in (typing.get_args(hints[field.name]) or (hints[field.name],))
            if arm is not types.NoneType
        )
        for field in fields(JobWish)
    }


FIELDS = _kinds()
"""Every field of a wish, and the types its value may have."""


def wish_from(body: Mapping[str, Any]) -> JobWish:
    """Take a wish from decoded JSON; null means left out."""
    for name, value in body.items():
        if name not in FIELDS:
            raise unknown_field(name, FIELDS)
        # Not isinstance: to Python true is a whole number, to nobody else.
        if value is not None and type(value) not in FIELDS[name]:
            wanted = " or ".join(_KINDS[kind] for kind in FIELDS[name])
            raise Invalid(
                f"{name} must be {wanted}, got {shown(value)}.",
                hint=f"Send {name} as {wanted}, or leave it out.",
                at=name,
            )
    for name, value in (body.get("env") or {}).items():
        if not isinstance(value, str):
            raise Invalid(
                f"env holds {shown(value)} for {shown(name)}; every value must be text.",
                hint="Put the value in quotes.",
                at="env",
            )
    if body.get("script") is None:
        raise Invalid(
            "There is no script.",
            hint="Send the batch script itself, as text, in the field script.",
            code="script-empty",
            at="script",
        )
    return JobWish(**body)


def unknown_field(name: str, known: typing.Iterable[str]) -> Invalid:
    near = get_close_matches(name, list(known), n=1)
    return Invalid(
        f"There is no field {shown(name)}.",
        hint=f"Did you mean {near[0]}?" if near else f"The fields are: {', '.join(known)}.",
        code="unknown-field",
        at=shown(name).strip('"'),
    )
