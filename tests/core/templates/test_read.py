"""What is a template, and what is said of what is none."""

import copy
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from clusterra.adapters.yaml_text import read_yaml
from clusterra.core.schema import faults
from clusterra.core.templates.read import Document, NotATemplate, read_template
from clusterra.core.templates.schema import SCHEMA
from tests.recipes import a_batch, a_workflow

REPOSITORY = Path(__file__).parents[3]


def flaws(document: Any) -> list[str]:
    try:
        read_template(Document(value=document))
    except NotATemplate as error:
        return [each.reason for each in error.flaws]
    return []


PARAMETER = {"key": "x", "widget": "text"}
PRESET = {
    key: value
    for key, value in a_batch().items()
    if key not in ("runtime", "sbatch", "inputs", "outputs", "script")
} | {"kind": "preset", "tier": "borrowed", "pipeline_repo": "nf-core/hello"}
INTERACTIVE = {
    key: value for key, value in a_batch().items() if key not in ("outputs", "script")
} | {
    "kind": "interactive",
    "script": "#!/bin/bash\n",
    "routing": {"path_prefix": "/x", "port_param": "port"},
}
NEXTFLOW = {"kind": "nextflow", "pipeline_repo": "a/b", "revision": "1", "nxf_version": "25"}

GOOD: dict[str, dict[str, Any]] = {
    "batch": a_batch(),
    "preset": PRESET,
    "interactive": INTERACTIVE,
    "workflow": a_workflow("w", {"step_id": "a", "template_id": "t"}),
    "nextflow": a_batch(runtime=NEXTFLOW, config="process { }"),
    "everything": a_batch(
        display="connector",
        schedule="*/5 * * * *",
        policy={"prefer_arm64": True},
        cost_anchor="~$1",
        validation={"x": 1},
        profiles=[{"name": "a", "kind": "b"}],
        inputs=[
            {
                "key": "reads",
                "role": "fastq_r1",
                "required": True,
                "schema": {"columns": ["a"]},
                "format": "gz",
            }
        ],
        parameters=[
            {"key": "n", "widget": "number", "default": 1, "min": 0, "max": 2.5, "advanced": True},
            {"key": "e", "widget": "enum", "options": ["a", 1], "default": 1, "required": True},
        ],
    ),
}

BAD: dict[str, tuple[dict[str, Any], str]] = {
    "unknown key": (a_batch(resources={}), "resources is not known here."),
    "id": (a_batch("Not_An_Id"), 'id cannot be "Not_An_Id".'),
    "kind": (a_batch(kind="bach"), 'kind cannot be "bach".'),
    "ready": (a_batch(ready="yes"), 'ready must be true or false, not "yes".'),
    "empty name": (a_batch(name=""), "name is empty."),
    "tools": (a_batch(tools="bash"), 'tools must be a list, not "bash".'),
    "no script": ({k: v for k, v in a_batch().items() if k != "script"}, "script is missing."),
    "routing on batch": (
        a_batch(routing={"path_prefix": "/", "port_param": "p"}),
        "routing must not be here.",
    ),
    "no routing": (
        {k: v for k, v in INTERACTIVE.items() if k != "routing"},
        "routing is missing.",
    ),
    "config on interactive": (INTERACTIVE | {"config": "x"}, "config must not be here."),
    "config without nextflow": (a_batch(config="x"), "runtime.kind must be"),
    "schedule on preset": (PRESET | {"schedule": "0 0 * * *"}, "schedule must not be here."),
    "preset without tier": ({k: v for k, v in PRESET.items() if k != "tier"}, "tier is missing."),
    "script on workflow": (
        a_workflow("w", {"step_id": "a", "template_id": "t"}) | {"script": "x"},
        "script must not be here.",
    ),
    "runtime kind": (a_batch(runtime={"kind": "podman"}), 'runtime.kind cannot be "podman".'),
    "runtime field": (a_batch(runtime={"kind": "docker_image"}), "runtime.image is missing."),
    "runtime extra": (
        a_batch(runtime={"kind": "host_system", "binary": "x", "image": "y"}),
        "runtime.image is not known here.",
    ),
    "schema url": (
        a_batch(runtime=NEXTFLOW | {"schema_source": "url"}),
        "runtime.schema_url is missing.",
    ),
    "parameter key": (
        a_batch(parameters=[PARAMETER | {"key": "X"}]),
        'parameters[0].key cannot be "X".',
    ),
    "widget": (
        a_batch(parameters=[PARAMETER | {"widget": "slider"}]),
        'parameters[0].widget cannot be "slider".',
    ),
    "enum without options": (
        a_batch(parameters=[{"key": "x", "widget": "enum"}]),
        "parameters[0].options is missing.",
    ),
    "input role": (
        a_batch(inputs=[{"key": "x", "role": "video", "required": True}]),
        'inputs[0].role cannot be "video".',
    ),
    "artifact role": (
        a_batch(outputs={"dir": "/", "artifacts": [{"key": "a", "path": "/a", "role": "x"}]}),
        'outputs.artifacts[0].role cannot be "x".',
    ),
    "schedule words": (a_batch(schedule="@daily"), 'schedule cannot be "@daily".'),
    "step id": (
        a_workflow("w", {"step_id": "A b", "template_id": "t"}),
        'steps[0].step_id cannot be "A b".',
    ),
    "minus cull": (
        INTERACTIVE | {"routing": {"path_prefix": "/", "port_param": "p", "idle_cull_min": -1}},
        "routing.idle_cull_min must be at least 0, not -1.",
    ),
    "not an object": ({"id": 3}, "id must be text, not 3."),
}

