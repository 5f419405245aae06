"""What each recipe of ours is tried with, and what must come of it.

The fast tests render these; the end-to-end ones run them. A recipe without a case fails a test.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Smoke:
    says: str
    """A part of what its job, or the last of its jobs, prints."""

    leaves: Mapping[str, str]
    """Files below its directory, and what each contains. Of a workflow, below that of the whole;
    a name that ends with / is a directory that is there."""

    params: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, Any] = field(default_factory=dict)
    state: str = "COMPLETED"
    exit_code: int = 0


SMOKE: Mapping[str, Smoke] = {
    "hello": Smoke(
        params={"greet": 'Ana\'s `lab` & "friends" for $5'},
        says='Hello, Ana\'s `lab` & "friends" for $5!',
        leaves={"hello.txt": "Hello, Ana's `lab`"},
    ),
    "custom-slurm": Smoke(
        params={
            "job_name": "mine",
            "script_body": "#!/bin/bash\necho '{{ as it is }}'\n",
        },
        says="{{ as it is }}",
        leaves={},  # what somebody's own script leaves is not known
    ),
    "python-step": Smoke(
        params={
            "settings": "WHO=you = me\nEMPTY=\n",
            "script_body": (
                "import json, os\n"
                "json.dump(os.environ['WHO'], open('outputs.json', 'w'))\n"
                "print(f'{{literally}} $HOME `id` {len(os.environ[\"EMPTY\"])}')\n"
            ),
        },
        says="{literally} $HOME `id` 0",
        leaves={"outputs.json": '"you = me"'},
    ),
    "array-sweep": Smoke(
        # Five values over two tasks, one at a time: some task takes several.
        params={
            "values": 'a\nb "c"\n\n$(d)\ne,f\ng',
            "command": 'printf \'for %s\\n%s\' "$1" "$VALUE" | tr a-z A-Z',
            "tasks": 2,
            "at_once": 1,
        },
        says=": ",
        leaves={
            "results.csv": (
                "task,value,result,exit_code\n"
                '1,"a","A",0\n'
                '2,"b ""c""","B ""C""",0\n'
                '1,"$(d)","$(D)",0\n'
                '2,"e,f","E,F",0\n'
                '1,"g","G",0\n'
            )
        },
    ),
    "parameter-scan": Smoke(
        params={
            "grid": {"a": [1, 2], "b": [10, 20]},
            "program": "def run(a, b):\n    return a * b\n",
        },
        says="4 combinations, 2 at a time",
        leaves={
            "results.csv": "2,20,40",
            "summary.json": '"combinations": 4, "failed": 0',
        },
    ),
    "notebook-report": Smoke(
        params={"title": "Fish & <chips>"},
        says="3 of 3 cells were run",
        leaves={"report.html": "<h1>Fish &amp; &lt;chips&gt;</h1>", "summary.json": '"ran": 3'},
    ),
    "checkpoint-restart": Smoke(
        params={"checkpoint": "data/a checkpoint.json"},
        says="all 50 pieces are done: {'darts': 100000, 'pi': 3.1",
        leaves={"result.json": '"darts": 100000', "progress.log": "beginning with piece 1 of 50"},
    ),
    "memory-probe": Smoke(
        params={"take_mb": 50, "step_mb": 20, "pause": 0},
        says="took 50 MB",
        leaves={"memory.csv": "taken_mb,resident_mb", "summary.json": '"taken_mb": 50'},
    ),
    "gpu-smoke": Smoke(
        says="GPUs asked for: 0; GPUs seen: 0",
        leaves={"gpus.csv": "index,name,memory_total,driver_version"},
    ),
    "data-staging": Smoke(
        says="all as they were",
        leaves={
            "results/": "",
            "results/numbers.txt.gz": "",
            "checksums.sha256": (
                "8060aa0ac20a3e5db2b67325c98a0122f2d09a612574458225dcb9a086f87cc3"
                "  input/numbers.txt"
            ),
        },
    ),
    "fan-out-fan-in": Smoke(
        params={"split": {"settings": "PIECES=4\nMEASUREMENTS=2000"}},
        says="'count': 2000",
        leaves={
            "step-split/piece-4.txt": ".",
            "step-map/results.csv": '"piece-3"',
            "step-reduce/outputs.json": '"count": 2000, "mean": 2',
        },
    ),
    "word-count": Smoke(
        params={"report": {"settings": "MOST=2"}},
        says="the     4 ####",
        leaves={
            "step-text/text.txt": "The sea is wide",
            "step-count/counts.csv": "sea,2",
            "step-report/report.txt": "is     4 ####",
        },
    ),
    # Neither tool is on the clusters that tests run on: they say so, and nothing worse happens.
    "nextflow-pipeline": Smoke(
        state="FAILED",
        exit_code=127,
        says="Nextflow is not installed on this cluster",
        leaves={"nextflow.log": "Nextflow is not installed"},
    ),
    "snakemake-workflow": Smoke(
        state="FAILED",
        exit_code=127,
        says="Snakemake is not installed on this cluster",
        leaves={"snakemake.log": "Snakemake is not installed"},
    ),
}
