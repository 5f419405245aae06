"""How recipes, and what became of them, are told."""

from collections.abc import Mapping
from typing import Any

from clusterra.control.templates.catalogue import Entry, RefusedFile, Report
from clusterra.core.jobs.job import Job
from clusterra.core.templates.launch import static_values
from clusterra.core.templates.template import Parameter, TemplateKind
from clusterra.core.templates.workflow import Workflow, overall, step_states
from clusterra.wire.templates import (
    ArtifactSpec,
    FlawView,
    ImportReport,
    InputView,
    ParameterView,
    RefusedView,
    StepStanding,
    StepView,
    TemplateRow,
    TemplateView,
    WorkflowView,
)

_TYPES = {"bool": "bool", "enum": "enum", "env_map": "object"}
_COPIED = ("vertical", "category", "workload_group", "modality", "tools", "description")


def row(entry: Entry) -> TemplateRow:
    return TemplateRow(**_facts(entry))


def whole(entry: Entry) -> TemplateView:
    return TemplateView(**_facts(entry), definition=dict(entry.template.document))


def _facts(entry: Entry) -> dict[str, Any]:
    template, document = entry.template, entry.template.document
    facts: dict[str, Any] = {
        "id": template.id,
        "name": template.name,
        "kind": template.kind.value,
        "ready": template.ready,
        "source": entry.source,
        **{name: document[name] for name in _COPIED},
        "display": document.get("display", "step"),
        "parameters": [_parameter(each) for each in template.parameters],
        "inputs": [_input(each) for each in document.get("inputs", ())],
        "artifacts": [
            ArtifactSpec(**each) for each in (document.get("outputs") or {}).get("artifacts", ())
        ],
        "steps": [StepView(**each) for each in document.get("steps", ())],
        "runtime": template.runtime.get("kind", ""),
        "schedule": template.schedule,
        "cost_anchor": document.get("cost_anchor"),
        **{name: document.get(name, "") for name in ("tier", "pipeline_repo", "revision")},
    }
    if template.kind is TemplateKind.PRESET:
        facts |= {
            "parent_id": template.parent_id,
            "static_values": static_values(template),
            "schema_values": {},
        }
    return facts


def _input(each: Mapping[str, Any]) -> InputView:
    return InputView(
        key=each["key"],
        name=each["key"],
        role=each["role"],
        required=each["required"],
        default=each.get("default"),
        description=each.get("description", ""),
        format=each.get("format", ""),
        columns=(each.get("schema") or {}).get("columns", []),
    )


def _parameter(each: Parameter) -> ParameterView:
    return ParameterView(
        key=each.key,
        name=each.key,
        widget=each.widget,
        type=_type(each),
        label=each.label or each.key.replace("_", " "),
        default=each.default,
        options=list(each.options),
        min=each.min,
        max=each.max,
        required=each.required,
        advanced=each.advanced,
        description=each.description,
    )


def _type(each: Parameter) -> str:
    if each.widget != "number":
        return _TYPES.get(each.widget, "string")
    said = (each.default, each.min, each.max)
    return "float" if any(isinstance(one, float) for one in said) else "int"


def report(found: Report) -> ImportReport:
    return ImportReport(
        loaded=len(found.loaded) + len(found.unchanged),
        templates=sorted([*(each.id for each in found.loaded), *found.unchanged]),
        unchanged=sorted(found.unchanged),
        refused=[_refused(each) for each in found.refused],
    )


def _refused(each: RefusedFile) -> RefusedView:
    flaws = [FlawView(line=one.line, reason=one.reason, hint=one.hint) for one in each.flaws]
    first = flaws[0]
    return RefusedView(
        file=each.file, line=first.line, reason=first.reason, hint=first.hint, flaws=flaws
    )


def workflow_view(workflow: Workflow, jobs: Mapping[str, Job]) -> WorkflowView:
    states = step_states(workflow, jobs)
    return WorkflowView(
        id=workflow.id,
        name=workflow.name,
        template_id=workflow.template_id,
        user=workflow.user,
        state=overall(states),
        submitted_at=workflow.at,
        directory=workflow.directory,
        steps=[
            StepStanding(
                step_id=each.run.step_id,
                template_id=each.run.template_id,
                run_id=each.run.run_id,
                depends_on=list(each.run.depends_on),
                display_name=each.run.display_name,
                state=each.job.state.value if each.job else "PENDING",
                job_id=each.job.id if each.job else None,
                why=each.why,
            )
            for each in states
        ],
    )
