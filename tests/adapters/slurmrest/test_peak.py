"""What accounting says a job used, read from its steps."""

from typing import Any

import msgspec
import pytest

from clusterra.adapters.slurmrest import SlurmRest
from clusterra.adapters.slurmrest.decode import read_list
from clusterra.adapters.slurmrest.peak import SteppedJob, peak_memory_mib
from tests.adapters.slurmrest.replay import FakeSlurmrestd, says
from tests.adapters.slurmrest.test_stamp import with_slurm

MIB = 1 << 20


def row(*counts: Any, id: int = 41) -> dict[str, Any]:
    """Return a job with a step for each amount of memory."""
    steps = [
        {
            "state": ["COMPLETED"],
            "tres": {
                "requested": {
                    "max": [{"type": "mem", "name": "", "count": 1, "task": 0, "node": "w1"}],
                    "total": [
                        {"type": "cpu", "name": "", "id": 1, "count": 430},
                        {"type": "mem", "name": "", "id": 2, "count": count},
                    ],
                }
            },
        }
        for count in counts
    ]
    return {"job_id": id, "steps": steps}


def peak(*rows: dict[str, Any]) -> int | None:
    return peak_memory_mib(read_list(msgspec.json.encode(rows), SteppedJob))


@pytest.mark.parametrize(
    ("counts", "mib"),
    [
        ((164_249_600,), 157),
        ((MIB, 3 * MIB, 2 * MIB), 3),
        ((MIB + 1,), 2),
        ((8 << 30,), 8192),
        (({"set": True, "infinite": False, "number": 5 * MIB},), 5),
        ((), None),
        ((0,), None),
        ((18_446_744_073_709_551_614,), None),
        ((-2,), None),
    ],
)
def test_the_largest_step_counts(counts: tuple[Any, ...], mib: int | None) -> None:
    assert peak(row(*counts)) == mib


def test_a_reply_of_another_shape_says_nothing() -> None:
    assert peak({"job_id": 41}) is None
    assert peak({"job_id": 41, "steps": None}) is None
    assert peak({"job_id": 41, "steps": [{"tres": None}]}) is None
    assert peak({"job_id": 41, "steps": [{"tres": {"requested": []}}]}) is None


@pytest.mark.enable_socket
def test_only_the_job_itself_is_looked_at_and_not_the_other_tasks_of_its_array() -> None:
    async def story(fake: FakeSlurmrestd, slurm: SlurmRest) -> None:
        rows = [row(5 * MIB), row(9 * MIB, id=42)]
        fake.on("GET /slurmdb/v0.0.45/jobs/", says({"jobs": rows, "errors": []}))

        assert await slurm.peak_memory_mib(41) == 5
        assert await slurm.peak_memory_mib(43) is None
        assert fake.requests[-1].path.endswith("/jobs/?step=43")

    with_slurm(story)
