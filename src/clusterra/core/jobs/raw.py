"""The raw body of slurmrestd, `{"script": …, "job": {…}}`, as somebody's program sends it.

It passes on whatever slurmrestd understands, and its `#SBATCH` lines are not
read, as slurmrestd does not. What is checked is what slurmrestd gets wrong,
measured on 24.11 and 26.05: it takes 70,000 CPUs per task for 4,464, a negative
time limit for none at all, and -4 tasks for one; a value of the wrong type can
be answered with 200 and no job; and an unknown word in `mail_type` or `flags`
is answered with 500 although the job was made.
"""

import re
from collections.abc import Mapping
from typing import Any

from clusterra.core.errors import Forbidden, Invalid, Refused
from clusterra.core.jobs import comment
from clusterra.core.jobs.environment import RUN_ID, checked, environment
from clusterra.core.jobs.notation import SMALL, Ask, array, count, dependency, node_count, text
from clusterra.core.jobs.places import places
from clusterra.core.jobs.request import JobRequest
from clusterra.core.jobs.script import check_script
from clusterra.core.jobs.wish import unknown_field
from clusterra.core.quote import shown
from clusterra.core.units import LARGEST


def _names(written: str) -> frozenset[str]:
    return frozenset(written.split())


_TEXTS = _names(
    """account account_gather_frequency admin_comment batch_features burst_buffer comment
    constraints container container_id cpu_frequency cpus_per_tres current_working_directory
    distribution extra licenses mail_user mcs_label memory_per_tres name network partition prefer
    qos reservation standard_error standard_input standard_output tres_bind tres_freq tres_per_job
    tres_per_node tres_per_socket tres_per_task wckey"""
)
_PATHS = _names("current_working_directory standard_error standard_input standard_output container")
_SWITCHES = _names(
    "contiguous hold immediate kill_on_node_fail overcommit reboot requeue wait_all_nodes"
)
_COUNTS = {
    "cpus_per_task": (1, SMALL),
    "maximum_cpus": (1, LARGEST),
    "maximum_nodes": (1, LARGEST),
    "memory_per_cpu": (0, LARGEST),
    "memory_per_node": (0, LARGEST),
    "minimum_cpus": (1, LARGEST),
    "minimum_cpus_per_node": (1, SMALL),
    "minimum_nodes": (1, LARGEST),
    "nice": (-LARGEST + 2, LARGEST),
    "ntasks_per_tres": (1, SMALL),
    "priority": (0, LARGEST),
    "sockets_per_node": (1, SMALL),
    "tasks": (1, LARGEST),
    "tasks_per_core": (1, SMALL),
    "tasks_per_node": (1, SMALL),
    "tasks_per_socket": (1, SMALL),
    "temporary_disk_per_node": (0, LARGEST),
    "threads_per_core": (1, SMALL),
    "time_limit": (0, LARGEST),
    "time_minimum": (0, LARGEST),
}
_WORDS = {
    "mail_type": """BEGIN END FAIL REQUEUE TIME=100% TIME=90% TIME=80% TIME=50% STAGE_OUT
        ARRAY_TASKS INVALID_DEPENDENCY""",
    "open_mode": "APPEND TRUNCATE",
    "profile": "NOT_SET NONE ENERGY LUSTRE NETWORK TASK",
    "shared": "none oversubscribe user mcs topo",
    "kill_warning_flags": """BATCH_JOB ARRAY_TASK FULL_STEPS_ONLY FULL_JOB FEDERATION_REQUEUE HURRY
        OUT_OF_MEMORY NO_SIBLING_JOBS RESERVATION_JOB VERBOSE CRON_JOBS WARNING_SENT""",
    "flags": """KILL_INVALID_DEPENDENCY NO_KILL_INVALID_DEPENDENCY HAS_STATE_DIRECTORY
        TESTING_BACKFILL GRES_BINDING_ENFORCED TEST_NOW_ONLY SEND_JOB_ENVIRONMENT SPREAD_JOB
        PREFER_MINIMUM_NODE_COUNT JOB_KILL_HURRY SKIP_TRES_STRING_ACCOUNTING
        SIBLING_CLUSTER_UPDATE_ONLY HETEROGENEOUS_JOB EXACT_TASK_COUNT_REQUESTED
        EXACT_CPU_COUNT_REQUESTED TESTING_WHOLE_NODE_BACKFILL TOP_PRIORITY_JOB ACCRUE_COUNT_CLEARED
        GRES_BINDING_DISABLED JOB_WAS_RUNNING JOB_ACCRUE_TIME_RESET CRON_JOB
        EXACT_MEMORY_REQUESTED EXTERNAL_JOB USING_DEFAULT_ACCOUNT USING_DEFAULT_PARTITION
        USING_DEFAULT_QOS USING_DEFAULT_WCKEY DEPENDENT MAGNETIC PARTITION_ASSIGNED
        BACKFILL_ATTEMPTED SCHEDULING_ATTEMPTED STEPMGR_ENABLED SPREAD_SEGMENTS
        CONSOLIDATE_SEGMENTS EXPEDITED_REQUEUE""",
}
_IDENTITY = _names("user_id group_id user_name group_name user group uid gid")


def is_raw(body: Mapping[str, Any]) -> bool:
    """Say whether this is slurmrestd's own body, rather than the friendly one."""
    return "job" in body or "jobs" in body


