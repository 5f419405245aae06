"""Recipes as they travel.

A parameter has two names for the same thing: `key` and `widget` as its file writes them, `name` and
`type` as older clients read them.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class InputView:
    key: str
    name: str
    role: str
    required: bool
    default: Any = None
    description: str = ""
    format: str = ""
    columns: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterView:
    key: str
    name: str
    widget: str
    type: str
    """`int`, `float`, `bool`, `enum`, `object` or `string`."""

    label: str = ""
    default: Any = None
    options: list[Any] = field(default_factory=list)
    min: float | None = None
    max: float | None = None
    required: bool = False
    advanced: bool = False
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactSpec:
    key: str
    path: str
    role: str
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepView:
    step_id: str
    template_id: str
    display_name: str = ""
    depends_on: list[str] = field(default_factory=list)
    param_overrides: dict[str, Any] = field(default_factory=dict)
    input_overrides: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateRow:
    """A recipe, without its texts."""

    id: str
    name: str
    description: str
    kind: str
    ready: bool
    vertical: str
    category: str
    workload_group: str
    modality: str
    tools: list[str]
    source: str
    """`clusterra`, `settings`, or the workspace that it was imported into."""

    display: str = "step"
    parameters: list[ParameterView] = field(default_factory=list)
    inputs: list[InputView] = field(default_factory=list)
    artifacts: list[ArtifactSpec] = field(default_factory=list)
    steps: list[StepView] = field(default_factory=list)
    runtime: str = ""
    """Its kind: `host_system`, `docker_image`, …"""

    schedule: str = ""
    cost_anchor: Any = None
    tier: str = ""
    pipeline_repo: str = ""
    revision: str = ""
    parent_id: str | None = None
    """Of a preset: the template that it is submitted as."""

    static_values: dict[str, Any] | None = None
    schema_values: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateView(TemplateRow):
    """A recipe with all there is of it."""

    definition: dict[str, Any]
    """As its file has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplatePage:
    templates: list[TemplateRow]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchablePage:
    launchables: list[TemplateRow]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderTemplate:
    """Values to see a recipe with; nothing is submitted."""

    params: dict[str, Any] = field(default_factory=dict)
    inputs: dict[str, Any] = field(default_factory=dict)
    sbatch_override: dict[str, Any] | str | list[str] | None = None
    cluster: str | None = None
    """The cluster that it is seen for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedArtifact:
    key: str
    path: str
    role: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateRendered:
    template_id: str
    script: str
    job_name: str
    outputs_dir: str
    artifacts: list[RenderedArtifact]
    warnings: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitTemplate:
    """A job from a recipe. What a friendly submission says beside its script may be said too."""

    template_id: str
    params: dict[str, Any] = field(default_factory=dict)
    inputs: dict[str, Any] = field(default_factory=dict)
    sbatch_override: dict[str, Any] | str | list[str] | None = None
    run_name: str | None = None
    schedule: str | None = None
    """Have it submitted again and again, as cron writes it, in UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitStep:
    step_id: str
    template_id: str
    params: dict[str, Any] = field(default_factory=dict)
    inputs: dict[str, Any] = field(default_factory=dict)
    sbatch_override: dict[str, Any] | str | list[str] | None = None
    depends_on: list[str] = field(default_factory=list)
    display_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitSteps:
    """A workflow of one's own."""

    steps: list[SubmitStep]
    run_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateFile:
    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportTemplates:
    files: list[TemplateFile]
    workspace: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FlawView:
    line: int
    reason: str
    hint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedView:
    file: str
    line: int
    reason: str
    hint: str
    """The first of `flaws`, for whoever wants one sentence."""

    flaws: list[FlawView]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    loaded: int
    templates: list[str]
    """What is there now, or would be: also what was there before and has not changed."""

    unchanged: list[str]
    refused: list[RefusedView]


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateRemoved:
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepStanding:
    step_id: str
    template_id: str
    run_id: str
    depends_on: list[str]
    display_name: str
    state: str
    job_id: int | None = None
    why: str = ""
    """Why it has not run and will not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowView:
    id: str
    name: str
    template_id: str
    user: str
    state: str
    submitted_at: datetime
    directory: str
    steps: list[StepStanding]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowPage:
    workflows: list[WorkflowView]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleView:
    id: str
    template_id: str
    cron: str
    """Minute, hour, day, month, day of the week; in UTC."""

    user: str
    made_at: datetime
    next_at: datetime
    last_at: datetime | None = None
    last_job_id: int | None = None
    last_problem: str = ""
    """Why the last time came to nothing; empty if it came to a job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulePage:
    schedules: list[ScheduleView]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteView:
    name: str
    method: str
    path: str
    stream: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteList:
    routes: list[RouteView]
