"""A long queue made from one recorded job.

The recording is a real reply of slurmrestd 26.05. Other sites' jobs are larger than
those of a small test cluster: they run on machines with many cores, each listed in
`job_resources`, and come from long command lines. So each job is grown to about
eight kilobytes that way, and a few dozen kinds of it differ in what people search
for: owner, state, size, name.

All ids have seven digits and all times ten, so that the length of a whole list is
known before any of it is written, as slurmrestd's Content-Length needs.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

RECORDINGS = Path(__file__).parent / "recordings"
VERSION = "v0.0.45"
"""The API version the recordings were made with."""

FIRST_ID = 1_000_001
NEWEST = 1_794_780_000
APART = 7
"""Seconds between two submissions."""

_ID, _TIME = b"9999999", b"9999999999"

_NAMES = ("relax-slab", "train-resnet", "align-genome", "md-production", "wing-cfd")
_CPUS = (1, 2, 4, 8, 16, 32, 64)
_BUSY = ("COMPLETED",) * 11 + ("PENDING",) * 5 + ("FAILED", "CANCELLED", "TIMEOUT", "RUNNING")
_IDLE = ("COMPLETED",) * 16 + ("FAILED",) * 2 + ("CANCELLED", "TIMEOUT")
_ARGUMENT = "--export=NONE "
_KINDS = 420
"""Every state (20) with every size (7), three times, with people and names going around beside."""


def recording(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RECORDINGS / f"{name}.json").read_bytes())
    return found


def compact(value: object) -> bytes:
    """Write JSON as slurmrestd does: without spaces, slashes escaped."""
    return json.dumps(value, separators=(",", ":")).encode().replace(b"/", rb"\/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """A queue of any length, rendered when it is asked for."""

    jobs: int
    job_bytes: int
    idle: bool = False
    """Nothing waits and nothing runs: every job has ended."""

    _kinds: list[bytes] = field(default_factory=list)
    _states: list[str] = field(default_factory=list)
    _frame: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        reply = recording("job")
        [template] = reply["jobs"]
        states = _IDLE if self.idle else _BUSY
        for kind in range(_KINDS):
            state = states[kind % len(states)]
            self._states.append(state)
            self._kinds.append(_grown(_dressed(template, kind, state), self.job_bytes))
        rest = compact({name: value for name, value in reply.items() if name != "jobs"})
        self._frame.extend((b'{"jobs":[', b"]," + rest[1:]))

    def length(self) -> int:
        """Return how many bytes `reply` comes to."""
        whole, part = divmod(self.jobs, _KINDS)
        kinds = [len(each) for each in self._kinds]
        bodies = whole * sum(kinds) + sum(kinds[:part])
        return sum(map(len, self._frame)) + bodies + max(0, self.jobs - 1)

    def reply(self, at_once: int = 64) -> Iterator[bytes]:
        """Yield the list of all jobs, some jobs at a time."""
        head, tail = self._frame
        yield head
        for start in range(0, self.jobs, at_once):
            part = b",".join(map(self.job, range(start, min(start + at_once, self.jobs))))
            yield b"," + part if start else part
        yield tail

    def job(self, index: int) -> bytes:
        body = self._kinds[index % _KINDS]
        born = NEWEST - (self.jobs - index) * APART
        return body.replace(_TIME, b"%d" % born).replace(_ID, b"%d" % (FIRST_ID + index))

    def one(self, id: int) -> bytes | None:
        """Return the reply for one job; None if there is none."""
        index = id - FIRST_ID
        if not 0 <= index < self.jobs:
            return None
        return self._frame[0] + self.job(index) + self._frame[1]

    def states(self) -> bytes:
        """Return the short list: every job's id and state."""
        entries = b",".join(
            b'{"job_id":"%d","state":["%s"]}'
            % (FIRST_ID + index, self._states[index % _KINDS].encode())
            for index in range(self.jobs)
        )
        return self._frame[0] + entries + self._frame[1]


def _dressed(template: dict[str, Any], kind: int, state: str) -> dict[str, Any]:
    """Return one kind of job: whose it is, what it wants, how far it got."""
    cpus = _CPUS[kind % len(_CPUS)]
    user = f"user{kind % 41:02}"
    name = _NAMES[kind // 7 % len(_NAMES)]
    started = state != "PENDING"
    wanted = f"cpu={cpus},mem={cpus * 4}G,node=1,billing={cpus}"
    time, never = _figure(int(_TIME)), _figure(0)
    home = f"/home/{user}"
    failed = state == "FAILED"
    return template | {
        "account": f"lab{kind % 11:02}",
        "command": f"{home}/projects/{name}/submit.sh",
        "cpus": _figure(cpus),
        "current_working_directory": f"{home}/projects",
        "eligible_time": time,
        "end_time": time if started else never,
        "exit_code": {
            "status": ["ERROR" if failed else "SUCCESS"],
            "return_code": _figure(1 if failed else 0),
            "signal": {"id": _figure(0) | {"set": False}, "name": ""},
        },
        "job_id": int(_ID),
        "job_resources": _resources(cpus) if started else None,
        "job_state": [state],
        "name": f"{name}-{_ID.decode()}",
        "nodes": f"n{kind % 100:04}" if started else "",
        "start_time": time if started else never,
        "state_reason": "None" if started else "Resources",
        "standard_output": f"{home}/run-%j.log",
        "stdout_expanded": f"{home}/run-{_ID.decode()}.log",
        "step_id": template["step_id"] | {"job_id": _figure(int(_ID))},
        "submit_time": time,
        "tres_alloc_str": wanted if started else "",
        "tres_req_str": wanted,
        "user_name": user,
    }


def _figure(number: int) -> dict[str, Any]:
    return {"set": True, "infinite": False, "number": number}


def _resources(cpus: int) -> dict[str, Any]:
    """A machine of two sockets with sixteen cores each, as `job_resources` lists it."""
    sockets = [
        {
            "index": socket,
            "cores": [
                {
                    "index": core,
                    "status": ["ALLOCATED" if socket * 16 + core < cpus else "UNALLOCATED"],
                }
                for core in range(16)
            ],
        }
        for socket in range(2)
    ]
    node = {
        "index": 0,
        "name": "n0001",
        "cpus": {"count": cpus, "used": 0},
        "memory": {"used": 0, "allocated": cpus * 4096},
        "sockets": sockets,
    }
    return {
        "select_type": ["CR_CPU_MEMORY"],
        "nodes": {
            "count": 1,
            "select_type": ["ONE_ROW"],
            "list": "n0001",
            "whole": False,
            "allocation": [node],
        },
        "cpus": cpus,
        "threads_per_core": _figure(0) | {"set": False},
    }


def _grown(job: dict[str, Any], size: int) -> bytes:
    """Write the job, its command line grown until the job has the size wanted."""
    missing = max(0, size - len(compact(job)))
    line = "sbatch " + _ARGUMENT * (missing // len(_ARGUMENT))
    return compact(job | {"submit_line": line})