def compose_raw(
    body: Mapping[str, Any],
    *,
    home: str,
    user: str,
    run_id: str,
    given: Mapping[str, str] | None = None,
    max_array: int | None = None,
) -> JobRequest:
    """Make the request for Slurm of a body made for slurmrestd."""
    job = _job_of(body)
    script = _script_of(body, job)
    found: dict[str, Any] = {
        name: _checked(name, value, max_array)
        for name, value in job.items()
        if value is not None and name not in {"script", "environment"}
    }
    found |= {"name": found.get("name") or "job"} | places(found, home=home)
    if found.get("hold"):
        # Slurm starts a held job that has a priority.
        found.pop("priority", None)
    found["comment"] = comment.stamp(comment.Mark(run_id=run_id, note=found.get("comment", "")))
    if len(found["comment"].encode()) > comment.LONGEST:
        raise _wrong("comment", "is too long for Slurm", "Shorten it to 900 characters or so.")
    found["environment"] = _environment_of(job, run_id, given or {}) or environment(
        home=home,
        user=user,
        run_id=run_id,
        submitted_from=found["current_working_directory"],
        properties=found,
        given=given,
    )
    return JobRequest(script=script, properties=found)


def _job_of(body: Mapping[str, Any]) -> Mapping[str, Any]:
    if body.get("jobs") is not None:
        raise Refused(
            "This is a job of several different parts (jobs), which cannot be submitted here.",
            hint="Submit each part on its own as job, joined by dependency.",
            code="het-job",
            at="jobs",
        )
    for name in body:
        if name in _IDENTITY:
            raise _identity(name)
        if name not in {"script", "job", "jobs"}:
            raise unknown_field(name, ("script", "job"))
    job = body.get("job")
    if not isinstance(job, Mapping):
        raise Invalid(
            f"job must be an object, got {shown(job)}.",
            hint='Send {"script": "#!/bin/bash…", "job": {"name": "…"}}.',
            at="job",
        )
    for name in job:
        if name in _IDENTITY:
            raise _identity(name)
    return job


def _identity(name: str) -> Forbidden:
    return Forbidden(
        f"{name} cannot be chosen: who a job belongs to follows from the token.",
        hint=f"Leave {name} out.",
        code="identity-not-yours",
        at=name,
    )


def _script_of(body: Mapping[str, Any], job: Mapping[str, Any]) -> str:
    script = body.get("script")
    # Before v0.0.41 the script stood inside the job.
    script = job.get("script", "") if script is None else script
    if not isinstance(script, str):
        raise Invalid(
            f"script must be text, got {shown(script)}.",
            hint="Send the batch script itself.",
            at="script",
        )
    check_script(script)
    return script


def _checked(name: str, value: Any, max_array: int | None) -> Any:
    if name == "nodes":
        return node_count(_ask(name, _number_as_text(name, value)))
    if name in {"array", "dependency"} | _TEXTS:
        ask = _ask(name, _typed(name, value, str, "text"))
        if name == "array":
            return array(ask, max_array=max_array)
        if name == "dependency":
            return dependency(ask) if ask.text else ""
        return _plain(ask)
    if name in _SWITCHES:
        return _typed(name, value, bool, "true or false")
    if name in _COUNTS:
        return _count(name, value)
    if name in _WORDS:
        return _words(name, value)
    return value


def _plain(ask: Ask) -> str:
    written = text(ask, longest=4096 if ask.option in _PATHS else 1024)
    if ask.option == "current_working_directory" and not written.startswith("/"):
        raise _wrong(
            ask.option, f"must be an absolute path, not {shown(written)}", "Begin it with a slash."
        )
    return written


def _ask(name: str, value: str) -> Ask:
    return Ask(option=name, value=value, at=name, said=name)


def _wrong(name: str, what: str, hint: str) -> Invalid:
    return Invalid(f"{name} {what}.", hint=hint, at=name)


def _typed(name: str, value: Any, kind: type, called: str) -> Any:
    if type(value) is not kind:
        raise _wrong(name, f"must be {called}, got {shown(value)}", f"Send it as {called}.")
    return value


def _number_as_text(name: str, value: Any) -> str:
    if type(value) is int:
        return str(value)
    written: str = _typed(name, value, str, "text or a whole number")
    return written


def _count(name: str, value: Any) -> Any:
    """Check a number in any of the shapes slurmrestd takes: 4, "4", {"set": true, "number": 4}."""
    least, most = _COUNTS[name]
    if not isinstance(value, Mapping):
        return count(_ask(name, _number_as_text(name, value)), least=least, most=most)
    if value.get("infinite") or not value.get("set", True):
        return dict(value)
    number = _number_as_text(name, value.get("number"))
    return dict(value) | {"number": count(_ask(name, number), least=least, most=most)}


def _words(name: str, value: Any) -> list[str]:
    known = _WORDS[name].split()
    written = value.split(",") if isinstance(value, str) else value
    for word in _typed(name, written, list, "a list of words"):
        if word not in known:
            raise _wrong(name, f"cannot hold {shown(word)}", f"It can hold {', '.join(known)}.")
    return list(written)


def _environment_of(job: Mapping[str, Any], run_id: str, given: Mapping[str, str]) -> list[str]:
    """Return the environment that was sent, with what is ours in it; empty if none was."""
    sent = job.get("environment")
    if not sent:
        return []
    if isinstance(sent, Mapping):
        pairs = {name: _typed("environment", value, str, "text") for name, value in sent.items()}
    elif isinstance(sent, list) and all(
        isinstance(line, str) and re.match(r"[^=]+=", line) for line in sent
    ):
        pairs = {name: value for name, _, value in (line.partition("=") for line in sent)}
    else:
        raise _wrong(
            "environment",
            f'must be a list of "NAME=value", got {shown(sent)}',
            'Send ["PATH=/usr/bin:/bin"], or leave it out for a plain login environment.',
        )
    variables = {**given, **checked(pairs, at="environment"), RUN_ID: run_id}
    return [f"{name}={value}" for name, value in variables.items()]
