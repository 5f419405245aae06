"""GPUs and other counted things a job may ask for: what Slurm calls TRES.

sbatch works some of this out before slurmctld sees the job, and so do we: how
GPUs are bound to tasks, and how many tasks there are to a number of GPUs.
"""

import re
from typing import Any

from clusterra.core.jobs.notation import SMALL, Ask, count, text
from clusterra.core.quote import shown
from clusterra.core.units import LARGEST

Properties = dict[str, Any]


def gpus(ask: Ask) -> str:
    """Read `2`, `a100:2`, `a100:2,v100:1`."""
    parts = ask.text.split(",")
    for part in parts:
        match = re.fullmatch(r"(?:[A-Za-z0-9_.-]+:)?(\d{1,10})", part, re.ASCII)
        if match is None or int(match[1]) > LARGEST:
            raise ask.wrong(
                f"must be a number of GPUs, not {shown(ask.text)}.",
                "Write 2, or the model and the number, such as a100:2.",
            )
    return ",".join(f"gres/gpu:{part}" for part in parts)


def gres(ask: Ask) -> Properties:
    parts = [part for part in text(ask).split(",") if part]
    if [part.lower() for part in parts] == ["none"]:
        return {}
    return {"tres_per_node": ",".join(prefixed("gres/", part) for part in parts)}


def prefixed(prefix: str, part: str) -> str:
    return part if part.startswith(prefix) else prefix + part


def per_task(gpus: str) -> str:
    return re.sub(r":(\d+)(?=,|$)", r"=\1", gpus)


def cpus_per_task(ask: Ask) -> Properties:
    cpus = count(ask, most=SMALL)
    # All three are what sbatch sends for --cpus-per-task.
    return {
        "cpus_per_task": cpus,
        "tres_per_task": f"cpu={cpus}",
        "flags": ["EXACT_CPU_COUNT_REQUESTED"],
    }


def tres_per_task(ask: Ask) -> Properties:
    written = text(ask)
    cpus = re.search(r"(?:^|,)cpu[:=](\d{1,10})(?:,|$)", written, re.ASCII)
    if cpus is None:
        return {"tres_per_task": written}
    counted = cpus_per_task(Ask(option=ask.option, value=cpus[1], at=ask.at, said=ask.said))
    return counted | {"tres_per_task": written}


def implied(found: Properties) -> Properties:
    """Work out what sbatch does where slurmctld would not."""
    more: Properties = {}
    if "tres_per_task" in found:
        # sbatch puts the CPUs first, in whichever order they were asked for.
        parts = sorted(found["tres_per_task"].split(","), key=lambda part: part[:3] != "cpu")
        more["tres_per_task"] = ",".join(parts)
        bound = re.search(r"\bgpu\b[^,]*[:=](\d+)(?:,|$)", more["tres_per_task"])
        if bound and "tres_bind" not in found:
            more["tres_bind"] = f"gres/gpu:per_task:{bound[1]}"
    of_job = re.fullmatch(r"gres/gpu:(?:.*:)?(\d+)", found.get("tres_per_job", ""))
    if of_job and "ntasks_per_tres" in found and "tasks" not in found:
        more["tasks"] = int(of_job[1]) * found["ntasks_per_tres"]
    return more
