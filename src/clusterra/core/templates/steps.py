"""What a step of a workflow finds around it: its directory, and those of the steps before it.

Two ways to name a step's directory are in use among recipes, `step-<id>` and, older,
`step-<N>-<id>`; both lead to the same place.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from clusterra.core.templates.launch import Launch
from clusterra.core.templates.shell import Place, quoted


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    workflow_dir: str = ""
    outputs_dir: str = ""
    """The step's own directory; empty for a job by itself, which has its template's."""

    variables: Mapping[str, str] = field(default_factory=dict)


def surroundings(job: Launch, files: str, chain: str) -> Surroundings:
    """Return where a step is; nothing for a job that is no step."""
    if not chain:
        return Surroundings()
    whole = f"{files}/{chain}"
    variables = {"WORKFLOW_DIR": whole, "CHAIN_ROOT_ID": chain}
    if len(job.depends_on) == 1:
        variables["PREV_STEP_OUT_DIR"] = f"{whole}/step-{job.depends_on[0]}"
    return Surroundings(
        workflow_dir=whole, outputs_dir=f"{whole}/step-{job.step_id}", variables=variables
    )


def preamble(job: Launch, around: Surroundings) -> str:
    """Return the lines of shell that make a step's directory, under both of its names."""
    if not around.outputs_dir:
        return ""
    own = quoted(around.outputs_dir, Place.PLAIN)
    other = quoted(f"{around.workflow_dir}/step-{job.place}-{job.step_id}", Place.PLAIN)
    return (
        "# Clusterra: the directory of this step, under both of the names that recipes use.\n"
        f"mkdir -p {own} && ln -sfn step-{job.step_id} {other}"
    )
