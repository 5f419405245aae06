"""A recipe: what it is called, what it asks for, and the texts that become a job.

`read.py` makes one of a document and refuses what cannot work; `render.py` makes a script of one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from clusterra.core.templates.text import Text


class TemplateKind(StrEnum):
    BATCH = "batch"
    INTERACTIVE = "interactive"
    PRESET = "preset"
    WORKFLOW = "workflow"


PRESETS_OVERLAY = "nextflow-pipeline"
"""The template that presets give values to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """A file, a text or an id that a job starts from."""

    key: str
    role: str
    required: bool
    default: Any = None
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    key: str
    widget: str
    label: str = ""
    default: Any = None
    options: tuple[Any, ...] = ()
    min: float | None = None
    max: float | None = None
    required: bool = False
    advanced: bool = False
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaves:
    """Something that a job leaves behind, with its path still to be filled in."""

    key: str
    path: Text
    role: str
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    step_id: str
    template_id: str
    param_overrides: Mapping[str, Any] = field(default_factory=dict)
    input_overrides: Mapping[str, Any] = field(default_factory=dict)
    depends_on: tuple[str, ...] = ()
    display_name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    id: str
    name: str
    kind: TemplateKind
    ready: bool
    """Whether it may be submitted; otherwise it is only to be looked at."""

    document: Mapping[str, Any]
    """As it was written."""

    runtime: Mapping[str, Any] = field(default_factory=dict)
    policy: Mapping[str, Any] = field(default_factory=dict)
    inputs: tuple[Input, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    sbatch: Text = ()
    script: Text = ()
    config: Text = ()
    outputs_dir: Text = ()
    leaves: tuple[Leaves, ...] = ()
    steps: tuple[Step, ...] = ()
    schedule: str = ""

    @property
    def parent_id(self) -> str:
        """The template that a preset is submitted as; empty for the others."""
        return PRESETS_OVERLAY if self.kind is TemplateKind.PRESET else ""
