"""From a document to a template, or to everything that is wrong with it.

The schema says what a template looks like. What it cannot say is said here: that keys are told
apart, that texts ask only for what is declared, that a default is among the options, that the
steps of a workflow come to an end.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from clusterra.core.errors import ClusterraError, Invalid
from clusterra.core.quote import shown
from clusterra.core.schema import Fault, Where, faults
from clusterra.core.templates import cron, order
from clusterra.core.templates.sbatch import check_directives
from clusterra.core.templates.schema import SCHEMA
from clusterra.core.templates.template import (
    Input,
    Leaves,
    Parameter,
    Step,
    Template,
    TemplateKind,
)
from clusterra.core.templates.text import Text, blanked, parse, paths
from clusterra.core.templates.values import check_default

CONTEXT = ("user_email", "cluster_id", "run_id", "workflow_run_id", "step_id", "files")
"""What `.ctx` has."""

_FOUND_IN = {
    "sbatch": ("params", "inputs", "outputs", "runtime", "policy", "ctx"),
    "script": ("params", "inputs", "outputs", "runtime", "policy", "ctx", "config"),
    "config": ("params", "inputs", "outputs", "runtime", "policy", "ctx"),
    "dir": ("params", "inputs", "runtime", "policy", "ctx"),
    "path": ("params", "inputs", "outputs", "runtime", "policy", "ctx"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A file that may hold a template."""

    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A file's content, and the line that each part of it stands on."""

    value: Any
    lines: Mapping[Where, int] = field(default_factory=dict)

    def line(self, at: Where) -> int:
        """Return the line of a part, or of what it is missing from."""
        while at and at not in self.lines:
            at = at[:-1]
        return self.lines.get(at, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """Why a document is not a template."""

    line: int
    reason: str
    hint: str = ""


class NotATemplate(Invalid):
    code = "template-invalid"

    def __init__(self, flaws: tuple[Flaw, ...]) -> None:
        first = flaws[0]
        more = f" And {len(flaws) - 1} more." if len(flaws) > 1 else ""
        super().__init__(
            f"Line {first.line}: {first.reason}{more}", hint=first.hint, at=f"line {first.line}"
        )
        self.flaws = flaws


def read_template(document: Document) -> Template:
    """Make a template of it. Raises NotATemplate with all that is wrong."""
    wrong = list(faults(document.value, SCHEMA))
    if wrong:
        raise NotATemplate(tuple(_flaw(document, each) for each in wrong))
    reader = _Reader(document)
    template = reader.template()
    reader.flaws.extend(_flaw(document, each) for each in _beyond_the_schema(template))
    if reader.flaws:
        raise NotATemplate(tuple(reader.flaws))
    return template


def _flaw(document: Document, fault: Fault) -> Flaw:
    named = _named(fault.at)
    reason = f"{named} {fault.what}" if named else f"The template {fault.what}"
    return Flaw(line=document.line(fault.at), reason=reason, hint=fault.hint)


def _named(at: Where) -> str:
    return "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in at).lstrip(".")


class _Reader:
    def __init__(self, document: Document) -> None:
        self._document = document
        self._value: Mapping[str, Any] = document.value
        self.flaws: list[Flaw] = []

    def template(self) -> Template:
        value = self._value
        outputs = value.get("outputs") or {"dir": "", "artifacts": []}
        return Template(
            id=value["id"],
            name=value["name"],
            kind=TemplateKind(value["kind"]),
            ready=value["ready"],
            document=value,
            runtime=_offered(value.get("runtime") or {}),
            policy={"prefer_on_demand": False, "prefer_arm64": False} | value.get("policy", {}),
            inputs=tuple(
                Input(**{name: each[name] for name in Input.__slots__ if name in each})
                for each in value.get("inputs", ())
            ),
            parameters=tuple(map(_parameter, value.get("parameters", ()))),
            sbatch=self._text("sbatch", ("sbatch",)),
            script=self._text("script", ("script",)),
            config=self._text("config", ("config",)),
            outputs_dir=self._text("dir", ("outputs", "dir")),
            leaves=tuple(
                Leaves(
                    key=each["key"],
                    path=self._text("path", ("outputs", "artifacts", number, "path")),
                    role=each["role"],
                    description=each.get("description", ""),
                )
                for number, each in enumerate(outputs["artifacts"])
            ),
            steps=tuple(
                Step(**{**each, "depends_on": tuple(each.get("depends_on", ()))})
                for each in value.get("steps", ())
            ),
            schedule=value.get("schedule", ""),
        )

    def _text(self, kind: str, at: Where) -> Text:
        written: Any = self._value
        for each in at:
            if not isinstance(each, int) and each not in written:
                return ()
            written = written[each]
        try:
            text = parse(written)
            for path in paths(text):
                self._check_declared(kind, path.names, path.line)
            if kind == "sbatch":
                check_directives(blanked(text))
        except ClusterraError as error:
            self._note(at, error, written)
            return ()
        return text

    def _check_declared(self, kind: str, names: tuple[str, ...], line: int) -> None:
        known = self._known(kind)
        first, rest = (names[0], names[1:]) if names else ("", ())
        may_be_deep = first in ("params", "inputs", "runtime")
        if first in _FOUND_IN[kind] and (
            first == "config"
            or (rest and rest[0] in known[first] and (len(rest) == 1 or may_be_deep))
        ):
            return
        there = known.get(first, ()) if first in _FOUND_IN[kind] else _FOUND_IN[kind]
        raise Invalid(
            f"Line {line}: .{'.'.join(names)} is declared nowhere.",
            hint=f"There are: {', '.join(there) or 'none'}.",
        )

    def _known(self, kind: str) -> Mapping[str, tuple[str, ...]]:
        value = self._value
        # The paths of what is left behind are filled in together: none knows another.
        artifacts = () if kind == "path" else (value.get("outputs") or {}).get("artifacts", ())
        return {
            "params": tuple(each["key"] for each in value.get("parameters", ())),
            "inputs": tuple(each["key"] for each in value.get("inputs", ())),
            "outputs": ("dir", *(each["key"] for each in artifacts)),
            "runtime": tuple(_offered(value.get("runtime") or {})),
            "policy": ("prefer_on_demand", "prefer_arm64"),
            "ctx": CONTEXT,
            "config": (),
        }

    def _note(self, at: Where, error: ClusterraError, written: str) -> None:
        """Put down what is wrong with a text, at its own line in the file."""
        line, reason = self._document.line(at), error.detail
        inside = reason.partition(": ")
        if inside[0].startswith("Line ") and inside[0][5:].isdigit():
            # A block begins on the line after its key.
            line += int(inside[0][5:]) - (0 if "\n" in written else 1)
            reason = inside[2]
        self.flaws.append(Flaw(line=line, reason=f"{_named(at)}: {reason}", hint=error.hint))


def _offered(runtime: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a runtime as they are written, with the one that has two names."""
    both = {"binary": runtime["binary_path"]} if "binary_path" in runtime else {}
    return {**runtime, **both}


def _parameter(each: Mapping[str, Any]) -> Parameter:
    return Parameter(**{**each, "options": tuple(each.get("options", ()))})


def _beyond_the_schema(template: Template) -> Iterator[Fault]:
    for name, keys in (
        ("inputs", [each.key for each in template.inputs]),
        ("parameters", [each.key for each in template.parameters]),
        ("steps", [each.step_id for each in template.steps]),
    ):
        yield from _twice(name, keys)
    yield from _twice("artifacts", [each.key for each in template.leaves], "outputs", "artifacts")
    for number, parameter in enumerate(template.parameters):
        if problem := check_default(parameter):
            yield Fault(at=("parameters", number, "default"), what=problem)
    yield from _of_steps(template.steps)
    if template.schedule and (problem := cron.problem(template.schedule)):
        yield Fault(at=("schedule",), what=problem)


def _twice(name: str, keys: list[str], *at: str) -> Iterator[Fault]:
    for key, times in Counter(keys).items():
        if times > 1:
            last = len(keys) - 1 - keys[::-1].index(key)
            where: Where = (*(at or (name,)), last)
            yield Fault(at=where, what=f"has the key {shown(key)} again.", hint="Rename one.")


def _of_steps(steps: tuple[Step, ...]) -> Iterator[Fault]:
    try:
        order.in_order(steps)
    except Invalid as error:
        number = next((number for number, step in enumerate(steps) if step.step_id == error.at), 0)
        yield Fault(
            at=("steps", number, "depends_on"), what=f"cannot be: {error.detail}", hint=error.hint
        )
