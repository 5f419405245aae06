import pytest

from clusterra.core.errors import Refused
from clusterra.core.jobs.fit import Largest, check_fits
from clusterra.core.jobs.request import JobRequest

LARGEST = Largest(cpus=64, memory_mib=512_000)


def asking(**properties: object) -> JobRequest:
    return JobRequest(script="#!/bin/sh", properties=properties)


def test_a_job_as_big_as_the_largest_node_fits_and_a_bigger_one_does_not() -> None:
    check_fits(asking(cpus_per_task=64, memory_per_node={"set": True, "number": 512_000}), LARGEST)

    with pytest.raises(Refused, match="ever have 10,000 CPUs; the largest has 64"):
        check_fits(asking(cpus_per_task=10_000), LARGEST)
    with pytest.raises(Refused, match="1,000 GiB of memory; the largest has 500 GiB"):
        check_fits(asking(memory_per_node={"set": True, "number": 1_024_000}), LARGEST)
