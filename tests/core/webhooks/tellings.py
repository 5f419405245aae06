"""Things to tell. Every builder makes a plausible one; a test names only what it is about."""

from datetime import UTC, datetime, timedelta
from typing import Any

from clusterra.core.webhooks.telling import JobContext, Place, Telling

NIGHT = datetime(2026, 11, 15, 20, 44, 7, tzinfo=UTC)
"""02:14 in Mumbai, on the next day."""

MUMBAI = Place(console="https://hpc.lab.example", zone="Asia/Kolkata", workspace="lab")
ALIGN = {"job_id": 41, "label": "41", "name": "align", "user": "ana", "partition": "main"}
HOSTILE = (
    "<!channel> @here *bold* _it_ ~s~ `code` [click](javascript:alert(1)) <@U123> {{DATE(x)}}"
    " \u202egnp.exe\r\nBcc: eve@evil.example\x00<b>&amp;</b>"
)


def a_telling(type: str = "job.completed", **facts: Any) -> Telling:
    given: dict[str, Any] = {
        "id": "0199a3c4-7e1d-8000-8000-000000000041",
        "type": type,
        "ledger": "clus1a2b",
        "cluster": "helix",
        "subject": "job/41",
        "actor": "system:slurm",
        "at": NIGHT,
        "data": ALIGN,
    }
    return Telling(**(given | facts))


def started() -> Telling:
    return a_telling(
        "job.started",
        data=ALIGN | {"nodes": "general-medium-[2-3]", "waited_seconds": 38, "state": "RUNNING"},
        job=JobContext(cost_micros=0, usd_per_hour_micros=190_000),
    )


def failed() -> Telling:
    return a_telling(
        "job.out_of_memory",
        data=ALIGN | {"nodes": "general-medium-2", "ran_seconds": 124, "state": "OUT_OF_MEMORY"},
        job=JobContext(
            cost_micros=1_310_000,
            is_final=True,
            waited_seconds=38,
            cause="Asked 8 GiB, used 7.9 GiB.",
            advice="Retry suggested: 12 GiB.",
            last_lines=("loading reads.fa", "  \x1b[31mKilled\x1b[0m process 4711 (bwa)"),
        ),
    )


def completed() -> Telling:
    return a_telling(
        data=ALIGN | {"nodes": "general-medium-2", "ran_seconds": 15_120, "state": "COMPLETED"},
        job=JobContext(
            cost_micros=142_000_000, is_final=True, artifacts=("s3://lab-results/41/out.bam",)
        ),
    )


def array() -> list[Telling]:
    """Fifty tasks of one array, three of which failed."""
    return [
        a_telling(
            "job.failed" if task in (7, 19, 31) else "job.completed",
            id=f"e{task}",
            subject=f"job/{100 + task}",
            at=NIGHT + timedelta(seconds=task),
            data={
                "job_id": 100 + task,
                "label": f"43_{task}",
                "name": "sweep",
                "user": "ana",
                "array_id": 43,
                "array_task": task,
                "ran_seconds": 60,
            },
            job=JobContext(cost_micros=20_000, is_final=True),
        )
        for task in range(50)
    ]


def burst() -> list[Telling]:
    """An array, jobs of several people that failed, and a worker that is down."""
    failures = [
        a_telling(
            "job.failed",
            id=f"f{number}",
            subject=f"job/{number}",
            data=ALIGN
            | {
                "job_id": number,
                "label": str(number),
                "nodes": "w1",
                "ran_seconds": 9,
                "exit_code": 3,
            },
        )
        for number in range(60, 72)
    ]
    return [*array()[:20], *failures, node()]


def quota() -> Telling:
    return a_telling(
        "user.quota.exceeded",
        ledger="workspaces/lab",
        cluster="",
        subject="user/ana@lab.example",
        actor="system:meter",
        data={
            "user": "ana@lab.example",
            "used": "50.30",
            "limit": "50.00",
            "currency": "USD",
            "period": "2026-11",
        },
    )


def node() -> Telling:
    return a_telling(
        "node.down", subject="node/w1", data={"node": "w1", "reason": "not responding"}
    )


def hostile() -> Telling:
    data = ALIGN | {"name": HOSTILE, "user": HOSTILE, "nodes": "w1", "ran_seconds": 1}
    return a_telling(
        "job.failed",
        cluster=HOSTILE,
        actor=f"user:{HOSTILE}",
        data=data | {"exit_code": 1, "partition": "x" * 65_536},
        job=JobContext(cause=HOSTILE, advice=HOSTILE, last_lines=(HOSTILE, "```end")),
    )
