"""Our own recipes: each can be read and rendered, and no value that somebody sends becomes shell."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clusterra.adapters.template_files import template_files
from clusterra.adapters.yaml_text import read_yaml
from clusterra.core.jobs.script import directives
from clusterra.core.templates.launch import Launch, LaunchWish, launches
from clusterra.core.templates.read import read_template
from clusterra.core.templates.render import Context, Rendered, filled_value, render
from clusterra.core.templates.sbatch import DENIED
from clusterra.core.templates.template import Template, TemplateKind
from clusterra.core.units import parse_memory_mib
from tests.catalog.smoke import SMOKE, Smoke

CATALOG = Path(__file__).parents[2] / "catalog"
FILES = [*template_files(CATALOG)]
TEMPLATES = {each.id: each for each in (read_template(read_yaml(file.text)) for file in FILES)}
WITH_SCRIPT = [each for each in TEMPLATES.values() if each.kind is TemplateKind.BATCH]

RUN_BY_BASH = {
    ("custom-slurm", "script_body"),
    ("array-sweep", "command"),
    ("data-staging", "command"),
}
"""These are somebody's own shell, and meant to be run as such."""

WRITTEN_TO = {
    ("python-step", "script_body"): "step.py",
    ("parameter-scan", "program"): "scanned.py",
    ("notebook-report", "notebook"): "notebook.py",
    ("checkpoint-restart", "program"): "work.py",
    ("snakemake-workflow", "rules"): "Snakefile",
    ("nextflow-pipeline", "pipeline_params_json"): "params.json",
    ("snakemake-workflow", "config_json"): "config.json",
}
"""These are programs and documents of another language; the shell writes them to a file as they are."""

HOSTILE = (
    "$(touch OWNED) `touch OWNED` ${HOME} $HOME \\",
    "'; touch OWNED; ' \"; touch OWNED; \" | touch OWNED & touch OWNED",
    "one\ntouch OWNED\nEND\ntouch OWNED\n#",
    "\"\ntouch OWNED\n'\ntouch OWNED\n",
    "a=$(touch OWNED)\nb[$(touch OWNED)]=1",
)


def context(files: str = "/home/ana") -> Context:
    return Context(user_email="ana@lab.example", cluster_id="clus1", run_id="run-1", files=files)


def jobs(id: str, smoke: Smoke) -> tuple[Launch, ...]:
    wish = LaunchWish(template_id=id, params=smoke.params, inputs=smoke.inputs)
    return launches(wish, TEMPLATES.__getitem__)


def rendered(job: Launch) -> Rendered:
    return render(
        job.template, context(), params=filled_value(job.params, context()), inputs=job.inputs
    )


def check_syntax(script: str) -> None:
    done = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False)
    assert done.returncode == 0, f"{done.stderr}\n{script}"


def text_values(template: Template) -> Iterator[tuple[str, bool]]:
    """Yield every key that takes any text, and whether that must be JSON."""
    for parameter in template.parameters:
        if parameter.widget in ("text", "textarea"):
            yield parameter.key, False
        elif parameter.widget in ("json_textarea", "nextflow_schema"):
            yield parameter.key, True
    for each in template.inputs:
        yield each.key, False


def test_every_recipe_has_a_smoke_case_and_every_case_a_recipe() -> None:
    assert TEMPLATES.keys() == SMOKE.keys()
    assert len(TEMPLATES) == len(FILES), "two files have the same id"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_recipe_lies_in_a_file_of_its_name(file: Any) -> None:
    assert Path(file.name).stem == read_template(read_yaml(file.text)).id


@pytest.mark.parametrize("id", TEMPLATES)
def test_a_recipe_says_what_it_and_its_values_are(id: str) -> None:
    template, document = TEMPLATES[id], TEMPLATES[id].document

    assert template.ready
    assert len(document["description"].split()) > 8
    assert all(each.label and each.description for each in template.parameters)
    assert all(each.description for each in template.inputs)
    assert all(each.description for each in template.leaves)
    if template.kind is TemplateKind.BATCH and id != "custom-slurm":
        assert template.leaves


@pytest.mark.parametrize("id", TEMPLATES)
@pytest.mark.parametrize("smoke", ["defaults", "smoke"])
def test_what_a_recipe_comes_to_is_shell_and_small_enough_for_any_worker(
    id: str, smoke: str
) -> None:
    case = SMOKE[id] if smoke == "smoke" else Smoke(says="", leaves={})

    for job in jobs(id, case):
        found = rendered(job)
        check_syntax(found.script)
        asked = {each.option: each.value or "" for each in directives(found.script)}
        assert not asked.keys() & DENIED.keys()
        assert int(asked["cpus-per-task"]) <= (2 if id == "parameter-scan" else 1)
        assert parse_memory_mib(asked["mem"]) <= 300
        assert int(asked["time"]) <= 10


@pytest.mark.parametrize("id", [each.id for each in WITH_SCRIPT])
def test_what_a_recipe_leaves_behind_is_among_what_its_case_looks_for(id: str) -> None:
    if SMOKE[id].state != "COMPLETED":
        return
    [job] = jobs(id, SMOKE[id])
    looked_for = {name.rstrip("/") for name in SMOKE[id].leaves}

    found = rendered(job)

    declared = {each.path.removeprefix(f"{found.outputs_dir}/") for each in found.artifacts}
    assert declared <= looked_for


