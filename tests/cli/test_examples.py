"""The examples of the README are scripts a shell takes."""

import os
import subprocess
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.sh"))


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.name)
def test_an_example_is_a_script_with_directives(script: Path) -> None:
    text = script.read_text()

    assert text.startswith("#!/bin/bash\n#SBATCH ")
    assert os.access(script, os.X_OK)
    subprocess.run(["bash", "-n", script], check=True)


def test_there_is_one_to_begin_with_one_array_and_one_failure() -> None:
    assert {script.name for script in EXAMPLES} >= {"hello.sh", "sweep.sh", "fail.sh"}
