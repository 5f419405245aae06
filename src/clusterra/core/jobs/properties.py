"""What sbatch's options are called by slurmrestd.

Every line here was checked by submitting a held job both ways, with sbatch and
through slurmrestd v0.0.42 (Slurm 24.11), v0.0.44 and v0.0.45 (26.05), and
comparing the two jobs; `tests/core/test_properties.py` keeps the table.

Reading scripts is in `script.py`; defaults and precedence are in `compose.py`.
"""

import math
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from clusterra.core.jobs.notation import (
    SMALL,
    Ask,
    array,
    choice,
    count,
    dependency,
    hosts,
    moment,
    node_count,
    signal,
    text,
)
from clusterra.core.jobs.options import IGNORED
from clusterra.core.jobs.tres import (
    Properties,
    cpus_per_task,
    gpus,
    gres,
    implied,
    per_task,
    prefixed,
    tres_per_task,
)
from clusterra.core.quote import shown
from clusterra.core.units import LARGEST, clock_seconds, parse_memory_mib, parse_time_limit

_PATH = 4096
_TEXTS = {
    "account": "account",
    "acctg-freq": "account_gather_frequency",
    "batch": "batch_features",
    "bb": "burst_buffer",
    "chdir": "current_working_directory",
    "cluster-constraint": "cluster_constraint",
    "comment": "comment",
    "constraint": "constraints",
    "container": "container",
    "container-id": "container_id",
    "context": "selinux_context",
    "cpu-freq": "cpu_frequency",
    "distribution": "distribution",
    "error": "standard_error",
    "extra": "extra",
    "input": "standard_input",
    "job-name": "name",
    "licenses": "licenses",
    "mail-user": "mail_user",
    "mcs-label": "mcs_label",
    "network": "network",
    "output": "standard_output",
    "partition": "partition",
    "prefer": "prefer",
    "qos": "qos",
    "reservation": "reservation",
    "tres-bind": "tres_bind",
    "wckey": "wckey",
}
_PATHS = {"chdir", "container", "error", "input", "output"}
_COUNTS = {
    "core-spec": ("core_specification", 0, SMALL),
    "cores-per-socket": ("cores_per_socket", 1, SMALL),
    "mincpus": ("minimum_cpus_per_node", 1, SMALL),
    "ntasks": ("tasks", 1, LARGEST),
    "ntasks-per-core": ("tasks_per_core", 1, SMALL),
    "ntasks-per-gpu": ("ntasks_per_tres", 1, SMALL),
    "ntasks-per-node": ("tasks_per_node", 1, SMALL),
    "ntasks-per-socket": ("tasks_per_socket", 1, SMALL),
    "sockets-per-node": ("sockets_per_node", 1, SMALL),
    "thread-spec": ("thread_specification", 0, SMALL),
    "threads-per-core": ("threads_per_core", 1, SMALL),
}
_SWITCHES: dict[str, Properties] = {
    "contiguous": {"contiguous": True},
    "hold": {"hold": True},
    "no-requeue": {"requeue": False},
    "overcommit": {"overcommit": True},
    "oversubscribe": {"shared": ["oversubscribe"]},
    "reboot": {"reboot": True},
    "spread-job": {"flags": ["SPREAD_JOB"]},
    "stepmgr": {"flags": ["STEPMGR_ENABLED"]},
    "use-min-nodes": {"flags": ["PREFER_MINIMUM_NODE_COUNT"]},
}
_CHOICES: dict[str, dict[str, Properties]] = {
    "exclusive": {
        "": {"shared": ["none"]},
        "user": {"shared": ["user"]},
        "mcs": {"shared": ["mcs"]},
        "topo": {"shared": ["topo"]},
    },
    "hint": {
        "nomultithread": {"threads_per_core": 1},
        "compute_bound": {"threads_per_core": 1},
        "memory_bound": {"threads_per_core": 1, "cores_per_socket": 1},
        "multithread": {},
    },
    "kill-on-invalid-dep": {
        "yes": {"flags": ["KILL_INVALID_DEPENDENCY"]},
        "no": {"flags": ["NO_KILL_INVALID_DEPENDENCY"]},
    },
    "no-kill": {"": {"kill_on_node_fail": False}, "off": {"kill_on_node_fail": True}},
    "oom-kill-step": {
        "": {"oom_kill_step": 1},
        "1": {"oom_kill_step": 1},
        "0": {"oom_kill_step": 0},
    },
    "open-mode": {
        "append": {"open_mode": ["APPEND"]},
        "a": {"open_mode": ["APPEND"]},
        "truncate": {"open_mode": ["TRUNCATE"]},
        "t": {"open_mode": ["TRUNCATE"]},
    },
    "requeue": {"": {"requeue": True}},
    "wait-all-nodes": {"0": {"wait_all_nodes": False}, "1": {"wait_all_nodes": True}},
}
_MAIL = {
    "begin": ["BEGIN"],
    "end": ["END"],
    "fail": ["FAIL"],
    "requeue": ["REQUEUE"],
    "stage_out": ["STAGE_OUT"],
    "invalid_depend": ["INVALID_DEPENDENCY"],
    "array_tasks": ["ARRAY_TASKS"],
    "time_limit": ["TIME=100%"],
    "time_limit_90": ["TIME=90%"],
    "time_limit_80": ["TIME=80%"],
    "time_limit_50": ["TIME=50%"],
    "all": ["BEGIN", "END", "FAIL", "REQUEUE", "STAGE_OUT", "INVALID_DEPENDENCY"],
}
_PROFILES = {
    "energy": ["ENERGY"],
    "lustre": ["LUSTRE"],
    "network": ["NETWORK"],
    "task": ["TASK"],
    "all": ["ENERGY", "LUSTRE", "NETWORK", "TASK"],
}
_GRES_FLAGS = {
    "enforce-binding": ["GRES_BINDING_ENFORCED"],
    "disable-binding": ["GRES_BINDING_DISABLED"],
}