BEYOND: dict[str, tuple[dict[str, Any], str]] = {
    "parameter twice": (a_batch(parameters=[PARAMETER, PARAMETER]), 'has the key "x" again'),
    "undeclared": (a_batch(script="#!/bin/sh\n{{.params.y}}"), ".params.y is declared nowhere"),
    "undeclared input": (a_batch(sbatch="#SBATCH --mem={{.inputs.y}}"), ".inputs.y is declared"),
    "ctx": (a_batch(script="#!/bin/sh\n{{.ctx.password}}"), ".ctx.password is declared nowhere"),
    "outputs in dir": (
        a_batch(outputs={"dir": "{{.outputs.dir}}", "artifacts": []}),
        ".outputs.dir is declared nowhere",
    ),
    "one artifact in another": (
        a_batch(
            outputs={
                "dir": "/o",
                "artifacts": [
                    {"key": "a", "path": "/a", "role": "log"},
                    {"key": "b", "path": "{{.outputs.a}}.gz", "role": "log"},
                ],
            }
        ),
        ".outputs.a is declared nowhere",
    ),
    "bad text": (a_batch(script="#!/bin/sh\n{{ if }}"), "script: There is nothing"),
    "denied": (a_batch(sbatch="#SBATCH --account=x"), "a template may not use --account"),
    "refused": (a_batch(sbatch="#SBATCH --uid=0"), "--uid cannot be used here"),
    "denied in a branch": (
        a_batch(
            sbatch="{{if .params.x}}\n#SBATCH --output=/etc/passwd\n{{end}}", parameters=[PARAMETER]
        ),
        "a template may not use --output",
    ),
    "no option": (a_batch(sbatch="rm -rf /"), "is not a line of options"),
    "default": (
        a_batch(parameters=[{"key": "e", "widget": "enum", "options": ["a"], "default": "b"}]),
        "parameters[0].default does not fit",
    ),
    "default too large": (
        a_batch(parameters=[{"key": "n", "widget": "number", "max": 1, "default": 2}]),
        "must be at most 1, not 2",
    ),
    "unknown step": (
        a_workflow("w", {"step_id": "a", "template_id": "t", "depends_on": ["b"]}),
        'depends on "b", and there is no such step',
    ),
    "circle": (
        a_workflow(
            "w",
            {"step_id": "a", "template_id": "t", "depends_on": ["b"]},
            {"step_id": "b", "template_id": "t", "depends_on": ["a"]},
        ),
        "The steps a → b → a wait for each other.",
    ),
    "step twice": (
        a_workflow("w", {"step_id": "a", "template_id": "t"}, {"step_id": "a", "template_id": "t"}),
        'There are two steps "a"',
    ),
    "too often": (a_batch(schedule="* * * * *"), "the least is 5 min"),
    "never": (a_batch(schedule="0 0 31 2 *"), "never due"),
    "no such hour": (a_batch(schedule="0 24 * * *"), 'hour of a schedule cannot be "24"'),
}


