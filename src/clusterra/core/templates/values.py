"""The values that a template is filled with: its defaults, and over them what somebody sent.

What a form sends is text as often as not, so a number may come as one, and a switch as `true`. A
key that the template does not have is no error: older clients send more than is declared, and
inputs among the parameters.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from clusterra.core.errors import Invalid
from clusterra.core.quote import shown
from clusterra.core.templates.template import Input, Parameter, Template

LONGEST = 4 << 20
"""Characters of one value: as much as Slurm takes of a whole script."""

_NUL = re.compile("[\0\ud800-\udfff]")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    params: Mapping[str, Any]
    inputs: Mapping[str, Any]
    ignored: tuple[str, ...] = ()
    """What was sent and belongs to nothing."""


def collect(template: Template, params: Mapping[str, Any], inputs: Mapping[str, Any]) -> Values:
    """Return a value for everything that is declared. Raises Invalid, naming what is wrong."""
    declared = {each.key for each in template.parameters}
    files = {each.key for each in template.inputs}
    # Older clients put inputs among the parameters.
    sent_inputs = {key: params[key] for key in params if key in files - declared} | dict(inputs)
    return Values(
        params={each.key: _parameter(each, params.get(each.key)) for each in template.parameters},
        inputs={each.key: _input(each, sent_inputs.get(each.key)) for each in template.inputs},
        ignored=tuple(
            [f"params.{key}" for key in params if key not in declared | files]
            + [f"inputs.{key}" for key in inputs if key not in files]
        ),
    )


def check_default(parameter: Parameter) -> str:
    """Say what is wrong with a parameter's own default; nothing, if nothing is."""
    if parameter.default is None or parameter.default == "":
        return ""
    try:
        _checked(parameter, parameter.default, f"params.{parameter.key}")
    except Invalid as error:
        return f"does not fit: {error.detail}"
    return ""


def _parameter(parameter: Parameter, sent: Any) -> Any:
    at = f"params.{parameter.key}"
    value = parameter.default if sent is None else sent
    if value is None or value == "":
        if parameter.required:
            raise _missing(at, parameter.description)
        return "" if value is None or parameter.widget != "env_map" else {}
    return _checked(parameter, value, at)


def _input(wanted: Input, sent: Any) -> Any:
    at = f"inputs.{wanted.key}"
    value = wanted.default if sent is None else sent
    if value in (None, "", {}):
        if wanted.required:
            raise _missing(at, wanted.description)
        return "" if value is None else value
    if wanted.role == "env_map":
        return _environment(value, at)
    if isinstance(value, dict | list):
        raise Invalid(f"{at} must be text, not {shown(value)}.", hint="Send text.", at=at)
    return _text(value, at)


def _missing(at: str, description: str) -> Invalid:
    said = description.strip().split("\n")[0]
    return Invalid(
        f"{at} is required, and has no value.",
        hint=f"It is: {said}" if said else f"Give {at.partition('.')[2]} a value.",
        code="template-missing-value",
        at=at,
    )


def _checked(parameter: Parameter, value: Any, at: str) -> Any:
    match parameter.widget:
        case "number":
            return _number(parameter, value, at)
        case "bool":
            return _switch(value, at)
        case "enum":
            return _option(parameter, value, at)
        case "env_map":
            return _environment(value, at)
        case "json_textarea" | "nextflow_schema":
            return _json(value, at)
        case _:
            if isinstance(value, dict | list):
                raise Invalid(f"{at} must be text, not {shown(value)}.", hint="Send text.", at=at)
            return _text(value, at)


def _text(value: Any, at: str) -> str:
    text = {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)
    if isinstance(value, float) and value.is_integer():
        text = str(int(value))
    if len(text) > LONGEST:
        raise Invalid(
            f"{at} has {len(text):,} characters; the most is {LONGEST:,}.",
            hint="Keep data in files and let the script read them.",
            code="too-large",
            at=at,
        )
    if _NUL.search(text):
        raise Invalid(f"{at} holds a NUL or a broken character.", hint="Send plain text.", at=at)
    return text


def _number(parameter: Parameter, value: Any, at: str) -> int | float:
    found: int | float | None = None
    if isinstance(value, int | float) and not isinstance(value, bool):
        found = value
    elif isinstance(value, str) and re.fullmatch(r"\s*[+-]?\d{1,30}\s*", value, re.ASCII):
        found = int(value)
    elif isinstance(value, str) and re.fullmatch(
        r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?\s*", value[:100], re.ASCII
    ):
        found = float(value)
    if found is None or not math.isfinite(found):
        raise Invalid(f"{at} must be a number, not {shown(value)}.", hint="Send a number.", at=at)
    low, high = parameter.min, parameter.max
    if (low is not None and found < low) or (high is not None and found > high):
        allowed = f"at least {low:g}" if high is None else f"at most {high:g}"
        if low is not None and high is not None:
            allowed = f"between {low:g} and {high:g}"
        raise Invalid(
            f"{at} must be {allowed}, not {found:g}.", hint="Send a number in that range.", at=at
        )
    return int(found) if isinstance(found, float) and found.is_integer() else found


def _switch(value: Any, at: str) -> bool:
    known = {"true": True, "false": False, "1": True, "0": False, "": False}
    text = _text(value, at).strip().lower() if not isinstance(value, dict | list) else "?"
    if text not in known:
        raise Invalid(
            f"{at} must be true or false, not {shown(value)}.", hint="Send true or false.", at=at
        )
    return known[text]


def _option(parameter: Parameter, value: Any, at: str) -> Any:
    for option in parameter.options:
        if _plain(option) == _plain(value):
            return option
    raise Invalid(
        f"{at} cannot be {shown(value)}.",
        hint=f"It can be: {', '.join(map(str, parameter.options))}.",
        at=at,
    )


def _plain(value: Any) -> str:
    return json.dumps(value) if isinstance(value, bool | dict | list) else str(value)


def _environment(value: Any, at: str) -> dict[str, str]:
    pairs = dict(_lines(value, at)) if isinstance(value, str) else value
    if not isinstance(pairs, Mapping):
        raise Invalid(
            f"{at} must be an object of variables, not {shown(value)}.",
            hint='Send {"NAME": "value"}.',
            at=at,
        )
    for name in pairs:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise Invalid(
                f"{at}: {shown(name)} is not the name of an environment variable.",
                hint="Names have letters, digits and _, and do not begin with a digit.",
                at=at,
            )
    return {name: _text(each, f"{at}.{name}") for name, each in pairs.items()}


def _lines(text: str, at: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        if line.strip():
            if not equals:
                raise Invalid(
                    f"{at}: {shown(line)} is not NAME=value.", hint="Write NAME=value.", at=at
                )
            yield name.strip(), value


def _json(value: Any, at: str) -> str:
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    text = _text(value, at)
    try:
        json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Invalid(
            f"{at} is not JSON: {error}.", hint="Mend it, or leave it out.", at=at
        ) from None
    return text
