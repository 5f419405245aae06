"""What somebody asks for who starts a job from a recipe, and which jobs that comes to.

`{"template_id": …, "params": …, "inputs": …}` is one job, or all those of a workflow; `{"steps":
[…]}` is a workflow of one's own. A preset is the template that it gives values to.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from clusterra.core.errors import Conflict, Invalid
from clusterra.core.jobs.wish import FIELDS, unknown_field
from clusterra.core.quote import shown
from clusterra.core.templates.order import in_order
from clusterra.core.templates.sbatch import OVERRIDE, read_override
from clusterra.core.templates.template import Step, Template, TemplateKind

MAIN = "main"
"""The step that a job by itself is."""

_OWN = ("template_id", "params", "inputs", OVERRIDE, "steps", "run_name", "schedule")
_OF_STEP = (
    *("step_id", "template_id", "params", "inputs", OVERRIDE, "depends_on", "display_name"),
    # As a workflow's own file spells them.
    *("param_overrides", "input_overrides"),
)
_OPTIONS = tuple(each for each in FIELDS if each != "script")

Find = Callable[[str], Template]
"""Returns a template by its id. Raises NotFound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One job that is to be made from a template."""

    template: Template
    step_id: str = MAIN
    params: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, Any] = field(default_factory=dict)
    override: Mapping[str, str] = field(default_factory=dict)
    depends_on: tuple[str, ...] = ()
    display_name: str = ""
    place: int = 1
    """Which of the steps it is, counted as they are written."""

    called: str = ""
    """The template that was asked for, where that is a preset of this one."""

    @property
    def template_id(self) -> str:
        return self.called or self.template.id


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchWish:
    template_id: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, Any] = field(default_factory=dict)
    override: Mapping[str, str] = field(default_factory=dict)
    steps: tuple[Mapping[str, Any], ...] = ()
    run_name: str = ""
    schedule: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    """What is asked of Slurm beside the template's own options: `memory`, `time`, `then`, …"""


def is_launch(body: Mapping[str, Any]) -> bool:
    return "template_id" in body or "steps" in body


def launch_from(body: Mapping[str, Any]) -> LaunchWish:
    """Read a submission. Raises Invalid."""
    for name in body:
        if name not in _OWN and name not in _OPTIONS:
            raise unknown_field(name, (*_OWN, *_OPTIONS))
    steps = body.get("steps")
    if steps is not None and body.get("template_id"):
        raise Invalid(
            "There is a template and there are steps: it is one of the two.",
            hint="Leave one of them out.",
            at="steps",
        )
    if steps is not None and (not isinstance(steps, list) or not steps):
        raise Invalid("steps must be a list of at least one.", hint="Send [{…}].", at="steps")
    return LaunchWish(
        template_id=_text(body, "template_id"),
        params=_table(body, "params"),
        inputs=_table(body, "inputs"),
        override=read_override(body.get(OVERRIDE)),
        steps=tuple(_step(each, number) for number, each in enumerate(steps or ())),
        run_name=_text(body, "run_name"),
        schedule=_text(body, "schedule"),
        options={name: body[name] for name in _OPTIONS if body.get(name) is not None},
    )


def launches(wish: LaunchWish, find: Find) -> tuple[Launch, ...]:
    """Return the jobs that it comes to, each after those it depends on. Raises what `find` does,
    and Invalid for steps that cannot be put in order."""
    if wish.steps:
        written = [
            replace(_of_body(each, find), place=number)
            for number, each in enumerate(wish.steps, start=1)
        ]
        return in_order(written)
    template = find(wish.template_id)
    if template.kind is TemplateKind.WORKFLOW:
        _check_ready(template)
        return in_order(
            [
                _of_step(step, number, wish, find)
                for number, step in enumerate(template.steps, start=1)
            ]
        )
    return (_launch(template, find, wish.params, wish.inputs, wish.override),)


def _of_body(step: Mapping[str, Any], find: Find) -> Launch:
    made = _launch(
        find(step["template_id"]),
        find,
        {**step.get("param_overrides", {}), **step.get("params", {})},
        {**step.get("input_overrides", {}), **step.get("inputs", {})},
        read_override(step.get(OVERRIDE)),
    )
    return replace(
        made,
        step_id=step["step_id"],
        depends_on=tuple(step.get("depends_on", ())),
        display_name=step.get("display_name", ""),
    )


def _of_step(step: Step, place: int, wish: LaunchWish, find: Find) -> Launch:
    """Make the job of a workflow's step; what is sent under the step's id wins over its file."""
    sent_params, sent_inputs = wish.params.get(step.step_id), wish.inputs.get(step.step_id)
    made = _launch(
        find(step.template_id),
        find,
        {**step.param_overrides, **(sent_params if isinstance(sent_params, Mapping) else {})},
        {**step.input_overrides, **(sent_inputs if isinstance(sent_inputs, Mapping) else {})},
        {},
    )
    return replace(
        made,
        step_id=step.step_id,
        depends_on=step.depends_on,
        display_name=step.display_name,
        place=place,
    )


def _launch(
    template: Template,
    find: Find,
    params: Mapping[str, Any],
    inputs: Mapping[str, Any],
    override: Mapping[str, str],
) -> Launch:
    _check_ready(template)
    if template.kind is TemplateKind.WORKFLOW:
        raise Invalid(
            f"{template.id} is a workflow, and a workflow cannot be a step of another.",
            hint="Name its steps one by one.",
            code="template-kind",
            at="template_id",
        )
    called = ""
    if template.kind is TemplateKind.PRESET:
        called, params = template.id, {**static_values(template), **params}
        template = find(template.parent_id)
        _check_ready(template)
    return Launch(template=template, params=params, inputs=inputs, override=override, called=called)


def static_values(preset: Template) -> dict[str, Any]:
    """Return what a preset gives to its parent."""
    return {each.key: each.default for each in preset.parameters if each.default is not None}


def _check_ready(template: Template) -> None:
    if not template.ready:
        raise Conflict(
            f"The template {template.id} is not ready: it can be looked at, and not submitted.",
            hint="Choose another, or have an admin import a version that is ready.",
            code="template-not-ready",
        )


def _step(value: Any, number: int) -> Mapping[str, Any]:
    at = f"steps[{number}]"
    if not isinstance(value, dict):
        raise Invalid(f"{at} must be an object, not {shown(value)}.", hint="Send {…}.", at=at)
    for name in value:
        if name not in _OF_STEP:
            raise unknown_field(name, _OF_STEP)
    depends_on = value.get("depends_on") or []
    if not isinstance(depends_on, list) or not all(isinstance(each, str) for each in depends_on):
        raise Invalid(f"{at}.depends_on must be a list of step ids.", hint='Send ["first"].', at=at)
    tables = ("params", "inputs", "param_overrides", "input_overrides")
    return {
        "step_id": _text(value, "step_id") or (MAIN if number == 0 else f"step-{number + 1}"),
        "template_id": _text(value, "template_id", required=at),
        "depends_on": depends_on,
        "display_name": _text(value, "display_name"),
        OVERRIDE: value.get(OVERRIDE),
        **{name: _table(value, name) for name in tables},
    }


def _text(body: Mapping[str, Any], name: str, *, required: str = "") -> str:
    value = body.get(name)
    if value is None and not required:
        return ""
    if not isinstance(value, str):
        where = f"{required}.{name}" if required else name
        raise Invalid(f"{where} must be text, not {shown(value)}.", hint="Send text.", at=where)
    return value


def _table(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = body.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Invalid(
            f"{name} must be an object, not {shown(value)}.", hint='Send {"key": "value"}.', at=name
        )
    return value
