"""A template and values become a script."""

import json
import subprocess
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterra.core.errors import Invalid
from clusterra.core.jobs.script import directives
from clusterra.core.templates.render import filled_value, render
from clusterra.core.templates.sbatch import read_override
from tests.recipes import CONTEXT, a_batch, from_yaml, template

TEXT = {"key": "word", "widget": "text", "default": "hello"}


def rendered(document: dict[str, Any], **more: Any) -> str:
    return render(template(document), CONTEXT, **more).script


def test_the_first_line_stays_first_then_the_options_then_the_rest() -> None:
    assert rendered(a_batch(script="#!/bin/bash\nset -e\necho\n")) == (
        "#!/bin/bash\n#SBATCH --mem=100M\n#SBATCH --time=5\nset -e\necho\n"
    )


def test_a_whole_script_that_somebody_sends_is_kept_as_it_is() -> None:
    own = a_batch(
        parameters=[{"key": "script_body", "widget": "textarea", "required": True}],
        script="{{.params.script_body}}\n",
    )
    body = '#!/bin/bash\n#SBATCH --time=9\necho "$HOME" {{ not ours }} `date`\n'

    script = rendered(own, params={"script_body": body})

    assert script.startswith(
        "#!/bin/bash\n#SBATCH --mem=100M\n#SBATCH --time=5\n#SBATCH --time=9\n"
    )
    assert 'echo "$HOME" {{ not ours }} `date`' in script
    assert [each.value for each in directives(script)][-1] == "9"


def test_each_part_sees_those_before_it() -> None:
    made = render(
        template(
            a_batch(
                inputs=[{"key": "reads", "role": "generic_path", "required": True}],
                parameters=[TEXT],
                outputs={
                    "dir": "/mnt/{{.ctx.user_email}}/{{.params.word}}-{{.ctx.run_id}}",
                    "artifacts": [
                        {"key": "table", "path": "{{.outputs.dir}}/t.csv", "role": "metrics_file"}
                    ],
                },
                runtime={
                    "kind": "nextflow",
                    "pipeline_repo": "a/b",
                    "revision": "{{x}}",
                    "nxf_version": "1",
                },
                config="dir = {{.outputs.dir | quote}}",
                script="#!/bin/bash\ncat <<'EOF'\n{{.config}} {{.outputs.table}} {{.runtime.revision}}\nEOF\n",
            )
        ),
        CONTEXT,
        inputs={"reads": "/r"},
    )

    assert made.outputs_dir == "/mnt/ana@lab.example/hello-0198"
    assert made.artifacts[0].path == "/mnt/ana@lab.example/hello-0198/t.csv"
    # What stands in a runtime is not itself filled in.
    assert 'dir = "/mnt/ana@lab.example/hello-0198" /mnt/' in made.script
    assert "{{x}}" in made.script


def test_the_name_is_the_templates_or_the_job_name_that_is_sent() -> None:
    named = template(a_batch("dcv-desktop", parameters=[{"key": "job_name", "widget": "text"}]))

    assert render(named, CONTEXT).name == "dcv-desktop"
    assert render(named, CONTEXT, params={"job_name": "mine"}).name == "mine"


def test_keys_that_are_not_declared_are_left_out_and_told() -> None:
    made = render(template(a_batch(parameters=[TEXT])), CONTEXT, params={"cpus": 3, "word": "x"})

    assert made.remarks == ("The template has no params.cpus; what was sent there is left out.",)


def test_inputs_among_the_parameters_are_inputs() -> None:
    old = a_batch(
        inputs=[{"key": "reads", "role": "bam", "required": True}],
        script="#!/bin/bash\nls {{.inputs.reads | quote}}\n",
    )

    assert 'ls "/r"' in rendered(old, params={"reads": "/r"})