def properties(asks: Iterable[Ask], *, now: datetime, max_array: int | None = None) -> Properties:
    """Translate what was asked for; Invalid names what is wrong with which of them."""
    found: Properties = {}
    # The geometry comes first: the number of tasks it implies gives way to --ntasks.
    for ask in sorted(asks, key=lambda ask: ask.option != "extra-node-info"):
        if ask.option == "array":
            part: Properties = {"array": array(ask, max_array=max_array)}
        elif ask.option == "begin":
            when = moment(ask, now=now)
            part = {"begin_time": when if isinstance(when, str) else _number(when)}
        elif ask.option == "deadline":
            part = {"deadline": moment(ask, now=now)}
        else:
            part = _translated(ask)
        for name, value in part.items():
            found[name] = _joined(found.get(name), value) if name in _ADDED_UP else value
    return found | implied(found)


_ADDED_UP = {"flags", "tres_per_node", "tres_per_task"}


def _joined(old: Any, new: Any) -> Any:
    if old is None:
        return new
    return [*old, *new] if isinstance(new, list) else f"{old},{new}"


def _translated(ask: Ask) -> Properties:
    if ask.option in _TEXTS:
        written = text(ask, longest=_PATH if ask.option in _PATHS else 1024)
        return {_TEXTS[ask.option]: written} if written else {}
    if ask.option in _COUNTS:
        name, least, most = _COUNTS[ask.option]
        return {name: count(ask, least=least, most=most)}
    if ask.option in _SWITCHES:
        return dict(_SWITCHES[ask.option])
    if ask.option in _CHOICES:
        chosen: Properties = choice(ask, _CHOICES[ask.option])
        return chosen
    if ask.option in IGNORED or ask.option == "export":
        return {}
    return _OTHERS[ask.option](ask)


def _number(number: int) -> Properties:
    return {"set": True, "number": number}


def _time_limit(ask: Ask) -> Properties:
    # To sbatch no time at all means no limit; as a wish of its own it is refused before this.
    unlimited = clock_seconds(ask.text.strip()) == 0
    minutes = None if unlimited else parse_time_limit(ask.text, at=ask.at)
    return {"set": True, "infinite": True} if minutes is None else _number(minutes)


def _memory(ask: Ask) -> int:
    return parse_memory_mib(ask.text, at=ask.at)


