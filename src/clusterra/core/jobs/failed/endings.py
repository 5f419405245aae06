"""What a job ended with, in words: `ended by signal 9 (SIGKILL)`, `exit code 127: command not found`."""

from clusterra.core.jobs.job import Job, JobState

NOT_EXECUTABLE, NOT_FOUND = 126, 127
_SIGNALLED = 128
"""What a shell adds to the signal that ended a program, to make an exit code of it."""

_MOST_SIGNALS = 64

SIGNALS = {
    1: "SIGHUP",
    2: "SIGINT",
    3: "SIGQUIT",
    4: "SIGILL",
    6: "SIGABRT",
    7: "SIGBUS",
    8: "SIGFPE",
    9: "SIGKILL",
    10: "SIGUSR1",
    11: "SIGSEGV",
    12: "SIGUSR2",
    13: "SIGPIPE",
    14: "SIGALRM",
    15: "SIGTERM",
    24: "SIGXCPU",
    25: "SIGXFSZ",
}
_NOBODY_SAW = frozenset({JobState.NODE_FAIL, JobState.BOOT_FAIL, JobState.LOST})
"""Ends that nobody was there to see. Slurm has signal 1 for a job that was lost with its node."""

_CODES = {
    NOT_EXECUTABLE: "not executable",
    NOT_FOUND: "command not found",
}


def signal_of(job: Job) -> int | None:
    """Return the signal that ended it or a program in it; None if none did, as far as is told."""
    if job.signal:
        return job.signal
    behind = (job.exit_code or 0) - _SIGNALLED
    return behind if 0 < behind <= _MOST_SIGNALS else None


def named(signal: int) -> str:
    return f"signal {signal}" + (f" ({SIGNALS[signal]})" if signal in SIGNALS else "")


def ended_with(job: Job) -> str:
    """Return what it ended with; empty if it never ran, or that is not told."""
    if job.state in _NOBODY_SAW:
        return ""
    if job.signal:
        return f"ended by {named(job.signal)}"
    if job.exit_code is None:
        return ""
    if job.exit_code in _CODES:
        return f"exit code {job.exit_code}: {_CODES[job.exit_code]}"
    if behind := signal_of(job):
        return f"exit code {job.exit_code}: a program in it was ended by {named(behind)}"
    return f"exit code {job.exit_code}"