@pytest.mark.parametrize(
    ("parameter", "value", "said"),
    [
        ({"widget": "number"}, "many", "params.x must be a number"),
        ({"widget": "number"}, "1e999", "must be a number"),
        ({"widget": "number", "min": 2}, 1, "must be at least 2, not 1"),
        ({"widget": "number", "min": 2, "max": 3}, "4", "must be between 2 and 3, not 4"),
        ({"widget": "bool"}, "perhaps", "must be true or false"),
        ({"widget": "enum", "options": ["a", "b"]}, "c", 'cannot be "c"'),
        ({"widget": "text"}, {"a": 1}, "must be text"),
        ({"widget": "text"}, "a\0b", "holds a NUL"),
        ({"widget": "text", "required": True}, "", "is required"),
        ({"widget": "env_map"}, {"1A": "x"}, "is not the name of an environment variable"),
        ({"widget": "env_map"}, "A", "is not NAME=value"),
        ({"widget": "json_textarea"}, "{", "is not JSON"),
        ({"widget": "textarea"}, "x" * ((4 << 20) + 1), "the most is 4,194,304"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_by_name(
    parameter: dict[str, Any], value: Any, said: str
) -> None:
    document = a_batch(parameters=[{"key": "x", **parameter}])

    with pytest.raises(Invalid) as error:
        rendered(document, params={"x": value})

    assert said in error.value.detail
    assert error.value.at.startswith("params.x")


@pytest.mark.parametrize(
    ("parameter", "value", "shown"),
    [
        ({"widget": "number"}, "3", "3"),
        ({"widget": "number"}, 2.0, "2"),
        ({"widget": "number"}, "0.25", "0.25"),
        ({"widget": "bool"}, "TRUE", "true"),
        ({"widget": "enum", "options": [1, 2]}, "2", "2"),
        ({"widget": "text"}, 7, "7"),
        ({"widget": "json_textarea"}, {"a": [1]}, '{"a": [1]}'),
        ({"widget": "text"}, None, ""),
    ],
)
def test_what_a_form_sends_as_text_is_taken_for_what_it_is(
    parameter: dict[str, Any], value: Any, shown: str
) -> None:
    document = a_batch(
        parameters=[{"key": "x", **parameter}], script="#!/bin/sh\n: {{.params.x}};\n"
    )

    assert f": {shown};" in rendered(document, params={"x": value})


def test_a_megabyte_in_a_parameter_is_only_long() -> None:
    long = "x" * (1 << 20)
    document = a_batch(parameters=[TEXT], script="#!/bin/sh\n: {{.params.word | quote}}\n")

    assert len(rendered(document, params={"word": long})) > 1 << 20


@pytest.mark.parametrize("value", ["5\n#SBATCH --uid=0", "1\n", "x\ny"])
def test_no_value_brings_options_of_its_own(value: str) -> None:
    document = a_batch(sbatch="#SBATCH --mem={{.params.word}}\n", parameters=[TEXT])

    with pytest.raises(Invalid, match="has a line end"):
        rendered(document, params={"word": value})


@pytest.mark.parametrize("value", ["1 --uid=0", "1 --output=/etc/x", "1 --wrap=x"])
def test_what_may_not_be_asked_for_is_refused_when_values_are_in_too(value: str) -> None:
    document = a_batch(sbatch="#SBATCH --mem={{.params.word}}\n", parameters=[TEXT])

    with pytest.raises(Invalid) as error:
        rendered(document, params={"word": value})
    assert error.value.code in {"directive-denied", "directive-refused"}


@pytest.mark.parametrize(
    ("override", "lines"),
    [
        ({"time": "2:00:00"}, ["#SBATCH --mem=100M", "#SBATCH --time=2:00:00"]),
        ({"--time": "9", "gres": "gpu:a10g:1"}, ["#SBATCH --time=9", "#SBATCH --gres=gpu:a10g:1"]),
        ("--time=9 --requeue", ["#SBATCH --time=9", "#SBATCH --requeue"]),
        ("#SBATCH --time=9", ["#SBATCH --time=9"]),
        (["--mem=1G", "--time=9"], ["#SBATCH --mem=1G", "#SBATCH --time=9"]),
        ({"constraint": 'a "b"'}, ['#SBATCH --constraint="a \\"b\\""']),
    ],
)
def test_single_options_are_overridden(override: Any, lines: list[str]) -> None:
    script = rendered(a_batch(), override=read_override(override))

    for line in lines:
        assert script.count(f"{line}\n") == 1
    assert script.count("--time") == 1


@pytest.mark.parametrize(
    "override",
    [
        {"uid": 0},
        {"account": "x"},
        "--wrap=x",
        {"tim": "9"},
        3,
        {"time": "1\n#SBATCH --uid=0"},
        ["x"],
    ],
)
def test_what_a_template_may_not_say_an_override_may_not_either(override: Any) -> None:
    with pytest.raises(Invalid) as error:
        read_override(override)
    assert error.value.at == "sbatch_override"


def test_steps_values_know_the_run() -> None:
    given = {"a": "{{.ctx.user_email}}/x", "b": [{"c": "{{.ctx.workflow_run_id}}"}], "n": 3}

    assert filled_value(given, CONTEXT) == {"a": "ana@lab.example/x", "b": [{"c": "0198"}], "n": 3}


EVERYWHERE = from_yaml(
    """
    id: x
    name: X
    description: D
    vertical: v
    category: c
    workload_group: w
    modality: form
    tools: [bash]
    ready: true
    kind: batch
    runtime: {kind: host_system, binary: bash}
    sbatch: "#SBATCH --time=1"
    inputs: []
    parameters:
      - {key: word, widget: textarea}
    outputs: {dir: "/o", artifacts: []}
    script: |
      #!/bin/bash
      # {{ .params.word | quote }}
      A={{ .params.word | quote }}
      B="{{ .params.word | quote }}"
      C=$(printf %s {{ .params.word | quote }}; printf .)
      cat > "$1" <<EOF
      {"a": {{ .params.word | quote }}}
      EOF
      cat > "$2" <<'EOF'
      {"a": {{ .params.word | quote }}}
      EOF
      D='{"a": {{ .params.word | quote }}}'
      printf '%s\\0' "$A" "$B" "${C%.}" "$D"
    """
)


@settings(max_examples=40)
@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=60))
def test_a_quoted_value_is_the_same_value_wherever_a_template_puts_it(value: str) -> None:
    _same_everywhere(value)


@pytest.mark.parametrize(
    "value",
    ["$(touch x)", "`touch x`", "'; touch x; '", '"; touch x; "', "EOF\ntouch x\n", "\\", "{{"],
)
def test_no_value_runs(value: str) -> None:
    _same_everywhere(value)


def _same_everywhere(value: str) -> None:
    import tempfile
    from pathlib import Path

    script = render(EVERYWHERE, CONTEXT, params={"word": value}).script
    with tempfile.TemporaryDirectory() as place:
        files = [Path(place) / "one", Path(place) / "two"]
        done = subprocess.run(
            ["bash", "-c", script, "bash", *map(str, files)],
            capture_output=True,
            check=True,
            cwd=place,
            timeout=20,
        )
        a, b, c, d, _ = done.stdout.decode().split("\0")
        assert a == b == c == value
        assert json.loads(d) == {"a": value}
        for file in files:
            assert json.loads(file.read_text()) == {"a": value}
        assert sorted(each.name for each in Path(place).iterdir()) == ["one", "two"]
