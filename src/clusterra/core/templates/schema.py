"""What a template may look like, as a JSON Schema: the one description, for people and for us.

`catalog/template.v2.schema.json` is this, written out; `core/schema.py` holds a template to it.
"""

from collections.abc import Mapping
from typing import Any

_ID = {"type": "string", "pattern": "^[a-z0-9][a-z0-9-]*$"}
_KEY = {"type": "string", "pattern": "^[a-z][a-z0-9_]*$"}
_TEXT = {"type": "string", "minLength": 1}
_ANY_TEXT = {"type": "string"}
_SWITCH = {"type": "boolean"}

KINDS = ("batch", "interactive", "preset", "workflow")
WIDGETS = (
    *("text", "textarea", "number", "enum", "bool"),
    *("env_map", "nextflow_schema", "json_textarea"),
)
INPUT_ROLES = (
    *("fastq_r1", "fastq_r2", "bam", "cram", "fasta", "reference_fasta", "samplesheet"),
    *("config_xml", "config_json", "mdp", "prmtop", "inpcrd", "pdb", "pdbqt", "sdf", "mol2"),
    *("mgf", "mzml", "hmm_db", "fasta_db", "generic_path", "raw_text", "sample_id"),
    *("license_id", "env_map"),
)
ARTIFACT_ROLES = ("metrics_file", "primary_output", "log", "generic")


def _object(
    required: tuple[str, ...], properties: Mapping[str, Any], **more: Any
) -> dict[str, Any]:
    return {
        "type": "object",
        "required": list(required),
        "properties": dict(properties),
        "additionalProperties": False,
        **more,
    }


