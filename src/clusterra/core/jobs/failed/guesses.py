"""Jobs that Slurm calls FAILED and no more: what can be found out from how and with which words.

What Slurm wrote into the output of the job comes first, then what an exit code means, then what
programs wrote.
"""

from collections.abc import Mapping
from dataclasses import replace

from clusterra.core.jobs.failed.cause import Cause
from clusterra.core.jobs.failed.endings import NOT_EXECUTABLE, NOT_FOUND, named, signal_of
from clusterra.core.jobs.failed.evidence import Evidence, Verdict
from clusterra.core.jobs.failed.last_words import Clue, clue_in, command_in, file_in, killed_in
from clusterra.core.jobs.failed.verdicts import (
    after,
    launch_failed,
    node_failed,
    out_of_memory,
    preempted,
    timeout,
)
from clusterra.core.jobs.job import Job

NEARLY_ALL = 0.9
"""So much of the memory it asked for, and it was probably that which it lacked."""

KILL, SEGV, TERM = 9, 11, 15

_ENDS_BY_SIGNAL = frozenset({Cause.OUT_OF_MEMORY, Cause.GPU_OUT_OF_MEMORY, Cause.NO_SPACE})
"""Causes for which programs give up with a signal."""


def failed(evidence: Evidence, used: int | None) -> Verdict:
    """Say why a job failed of which Slurm says no more than that."""
    job, clue = evidence.job, clue_in(evidence.lines)
    if "LaunchFail" in job.reason:
        return launch_failed(evidence)
    if found := _as_slurm_wrote(clue, evidence, used) or _as_the_shell_says(clue, evidence):
        return found
    if _was_killed_for_memory(evidence, used):
        return out_of_memory(evidence, used, sure=False)
    if evidence.taken_back and signal_of(job) in (KILL, TERM):
        return replace(node_failed(evidence), sure=False)
    # A program that crashes tells of other things before, and seldom of that.
    if clue and (signal_of(job) is None or clue.cause in _ENDS_BY_SIGNAL):
        return _by_clue(clue, evidence, used)
    return _by_number(job)


def _as_slurm_wrote(clue: Clue | None, evidence: Evidence, used: int | None) -> Verdict | None:
    if clue is None or not clue.by_slurm:
        return None
    match clue.cause:
        case Cause.OUT_OF_MEMORY:
            return out_of_memory(evidence, used)
        case Cause.TIMEOUT:
            return timeout(evidence)
        case Cause.PREEMPTED:
            return preempted(evidence)
        case Cause.NODE_FAILED:
            return node_failed(evidence)
        case _:
            return None


def _as_the_shell_says(clue: Clue | None, evidence: Evidence) -> Verdict | None:
    code, quoted = evidence.job.exit_code, evidence.lines if evidence.quotes else ()
    if clue and clue.cause is Cause.BAD_INTERPRETER:
        return _bad_interpreter(clue, evidence)
    if code == NOT_FOUND:
        name = command_in(quoted)
        return Verdict(
            cause=Cause.COMMAND_NOT_FOUND,
            says=f"A command was not found{f': {name}' if name else ''}.",
            advice="Check its name, and load its module or give its path in the script.",
        )
    if code == NOT_EXECUTABLE:
        name = file_in(quoted)
        return Verdict(
            cause=Cause.NOT_EXECUTABLE,
            says=f"A file could not be executed{f': {name}' if name else ''}.",
            advice="Make it executable with chmod +x, or call it through its interpreter.",
        )
    return None


def _was_killed_for_memory(evidence: Evidence, used: int | None) -> bool:
    """Say whether it or a program in it was killed as the kernel kills for memory."""
    asked = evidence.job.memory_mib
    if signal_of(evidence.job) != KILL:
        return False
    if used is not None and asked:
        return used >= asked * NEARLY_ALL
    return killed_in(evidence.lines) is not None


def _bad_interpreter(clue: Clue, evidence: Evidence) -> Verdict:
    name = f" {clue.name}" if clue.name and evidence.quotes else ""
    windows = "^M" in clue.line
    return Verdict(
        cause=Cause.BAD_INTERPRETER,
        says=f"The interpreter{name} in the first line of a script is not there.",
        advice="The file has line ends of Windows: convert it with dos2unix."
        if windows
        else "Name one that the nodes have, such as #!/bin/bash.",
    )


_CLUES: Mapping[Cause, tuple[str, str]] = {
    Cause.GPU_OUT_OF_MEMORY: (
        "Ran out of memory on the GPU",
        "Use smaller batches, more GPUs or larger ones; more memory of the node does not help.",
    ),
    Cause.NO_SPACE: (
        "It had no room left to write to",
        "Delete what is not needed, or write to another file system.",
    ),
    Cause.MISSING_LIBRARY: (
        "A program lacks a library",
        "Load the module that has it, or build the program on these nodes.",
    ),
    Cause.PERMISSION: (
        "It was not allowed to use a file",
        "Check who may read and write there, and that the path is meant.",
    ),
    Cause.NETWORK: (
        "It could not reach something over the network",
        "Check the address, and whether the nodes may reach it; then submit it again.",
    ),
    Cause.MISSING_FILE: (
        "A file was not there",
        "Check the path and the working directory of the job.",
    ),
    Cause.PYTHON_EXCEPTION: (
        "A Python program ended with an exception",
        "Mend what its last line tells of.",
    ),
}


def _by_clue(clue: Clue, evidence: Evidence, used: int | None) -> Verdict:
    if clue.cause is Cause.OUT_OF_MEMORY:
        return out_of_memory(evidence, used, sure=False)
    says, advice = _CLUES[clue.cause]
    if clue.cause is Cause.PYTHON_EXCEPTION and clue.name == "ModuleNotFoundError":
        advice = "Install that module in the environment which the script uses."
    name = f": {clue.name}" if clue.name and evidence.quotes else ""
    sure = clue.cause is Cause.PYTHON_EXCEPTION and clue.last and evidence.job.exit_code == 1
    return Verdict(
        cause=clue.cause, says=f"{says}{after(evidence.job)}{name}.", advice=advice, sure=sure
    )


def _by_number(job: Job) -> Verdict:
    signal, look = signal_of(job), "Its last lines may say more: clusterra jobs logs {}"
    if signal == SEGV:
        return Verdict(
            cause=Cause.SIGNAL,
            says=f"A program in it crashed (segmentation fault){after(job)}.",
            advice="A program that reads memory it does not have is broken, or got input it cannot"
            " take.",
        )
    if signal:
        return Verdict(
            cause=Cause.SIGNAL,
            says=f"It was ended by {named(signal)}{after(job)}; who sent it is not known.",
            advice=look.format(job.label),
        )
    if job.exit_code:
        return Verdict(
            cause=Cause.EXIT_CODE,
            says=f"Its script ended with exit code {job.exit_code}{after(job)}.",
            advice=look.format(job.label),
        )
    return _unknown(job)


def _unknown(job: Job) -> Verdict:
    said = job.reason
    return Verdict(
        cause=Cause.UNKNOWN,
        says=f"It failed{after(job)}, and Slurm does not say why{f' ({said})' if said else ''}.",
        advice="Its output may say more, or the logs of its node.",
    )
