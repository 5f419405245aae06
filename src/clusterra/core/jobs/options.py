"""The options sbatch knows, and which of them a job submitted through us can use.

The names, their letters and whether they take a value were asked of the sbatch
of Slurm 24.11 and 26.05. What an option means to Slurm is in `properties.py`;
how a script writes it is in `script.py`.
"""

from dataclasses import dataclass
from enum import Enum


class Takes(Enum):
    VALUE = "a value"
    NOTHING = "nothing"
    PERHAPS = "perhaps a value"
    """Only glued to it: `--exclusive=user`, never `--exclusive user`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    name: str
    letter: str
    takes: Takes


def _options(takes: Takes, names: str) -> dict[str, Option]:
    table = {}
    for entry in names.split():
        name, _, letter = entry.partition(":")
        table[name] = Option(name=name, letter=letter, takes=takes)
    return table


OPTIONS = {
    **_options(
        Takes.VALUE,
        """account:A acctg-freq array:a autocomplete batch bb bbf begin:b chdir:D cluster clusters:M
        cluster-constraint comment constraint:C container container-id container-type context
        core-spec:S cores-per-socket cpu-freq cpus-per-gpu cpus-per-task:c deadline delay-boot
        dependency:d distribution:m error:e exclude:x export export-file extra extra-node-info:B
        gid gpu-bind gpu-freq gpus:G gpus-per-node gpus-per-socket gpus-per-task gres gres-flags
        hint input:i job-name:J kill-on-invalid-dep licenses:L mail-type mail-user mcs-label mem
        mem-bind mem-per-cpu mem-per-gpu mem-update mincpus network nodefile:F nodelist:w nodes:N
        ntasks:n ntasks-per-core ntasks-per-gpu ntasks-per-node ntasks-per-socket ntasks-per-tres
        open-mode output:o partition:p power prefer priority profile qos:q reservation resources
        segment signal sockets-per-node switches tasks-per-node thread-spec threads-per-core time:t
        time-min tmp tres-bind tres-per-task uid wait-all-nodes wckey wrap""",
    ),
    **_options(
        Takes.NOTHING,
        """consolidate-segments contiguous external help:h hold:H ignore-pbs no-requeue overcommit:O
        oversubscribe:s parsable quiet:Q reboot spread-job spread-segments stepmgr test-only usage
        use-min-nodes verbose:v version:V wait:W""",
    ),
    **_options(
        Takes.PERHAPS,
        "exclusive get-user-env nice no-kill:k oom-kill-step propagate requeue resv-ports",
    ),
}

LETTERS = {option.letter: option for option in OPTIONS.values() if option.letter}

SAME_AS = {
    "cluster": "clusters",
    "tasks-per-node": "ntasks-per-node",
    "ntasks-per-tres": "ntasks-per-gpu",
}

IGNORED = {
    "autocomplete": "it is for the sbatch command itself",
    "ignore-pbs": "only #SBATCH lines are read in any case",
    "parsable": "it is for the sbatch command itself",
    "quiet": "it is for the sbatch command itself",
    "verbose": "it is for the sbatch command itself",
    "wait": "it is for the sbatch command itself; watch the job instead",
    "get-user-env": "no login environment is read; begin the script with `#!/bin/bash -l` for one",
    "propagate": "there is no submitting shell whose limits could be passed on",
    "mem-bind": "it binds the tasks of srun; give it to srun inside the script",
    "power": "Slurm no longer has it",
    "resv-ports": "it is for the steps of srun; give it to srun inside the script",
}
"""Options without which the job is still the job that was asked for, and why they do nothing."""

REFUSED = {
    "bbf": "it names a file on the machine where sbatch runs",
    "clusters": "the cluster is chosen by where the job is submitted",
    "consolidate-segments": "not every Slurm from 24.11 on has it",
    "container-type": "not every Slurm from 24.11 on has it",
    "export-file": "it names a file on the machine where sbatch runs; send `env` instead",
    "external": "such a job has no script to run",
    "gid": "who a job runs as follows from who submits it",
    "help": "it asks sbatch for its help and submits nothing",
    "mem-update": "not every Slurm from 24.11 on has it",
    "nodefile": "it names a file on the machine where sbatch runs; use --nodelist",
    "resources": "it cannot be passed through Slurm's REST interface",
    "spread-segments": "not every Slurm from 24.11 on has it",
    "test-only": "it asks for a test, and a real job would be submitted",
    "uid": "who a job runs as follows from who submits it",
    "usage": "it asks sbatch for its help and submits nothing",
    "version": "it asks sbatch for its version and submits nothing",
    "wrap": "it replaces the script, and there is a script",
}
"""Options without which the job would be another one, and why they cannot be had here."""
