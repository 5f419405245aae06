"""What the last lines of a job's output are taken to mean."""

import pytest

from clusterra.core.jobs.failed.cause import Cause
from clusterra.core.jobs.failed.last_words import (
    NEAR,
    clue_in,
    command_in,
    killed_in,
    lines_of,
    memory_used_in,
)

STAMP = "[2026-11-17T09:26:37] error: "


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        (
            (
                "slurmstepd: error: Detected 1 oom_kill event in StepId=48162.batch. Some of the step"
                " tasks have been OOM Killed."
            ),
            Cause.OUT_OF_MEMORY,
        ),
        (
            f"{STAMP}StepId=1.batch exceeded memory limit (164249600 > 104857600), being killed",
            Cause.OUT_OF_MEMORY,
        ),
        (f"{STAMP}Exceeded job memory limit", Cause.OUT_OF_MEMORY),
        ("srun: error: w1: task 0: Out Of Memory", Cause.OUT_OF_MEMORY),
        (
            f"{STAMP}*** JOB 11 ON w2 CANCELLED AT 2026-11-17T09:27:45 DUE TO TIME LIMIT ***",
            Cause.TIMEOUT,
        ),
        (
            "slurmstepd: error: *** JOB 8 ON w1 CANCELLED AT 2026-11-17T09:27:45 DUE TO PREEMPTION ***",
            Cause.PREEMPTED,
        ),
        (
            f"{STAMP}execve(): bad interpreter(/no/such/shell): No such file or directory",
            Cause.BAD_INTERPRETER,
        ),
    ],
)
def test_what_slurm_writes_is_believed_wherever_it_stands(line: str, cause: Cause) -> None:
    clue = clue_in([line, *["and so on"] * (NEAR + 5)])

    assert clue is not None
    assert (clue.cause, clue.by_slurm) == (cause, True)


@pytest.mark.parametrize(
    ("line", "cause", "name"),
    [
        ("RuntimeError: CUDA out of memory. Tried to allocate 2 GiB", Cause.GPU_OUT_OF_MEMORY, ""),
        ("torch.cuda.OutOfMemoryError: …", Cause.GPU_OUT_OF_MEMORY, ""),
        ("MemoryError", Cause.OUT_OF_MEMORY, ""),
        (
            "terminate called after throwing an instance of 'std::bad_alloc'",
            Cause.OUT_OF_MEMORY,
            "",
        ),
        ("fork: Cannot allocate memory", Cause.OUT_OF_MEMORY, ""),
        ("error: out of memory", Cause.OUT_OF_MEMORY, ""),
        ("tar: out.tar: Cannot write: No space left on device", Cause.NO_SPACE, ""),
        ("cp: error writing 'x': Disk quota exceeded", Cause.NO_SPACE, ""),
        ("cat: /etc/shadow: Permission denied", Cause.PERMISSION, "/etc/shadow"),
        (
            "PermissionError: [Errno 13] Permission denied: '/data/x'",
            Cause.PERMISSION,
            "/data/x",
        ),
        ("ls: cannot access 'in.bam': No such file or directory", Cause.MISSING_FILE, "in.bam"),
        (
            "FileNotFoundError: [Errno 2] No such file or directory: 'in.bam'",
            Cause.MISSING_FILE,
            "in.bam",
        ),
        (
            (
                "bwa: error while loading shared libraries: libz.so.1: cannot open shared object file:"
                " No such file or directory"
            ),
            Cause.MISSING_LIBRARY,
            "libz.so.1",
        ),
        ("curl: (6) Could not resolve host: data.example", Cause.NETWORK, ""),
        ("bash: ./x.py: /bin/python^M: bad interpreter", Cause.BAD_INTERPRETER, "/bin/python^M"),
    ],
)
def test_what_programs_write_is_recognised_near_the_end_only(
    line: str, cause: Cause, name: str
) -> None:
    near = clue_in([line, *["and so on"] * (NEAR - 1)])

    assert near is not None
    assert (near.cause, near.name, near.by_slurm) == (cause, name, False)
    assert clue_in([line, *["and so on"] * NEAR]) is None


def test_the_last_complaint_counts() -> None:
    clue = clue_in(["x: Permission denied", "No space left on device", "giving up"])

    assert clue is not None
    assert clue.cause is Cause.NO_SPACE


def test_an_exception_counts_where_it_is_the_last_word() -> None:
    traceback = [
        "Traceback (most recent call last):",
        '  File "a.py", line 1, in <module>',
        "numpy.linalg.LinAlgError: Singular matrix",
    ]
    clue = clue_in(traceback)

    assert clue is not None
    assert (clue.cause, clue.name) == (Cause.PYTHON_EXCEPTION, "LinAlgError")
    assert clue_in([*traceback, "retrying with a smaller step"]) is None
    assert clue_in(["Done: all good"]) is None


@pytest.mark.parametrize(
    ("line", "killed"),
    [
        (
            (
                "/var/spool/slurmd/job8/slurm_script: line 28: 20817 Killed                  "
                "samtools sort -@ 4 -m 2G pool3.bam"
            ),
            "samtools sort",
        ),
        ("Killed", ""),
        ("Killed by the weather", None),
        ("nothing of the kind", None),
    ],
)
def test_the_program_that_was_killed_is_named(line: str, killed: str | None) -> None:
    assert killed_in([line]) == killed


def test_the_command_that_was_not_found_is_named() -> None:
    assert command_in(["slurm_script: line 2: nosuchcommand: command not found"]) == "nosuchcommand"
    assert command_in(["/bin/sh: 1: bwa: not found"]) == "bwa"
    assert command_in(["slurm_script: line 2: ./run: No such file or directory"]) == "./run"
    assert command_in(["hello"]) == ""


def test_memory_is_read_from_what_slurm_wrote() -> None:
    said = f"{STAMP}StepId=1.batch exceeded memory limit (164249600 > 104857600), being killed"

    assert memory_used_in(["x", said]) == 157
    assert memory_used_in(["x"]) is None


def test_bytes_become_lines_whatever_they_are() -> None:
    assert lines_of(b"a  \r\n\n\xff\xfe\nb") == ("a", "��", "b")
    assert lines_of(b"") == ()
