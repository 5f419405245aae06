"""The options that say what a job asks for, shared by `jobs submit` and `run`."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

from clusterra.wire.jobs import SubmitJob

F = TypeVar("F", bound=Callable[..., Any])

_ASKING: tuple[tuple[tuple[str, ...], dict[str, Any]], ...] = (
    (("--name", "-J"), {"help": "Name of the job."}),
    (("--cpus", "-c"), {"type": int, "metavar": "N", "help": "CPUs for each task."}),
    (("--memory", "--mem"), {"metavar": "SIZE", "help": "Memory on each node: 4G, 512M."}),
    (("--time", "-t"), {"metavar": "TIME", "help": "Time limit: 90, 2h30m, 1:30:00, 2-12."}),
    (("--gpus",), {"metavar": "N", "help": "GPUs on each node: 1, or a100:2."}),
    (("--nodes", "-N"), {"metavar": "N", "help": "Nodes: 2, or 2-4."}),
    (("--tasks", "-n"), {"type": int, "metavar": "N", "help": "Tasks (processes of srun)."}),
    (("--partition", "-p"), {"metavar": "NAME", "help": "Queue to put it into."}),
    (("--account", "-A"), {"metavar": "NAME", "help": "Account to charge."}),
    (("--qos", "-q"), {"metavar": "NAME", "help": "Quality of service."}),
    (("--array", "-a"), {"metavar": "TASKS", "help": "One job per task: 0-9, 1,3,5, 0-99%4."}),
    (("--dependency", "-d"), {"metavar": "WHEN", "help": "Start after others: afterok:41."}),
    (("--constraint", "-C"), {"metavar": "FEATURES", "help": "Only nodes with these features."}),
    (
        ("--env",),
        {"multiple": True, "metavar": "KEY=VALUE", "help": "Set a variable. May be repeated."},
    ),
    (("--workdir", "-D"), {"metavar": "DIR", "help": "Where it runs, on the cluster."}),
    (("--output", "-o"), {"metavar": "FILE", "help": "Where its output goes. [job_%j.out]"}),
    (("--error", "-e"), {"metavar": "FILE", "help": "Where its errors go, if elsewhere."}),
    (("--begin", "-b"), {"metavar": "WHEN", "help": "Not before: now+1hour, 2026-05-14T20:00."}),
    (("--hold",), {"is_flag": True, "default": None, "help": "Submit it held."}),
    (("--exclusive",), {"is_flag": True, "default": None, "help": "Share its nodes with nobody."}),
    (("--comment",), {"metavar": "TEXT", "help": "A remark kept with the job."}),
    (
        ("--idempotency-key", "key"),
        {
            "metavar": "KEY",
            "help": "Name this submission: repeated with the same key it makes no second job.",
        },
    ),
)


def asking_options(function: F) -> F:
    for names, settings in reversed(_ASKING):
        click.option(*names, **settings)(function)
    return function


def submission(script: str, asked: dict[str, Any]) -> SubmitJob:
    """Return the request; what nobody asked for is left to the script and to Slurm."""
    env = variables(asked.pop("env"))
    return SubmitJob(script=script, env=env or None, **asked)


def variables(said: Iterable[str]) -> dict[str, str]:
    """Read what was said with `--env`."""
    return dict(_variable(each) for each in said)


def _variable(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise click.BadParameter(
            f"{text!r} is not KEY=VALUE, such as OMP_NUM_THREADS=4.", param_hint="--env"
        )
    return key, value
