"""Why a job did not succeed, as one word a program can switch on."""

from enum import StrEnum


class Cause(StrEnum):
    NONE = "none"
    """It has not failed: it waits, runs, or completed."""

    OUT_OF_MEMORY = "out-of-memory"
    GPU_OUT_OF_MEMORY = "gpu-out-of-memory"
    TIMEOUT = "timeout"
    DEADLINE = "deadline"
    NODE_FAILED = "node-failed"
    SPOT_INTERRUPTED = "spot-interrupted"
    PREEMPTED = "preempted"
    LAUNCH_FAILED = "launch-failed"
    LOST = "lost"
    CANCELLED = "cancelled"
    QUOTA = "quota"
    DEPENDENCY = "dependency"
    COMMAND_NOT_FOUND = "command-not-found"
    NOT_EXECUTABLE = "not-executable"
    BAD_INTERPRETER = "bad-interpreter"
    MISSING_LIBRARY = "missing-library"
    NO_SPACE = "no-space"
    PERMISSION = "permission"
    MISSING_FILE = "missing-file"
    NETWORK = "network"
    PYTHON_EXCEPTION = "python-exception"
    SIGNAL = "signal"
    EXIT_CODE = "exit-code"
    UNKNOWN = "unknown"