@pytest.mark.parametrize("name", GOOD)
def test_what_fits_the_schema_is_a_template(name: str) -> None:
    assert flaws(GOOD[name]) == []


@pytest.mark.parametrize("name", [*BAD, *BEYOND])
def test_what_does_not_is_told_by_its_place(name: str) -> None:
    document, said = (BAD | BEYOND)[name]

    assert any(said in each for each in flaws(document)), flaws(document)


@pytest.mark.parametrize("name", [*GOOD, *BAD])
def test_another_validator_says_the_same(name: str) -> None:
    document = GOOD[name] if name in GOOD else BAD[name][0]
    validator = jsonschema.Draft202012Validator(SCHEMA)

    assert validator.is_valid(document) is (name in GOOD)
    assert (not any(faults(document, SCHEMA))) is (name in GOOD)


def test_one_mistake_at_a_time_is_seen_as_another_validator_sees_it() -> None:
    validator = jsonschema.Draft202012Validator(SCHEMA)
    whole = GOOD["everything"]
    for name in whole:
        for value in (None, 3, "", "x", [], {}, True, [3], {"x": 1}):
            changed = copy.deepcopy(whole) | {name: value}
            ours = any(faults(changed, SCHEMA))
            assert ours is not validator.is_valid(changed), (name, value)


def test_the_schema_that_is_published_is_the_one_we_use() -> None:
    published = json.loads((REPOSITORY / "catalog/template.v2.schema.json").read_text())

    assert published == SCHEMA


def test_a_flaw_is_told_with_its_line() -> None:
    text = (
        "id: x\nname: N\nready: maybe\nparameters:\n  - key: a\n    widget: text\n"
        "  - key: b\n    widget: slider\n"
    )
    with pytest.raises(NotATemplate) as error:
        read_template(read_yaml(text))

    lines = {each.reason.split(" ")[0]: each.line for each in error.value.flaws}
    assert lines["ready"] == 3
    assert lines["parameters[1].widget"] == 8


def test_a_flaw_inside_a_text_is_told_with_its_line_in_the_file() -> None:
    from tests.recipes import YAML

    text = YAML.format(id="x").replace("echo {{.params.word | quote}}", "echo\n  {{.params.nope}}")
    with pytest.raises(NotATemplate) as error:
        read_template(read_yaml(text))

    line = error.value.flaws[0].line
    assert text.split("\n")[line - 1].strip() == "{{.params.nope}}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "The file is empty."),
        ("a: [", "It is not YAML"),
        ("a: 1\na: 2", '"a" is there twice'),
        ("a: &x [*x]", "nested too deeply"),
        ("\n".join(f"{'  ' * n}a:" for n in range(100)), "nested too deeply"),
        (
            "a: &a [x,x,x,x,x,x,x,x,x]\n"
            + "\n".join(f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]" for a, b in pairwise("abcdefgh")),
            "too many parts",
        ),
    ],
)
def test_what_is_no_yaml_or_a_bomb_is_refused(text: str, said: str) -> None:
    with pytest.raises(Exception, match=said):
        read_yaml(text)


def test_yaml_is_read_as_the_public_catalogue_means_it() -> None:
    read = read_yaml("a: yes\nb: 1:30:00\nc: 2026-01-01\nd: 0o17\ne: 1.5\nf: ~\ng: true\nh: 08\n")

    assert read.value == {
        "a": "yes",
        "b": "1:30:00",
        "c": "2026-01-01",
        "d": 15,
        "e": 1.5,
        "f": None,
        "g": True,
        "h": 8,
    }