def _list(items: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": dict(items), **more}


def _runtime(kind: str, required: tuple[str, ...], *optional: str, **typed: Any) -> dict[str, Any]:
    """Return what holds for a runtime of that kind."""
    names = (*required, *optional, "notes")
    properties = {name: typed.get(name, _TEXT if name in required else _ANY_TEXT) for name in names}
    return {
        "if": {"properties": {"kind": {"const": kind}}, "required": ["kind"]},
        "then": _object(("kind", *required), {"kind": {"const": kind}, **properties}),
    }


_SCHEMA_SOURCE = {"enum": ["auto", "none", "url"]}
_RUNTIMES = (
    _runtime("docker_image", ("image",), "registry_auth"),
    _runtime("interactive_image", ("image",), "registry_auth"),
    _runtime("host_binary", ("build_image", "binary_path", "build_command")),
    _runtime(
        "venv",
        ("python_version", "cache_dir"),
        *("requirements", "requirements_file", "entrypoint", "base_image"),
        requirements=_list(_TEXT),
    ),
    _runtime("host_system", ("binary",)),
    _runtime(
        "nextflow",
        ("pipeline_repo", "revision", "nxf_version"),
        *("schema_source", "schema_url"),
        schema_source=_SCHEMA_SOURCE,
    ),
)
RUNTIMES = tuple(each["if"]["properties"]["kind"]["const"] for each in _RUNTIMES)

_RUNTIME = {
    "type": "object",
    "required": ["kind"],
    "properties": {"kind": {"enum": list(RUNTIMES)}},
    "allOf": [
        *_RUNTIMES,
        {
            "if": {
                "properties": {"schema_source": {"const": "url"}},
                "required": ["schema_source"],
            },
            "then": {"required": ["schema_url"]},
        },
    ],
}

_INPUT = _object(
    ("key", "role", "required"),
    {
        "key": _KEY,
        "role": {"enum": list(INPUT_ROLES)},
        "required": _SWITCH,
        "default": {},
        "format": _ANY_TEXT,
        "description": _ANY_TEXT,
        "schema": _object((), {"columns": _list(_ANY_TEXT)}),
    },
)

_PARAMETER = _object(
    ("key", "widget"),
    {
        "key": _KEY,
        "widget": {"enum": list(WIDGETS)},
        "label": _ANY_TEXT,
        "default": {},
        "options": {"type": "array"},
        "min": {"type": "number"},
        "max": {"type": "number"},
        "required": _SWITCH,
        "advanced": _SWITCH,
        "description": _ANY_TEXT,
    },
    allOf=[
        {
            "if": {"properties": {"widget": {"const": "enum"}}, "required": ["widget"]},
            "then": {"required": ["options"]},
        }
    ],
)

_OUTPUTS = _object(
    ("dir", "artifacts"),
    {
        "dir": _TEXT,
        "artifacts": _list(
            _object(
                ("key", "path", "role"),
                {
                    "key": _KEY,
                    "path": _TEXT,
                    "role": {"enum": list(ARTIFACT_ROLES)},
                    "description": _ANY_TEXT,
                },
            )
        ),
    },
)

_ROUTING = _object(
    ("path_prefix", "port_param"),
    {
        "path_prefix": _TEXT,
        "port_param": _TEXT,
        "ready_callback": _SWITCH,
        "idle_cull_min": {"type": "integer", "minimum": 0},
    },
)

_STEP = _object(
    ("step_id", "template_id"),
    {
        "step_id": _ID,
        "template_id": _ID,
        "param_overrides": {"type": "object"},
        "input_overrides": {"type": "object"},
        "depends_on": _list(_ID),
        "display_name": _ANY_TEXT,
    },
)


def _of_kind(kind: str, then: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "if": {"properties": {"kind": {"const": kind}}, "required": ["kind"]},
        "then": dict(then),
    }


def _without(*names: str) -> dict[str, Any]:
    return {"properties": dict.fromkeys(names, False)}


SCHEMA: Mapping[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": "template.v2.schema.json",
    "title": "A recipe for a job, or for several that follow each other",
    **_object(
        (
            *("id", "name", "description", "vertical", "category"),
            *("workload_group", "modality", "tools", "ready", "kind"),
        ),
        {
            "id": _ID,
            **dict.fromkeys(
                ("name", "description", "vertical", "category", "workload_group", "modality"), _TEXT
            ),
            "tools": _list(_TEXT),
            "ready": _SWITCH,
            "kind": {"enum": list(KINDS)},
            "display": {"enum": ["step", "connector"]},
            "tier": {"enum": ["validated", "borrowed"]},
            "pipeline_repo": _ANY_TEXT,
            "revision": _ANY_TEXT,
            "runtime": _RUNTIME,
            "sbatch": _TEXT,
            "schedule": {"type": "string", "pattern": r"^[0-9*,/-]+( +[0-9*,/-]+){4}$"},
            "inputs": _list(_INPUT),
            "parameters": _list(_PARAMETER),
            "outputs": _OUTPUTS,
            "script": _ANY_TEXT,
            "routing": _ROUTING,
            "policy": _object((), {"prefer_on_demand": _SWITCH, "prefer_arm64": _SWITCH}),
            "cost_anchor": {},
            "validation": {"type": "object"},
            "config": _ANY_TEXT,
            "steps": _list(_STEP),
            "profiles": _list(_object(("name", "kind"), {"name": _TEXT, "kind": _TEXT})),
        },
    ),
    "allOf": [
        _of_kind(
            "batch",
            {
                "required": ["runtime", "inputs", "parameters", "sbatch", "outputs", "script"],
                **_without("routing"),
            },
        ),
        _of_kind(
            "interactive",
            {
                "required": ["runtime", "inputs", "parameters", "sbatch", "routing"],
                **_without("config", "schedule"),
            },
        ),
        _of_kind(
            "preset",
            {"required": ["tier", "pipeline_repo"], **_without("routing", "schedule")},
        ),
        _of_kind(
            "workflow",
            {
                "required": ["steps"],
                **_without("runtime", "sbatch", "script", "routing", "schedule"),
            },
        ),
        {
            "if": {"required": ["config"]},
            "then": {
                "properties": {"runtime": {"properties": {"kind": {"const": "nextflow"}}}},
                "required": ["runtime"],
            },
        },
    ],
}
