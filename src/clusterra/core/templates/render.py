"""From a template and values to a script.

In this order, since each may use what came before: defaults and values, the directory for what
comes out, the paths of what is left behind, then the options, the configuration and the script.
The script keeps its first line first, because that is how Linux finds its interpreter; the options
follow it, and then the rest.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from clusterra.core.errors import Invalid
from clusterra.core.jobs.artifacts import Artifact
from clusterra.core.templates import shell
from clusterra.core.templates.sbatch import check_directives, overridden
from clusterra.core.templates.shell import Place, Reading
from clusterra.core.templates.template import Template, TemplateKind
from clusterra.core.templates.text import Text, Writer, blanked, fill
from clusterra.core.templates.values import Values, collect

_OF_CONTEXT = re.compile(r"\{\{-?\s*\.ctx\.([a-z_]+)\s*-?\}\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What is known about a run beside what somebody sent: `.ctx`."""

    user_email: str
    cluster_id: str
    run_id: str
    workflow_run_id: str = ""
    step_id: str = "main"
    files: str = ""
    """Where the person's files lie for jobs."""

    def values(self) -> dict[str, str]:
        return {
            "user_email": self.user_email,
            "cluster_id": self.cluster_id,
            "run_id": self.run_id,
            # A job of its own is a workflow of one.
            "workflow_run_id": self.workflow_run_id or self.run_id,
            "step_id": self.step_id,
            "files": self.files,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    script: str
    name: str
    """What the job is called in Slurm."""

    outputs_dir: str = ""
    artifacts: tuple[Artifact, ...] = ()
    values: Values
    remarks: tuple[str, ...] = ()


def render(
    template: Template,
    context: Context,
    *,
    params: Mapping[str, Any] | None = None,
    inputs: Mapping[str, Any] | None = None,
    override: Mapping[str, str] | None = None,
    outputs_dir: str = "",
    preamble: str = "",
) -> Rendered:
    """Make the script. Raises Invalid, naming the value that is missing or wrong.

    `outputs_dir` is the directory of a step, in place of the template's own; `preamble` are lines
    of shell that go before the template's.
    """
    _check_renders(template)
    values = collect(template, params or {}, inputs or {})
    known: dict[str, Any] = {
        "params": values.params,
        "inputs": values.inputs,
        "outputs": {},
        "runtime": template.runtime,
        "policy": template.policy,
        "ctx": context.values(),
        "config": "",
    }
    directory = outputs_dir or _filled(template.outputs_dir, known, "outputs.dir")
    known["outputs"] = {"dir": directory}
    leaves = {
        each.key: _filled(each.path, known, f"outputs.{each.key}") for each in template.leaves
    }
    known["outputs"] |= leaves
    block = _options(template, known, override or {})
    known["config"] = _filled(template.config, known, "config")
    return Rendered(
        script=_script(template, known, block, preamble),
        name=str(values.params.get("job_name") or template.id),
        outputs_dir=directory,
        artifacts=tuple(
            Artifact(key=each.key, path=leaves[each.key], role=each.role)
            for each in template.leaves
        ),
        values=values,
        remarks=_remarks(values),
    )


def filled_value(value: Any, context: Context) -> Any:
    """Fill in what a step gives to its template: `{{.ctx.…}}` may stand in it, at any depth.

    Nothing else is read: it may be a program, and to many languages two braces mean something.
    """
    match value:
        case str():
            known = context.values()
            return _OF_CONTEXT.sub(lambda found: known.get(found[1], found[0]), value)
        case Mapping():
            return {key: filled_value(each, context) for key, each in value.items()}
        case list():
            return [filled_value(each, context) for each in value]
        case _:
            return value


def _check_renders(template: Template) -> None:
    if template.kind in (TemplateKind.PRESET, TemplateKind.WORKFLOW):
        raise Invalid(
            f"{template.id} is a {template.kind} and has no script of its own.",
            hint="Render what it consists of.",
            code="template-kind",
        )


def _filled(text: Text, known: Mapping[str, Any], what: str) -> str:
    """Fill in a text that no shell reads."""
    writer = Writer(lambda value, _: shell.quoted(value, Place.NO_SHELL))
    return _named(what, partial(fill, text, known, writer))


def _options(template: Template, known: Mapping[str, Any], override: Mapping[str, str]) -> str:
    writer = Writer(_in_options, one_line=True)
    block = _named("sbatch", partial(fill, template.sbatch, known, writer)).rstrip("\n")
    check_directives(block)
    return overridden(block, override)


def _in_options(value: str, _: Writer) -> str:
    return '"' + re.sub(r'([\\"])', r"\\\1", value) + '"'


def _script(template: Template, known: Mapping[str, Any], block: str, preamble: str) -> str:
    reading = _Places(is_shell=shell.is_shell(_beginning(template.script)))
    body = _named("script", partial(fill, template.script, known, Writer(reading.quoted)))
    body = body.lstrip("\n")
    first, newline, rest = body.partition("\n")
    if not first.startswith("#!"):
        return "\n".join(filter(None, (block, body)))
    before = preamble if shell.is_shell(first) else ""
    return "\n".join(filter(None, (first, block, before, rest))) + ("" if newline else "\n")


def _beginning(text: Text) -> str:
    return blanked(text[:1], "")


@dataclass(slots=True)
class _Places:
    """Knows how a value is quoted where the script has come to."""

    is_shell: bool
    _reading: Reading = field(default_factory=Reading)

    def quoted(self, value: str, writer: Writer) -> str:
        if not self.is_shell:
            return shell.quoted(value, Place.NO_SHELL)
        self._reading.feed("".join(writer.unread))
        writer.unread.clear()
        return shell.quoted(value, self._reading.place)


def _named(what: str, act: "partial[str]") -> str:
    try:
        return act()
    except Invalid as error:
        raise Invalid(
            f"{what}: {error.detail}", hint=error.hint, code=error.code, at=error.at or what
        ) from None


def _remarks(values: Values) -> tuple[str, ...]:
    if not values.ignored:
        return ()
    return (f"The template has no {', '.join(values.ignored)}; what was sent there is left out.",)
