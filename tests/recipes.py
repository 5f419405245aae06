"""Templates for tests: as small as the schema allows."""

import textwrap
from typing import Any

from clusterra.adapters.yaml_text import read_yaml
from clusterra.core.templates.read import Document, SourceFile, read_template
from clusterra.core.templates.render import Context
from clusterra.core.templates.template import Template

CONTEXT = Context(
    user_email="ana@lab.example", cluster_id="cluslab1", run_id="0198", files="/mnt/efs/ana"
)

ABOUT: dict[str, Any] = {
    "name": "A recipe",
    "description": "Does something.",
    "vertical": "general",
    "category": "general",
    "workload_group": "general",
    "modality": "form",
    "tools": ["bash"],
    "ready": True,
}


def a_batch(id: str = "recipe", **more: Any) -> dict[str, Any]:
    return {
        "id": id,
        **ABOUT,
        "kind": "batch",
        "runtime": {"kind": "host_system", "binary": "bash"},
        "sbatch": "#SBATCH --mem=100M\n#SBATCH --time=5\n",
        "inputs": [],
        "parameters": [],
        "outputs": {"dir": "/out/{{.ctx.run_id}}", "artifacts": []},
        "script": "#!/bin/bash\ntrue\n",
        **more,
    }


def a_workflow(id: str = "flow", *steps: dict[str, Any]) -> dict[str, Any]:
    return {"id": id, **ABOUT, "kind": "workflow", "steps": list(steps)}


def template(document: dict[str, Any]) -> Template:
    return read_template(Document(value=document))


def from_yaml(text: str) -> Template:
    return read_template(read_yaml(textwrap.dedent(text)))


YAML = """\
id: {id}
name: A recipe
description: Does something.
vertical: general
category: general
workload_group: general
modality: form
tools: [bash]
ready: true
kind: batch
runtime: {{kind: host_system, binary: bash}}
sbatch: |
  #SBATCH --mem=100M
inputs: []
parameters:
  - key: word
    widget: text
    default: hello
outputs: {{dir: "/out/{{{{.ctx.run_id}}}}", artifacts: []}}
script: |
  #!/bin/bash
  echo {{{{.params.word | quote}}}}
"""


def a_file(id: str = "recipe", name: str = "") -> SourceFile:
    return SourceFile(name=name or f"{id}.yaml", text=YAML.format(id=id))
