"""A job in rows: one to be found by, and one that holds all of it."""

import sqlite3
from typing import Any

import msgspec

from clusterra.core.jobs.job import Job
from clusterra.core.jobs.query import searched, seconds

_encode = msgspec.json.Encoder().encode

_COLUMNS = (
    *("cluster", "id", "born", "live", "state", "name", "user", "account", "partition", "qos"),
    *("reason", "nodes", "run", "array", "task", "cpus", "gpus", "memory", "priority", "exit"),
    *("restarts", "submitted", "started", "ended", "searched"),
)
_PUT_JOB = (
    f"insert into job ({', '.join(_COLUMNS)})"  # noqa: S608
    f" values ({', '.join('?' * len(_COLUMNS))})"
    " on conflict (cluster, id, born) do update set "
    + ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS[3:])
    + " returning key"
)
_GET_BODY = (
    "select body from job join job_body using (key) where cluster = ? and id = ? and born = ?"
)
_PUT_BODY = "insert into job_body values (?, ?) on conflict do update set body = excluded.body"


def put_job(db: sqlite3.Connection, cluster: str, job: Job) -> bool:
    """Write a job unless it is there as it is; say whether it was written.

    What is looked at again is mostly as it was, and a transaction that changes nothing
    costs no sync to disk.
    """
    body = _encode(job)
    if db.execute(_GET_BODY, (cluster, *job.key)).fetchone() == (body,):
        return False
    [key] = db.execute(_PUT_JOB, _columns(cluster, job)).fetchone()
    db.execute(_PUT_BODY, (key, body))
    return True


def _columns(cluster: str, job: Job) -> tuple[Any, ...]:
    return (
        cluster,
        *job.key,
        not job.state.ended,
        job.state.value.lower(),
        job.name.lower(),
        job.user.lower(),
        job.account.lower(),
        job.partition.lower(),
        job.qos.lower(),
        job.reason.lower(),
        job.nodes.lower(),
        job.run_id,
        job.array_id,
        job.array_task,
        job.cpus,
        job.gpus,
        job.memory_mib,
        job.priority,
        job.exit_code,
        job.restarts,
        seconds(job.submitted_at),
        seconds(job.started_at),
        seconds(job.ended_at),
        searched(job),
    )