def _words(ask: Ask, words: dict[str, list[str]]) -> list[str]:
    if ask.text.strip().lower() == "none":
        return []
    found = [
        name
        for part in ask.text.split(",")
        for name in choice(Ask(option=ask.option, value=part, at=ask.at, said=ask.said), words)
    ]
    return list(dict.fromkeys(found))


def _geometry(ask: Ask) -> Properties:
    """Read `sockets[:cores[:threads]]`, where * leaves one open."""
    names = ("sockets_per_node", "cores_per_socket", "threads_per_core")
    parts = ask.text.split(":")
    if len(parts) > len(names):
        raise ask.wrong(
            f"cannot be {shown(ask.text)}.", "Write sockets:cores:threads, such as 2:16:1."
        )
    numbers = {
        name: count(Ask(option=ask.option, value=part, at=ask.at, said=ask.said), most=SMALL)
        for name, part in zip(names, parts, strict=False)
        if part != "*"
    }
    return numbers | ({"tasks": math.prod(numbers.values())} if len(parts) > 1 else {})


def _switches(ask: Ask) -> Properties:
    number, at_sign, longest = ask.text.partition("@")
    most = count(Ask(option=ask.option, value=number, at=ask.at, said=ask.said))
    if not at_sign:
        return {"required_switches": _number(most)}
    return {"required_switches": _number(most), "wait_for_switch": _seconds(ask, longest)}


def _seconds(ask: Ask, written: str) -> int:
    seconds = clock_seconds(written)
    if seconds is None or seconds > LARGEST:
        raise ask.wrong(
            f"cannot wait {shown(written)}.", "Write minutes (90) or h:mm:ss (1:30:00)."
        )
    return seconds


def _nice(ask: Ask) -> Properties:
    # 100 is what sbatch takes --nice without a number to mean.
    return {"nice": 100 if ask.value is None else count(ask, least=-LARGEST + 2)}


_OTHERS: dict[str, Callable[[Ask], Properties]] = {
    "cpus-per-task": cpus_per_task,
    "cpus-per-gpu": lambda ask: {"cpus_per_tres": f"gres/gpu:{count(ask)}"},
    "delay-boot": lambda ask: {"delay_boot": _seconds(ask, ask.text)},
    "dependency": lambda ask: {"dependency": dependency(ask)},
    "exclude": lambda ask: {"excluded_nodes": hosts(ask)},
    "extra-node-info": _geometry,
    "gpu-bind": lambda ask: {"tres_bind": prefixed("gres/gpu:", text(ask))},
    "gpu-freq": lambda ask: {"tres_freq": prefixed("gpu:", text(ask))},
    "gpus": lambda ask: {"tres_per_job": gpus(ask)},
    "gpus-per-node": lambda ask: {"tres_per_node": gpus(ask)},
    "gpus-per-socket": lambda ask: {"tres_per_socket": gpus(ask)},
    "gpus-per-task": lambda ask: {"tres_per_task": per_task(gpus(ask))},
    "gres": gres,
    "gres-flags": lambda ask: {"flags": _words(ask, _GRES_FLAGS)},
    "mail-type": lambda ask: {"mail_type": _words(ask, _MAIL)},
    "mem": lambda ask: {"memory_per_node": _number(_memory(ask))},
    "mem-per-cpu": lambda ask: {"memory_per_cpu": _number(_memory(ask))},
    "mem-per-gpu": lambda ask: {"memory_per_tres": f"gres/gpu:{_memory(ask)}"},
    "nice": _nice,
    "nodelist": lambda ask: {"required_nodes": hosts(ask)},
    "nodes": lambda ask: {"nodes": node_count(ask)},
    "priority": lambda ask: {"priority": _number(count(ask))},
    "profile": lambda ask: {"profile": _words(ask, _PROFILES) or ["NONE"]},
    "segment": lambda ask: {"segment_size": _number(count(ask, most=SMALL))},
    "signal": signal,
    "switches": _switches,
    "time": lambda ask: {"time_limit": _time_limit(ask)},
    "time-min": lambda ask: {"time_minimum": _time_limit(ask)},
    "tmp": lambda ask: {"temporary_disk_per_node": _memory(ask)},
    "tres-per-task": tres_per_task,
}