@pytest.mark.parametrize(
    ("id", "key", "is_json"),
    [
        (each.id, *value)
        for each in WITH_SCRIPT
        for value in text_values(each)
        if (each.id, value[0]) not in RUN_BY_BASH
    ],
)
@pytest.mark.parametrize("hostile", HOSTILE)
def test_no_value_becomes_shell(
    id: str, key: str, hostile: str, tmp_path: Path, *, is_json: bool
) -> None:
    value = json.dumps({"key": hostile}) if is_json else hostile
    files = tmp_path / "files"
    quick = {"pieces": 1, "take_mb": 1, "pause": 0}

    found = render(
        TEMPLATES[id],
        context(str(files)),
        params={**quick, key: value},
        inputs={key: value} if key in {each.key for each in TEMPLATES[id].inputs} else {},
    )
    check_syntax(found.script)
    run(found.script, tmp_path)

    assert not [*tmp_path.rglob("OWNED")]
    if (id, key) in WRITTEN_TO:
        name = WRITTEN_TO[id, key]
        assert Path(found.outputs_dir, name).read_text() == value + "\n"


@pytest.mark.parametrize(("id", "key"), sorted(RUN_BY_BASH))
def test_a_command_of_ones_own_is_run_as_it_was_sent(id: str, key: str, tmp_path: Path) -> None:
    command = (
        "#!/bin/bash\nprintf '%s\\n' \"it's $((6 * 7)) \\\\\" `echo and` '{{.more}}' > $HOME/said\n"
    )
    found = render(TEMPLATES[id], context(str(tmp_path / "files")), params={key: command})

    run(found.script, tmp_path)

    assert (tmp_path / "said").read_text() == "it's 42 \\\nand\n{{.more}}\n"


@pytest.mark.parametrize("key", ["pipeline_repo", "revision", "profile"])
@pytest.mark.parametrize("hostile", HOSTILE[:2])
def test_what_nextflow_is_given_is_one_word_as_it_was_sent(
    key: str, hostile: str, tmp_path: Path
) -> None:
    found = render(
        TEMPLATES["nextflow-pipeline"], context(str(tmp_path / "files")), params={key: hostile}
    )

    run(found.script, tmp_path)

    expected = hostile.replace(" ", "") if key == "profile" else hostile
    assert expected in given_to("nextflow", tmp_path)


def test_nextflow_is_called_as_one_would_by_hand(tmp_path: Path) -> None:
    values = {
        "pipeline_repo": "nf-core/demo",
        "revision": "1.0.2",
        "profile": "test",
        "extra_profiles": "singularity, arm",
        "pipeline_params_json": {"input": "s.csv", "outdir": "elsewhere"},
    }
    found = render(TEMPLATES["nextflow-pipeline"], context(str(tmp_path / "files")), params=values)

    run(found.script, tmp_path)

    words = given_to("nextflow", tmp_path)
    assert words[:3] == ["-log", "nextflow.log", "run"]
    assert words[3:8] == ["nf-core/demo", "-r", "1.0.2", "-profile", "test,singularity,arm"]
    assert "--outdir" not in words, "the parameters have one of their own"
    params = json.loads(Path(found.outputs_dir, "params.json").read_text())
    assert params == {"input": "s.csv", "outdir": "elsewhere"}


def test_snakemake_is_called_as_one_would_by_hand(tmp_path: Path) -> None:
    found = render(
        TEMPLATES["snakemake-workflow"],
        context(str(tmp_path / "files")),
        params={"targets": "one  two", "keep_going": True, "cpus": 3},
        inputs={"snakefile": "scripts/Snakefile"},
    )

    run(found.script, tmp_path)

    words = given_to("snakemake", tmp_path)
    assert words[:2] == ["--snakefile", f"{tmp_path}/files/scripts/Snakefile"]
    assert words[words.index("--cores") + 1] == "3"
    assert words[-4:] == ["--keep-going", "--", "one", "two"]


def test_a_preset_is_submitted_as_the_pipeline_with_its_values() -> None:
    preset = read_template(
        read_yaml(
            "{id: demo, name: Demo, description: A demo, vertical: v, category: c,"
            " workload_group: w, modality: form, tools: [], ready: true, kind: preset,"
            " tier: validated, pipeline_repo: nf-core/demo, parameters: ["
            "{key: pipeline_repo, widget: text, default: nf-core/demo},"
            "{key: revision, widget: text, default: 1.0.2}]}"
        )
    )
    both = TEMPLATES | {"demo": preset}

    [job] = launches(LaunchWish(template_id="demo"), both.__getitem__)

    assert (job.template.id, job.called) == ("nextflow-pipeline", "demo")
    assert 'REPOSITORY="nf-core/demo"' in rendered(job).script


def run(script: str, tmp_path: Path) -> None:
    """Run it here, as a job of one task would; how it ends does not matter."""
    tools, at = tmp_path / "bin", tmp_path / "at"
    for made in (tools, at):
        made.mkdir()
    for name in ("nextflow", "snakemake"):
        tool = tools / name
        tool.write_text(f"#!/bin/bash\nprintf '%s\\0' \"$@\" > {tmp_path}/{name}.words\n")
        tool.chmod(0o755)
    (tmp_path / "files").mkdir()
    environ = {
        "PATH": f"{tools}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "TMPDIR": str(tmp_path),
        "SLURM_JOB_ID": "7",
        "SLURM_CPUS_PER_TASK": "1",
        "SLURM_ARRAY_TASK_ID": "1",
    }
    subprocess.run(
        ["bash"], input=script, text=True, cwd=at, env=environ, capture_output=True, check=False
    )


def given_to(tool: str, tmp_path: Path) -> list[str]:
    return (tmp_path / f"{tool}.words").read_text().split("\0")[:-1]
