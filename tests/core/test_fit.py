import pytest

from clusterra.core.errors import Refused
from clusterra.core.jobs.fit import Largest, check_fits
from clusterra.core.jobs.request import JobRequest
from clusterra.core.scaling.shapes import Family, Shape, table

LARGEST = Largest(cpus=64, memory_mib=512_000)
SHAPES = table()


def asking(**properties: object) -> JobRequest:
    return JobRequest(script="#!/bin/sh", properties=properties)


def gib(number: int) -> dict[str, object]:
    return {"set": True, "number": number * 1024}


def refusal(**properties: object) -> Refused:
    with pytest.raises(Refused) as refused:
        check_fits(asking(**properties), SHAPES)
    return refused.value


def test_a_job_as_big_as_the_largest_node_fits_and_a_bigger_one_does_not() -> None:
    check_fits(asking(cpus_per_task=64, memory_per_node={"set": True, "number": 512_000}), LARGEST)

    with pytest.raises(Refused, match="ever have 10,000 CPUs; the largest has 64"):
        check_fits(asking(cpus_per_task=10_000), LARGEST)
    with pytest.raises(Refused, match="1,000 GiB of memory; the largest has 500 GiB"):
        check_fits(asking(memory_per_node={"set": True, "number": 1_024_000}), LARGEST)


def test_a_job_that_some_shape_can_hold_is_let_through() -> None:
    for properties in (
        {},
        {"cpus_per_task": 63, "memory_per_node": gib(510)},
        {"tres_per_node": "gres/gpu:b200:8", "cpus_per_task": 191},
        {"tres_per_node": "gres/gpu", "constraints": "a10g|l4"},
        {"constraints": "arm64&large", "cpus_per_task": 31},
        {"constraints": "a-feature-of-nodes-that-are-not-ours"},
    ):
        check_fits(asking(**properties), SHAPES)


def test_what_no_shape_can_hold_is_refused_with_the_nearest_one_named() -> None:
    too_much = refusal(memory_per_node=gib(1024))
    assert too_much.code == "too-much-memory"
    assert "1,024 GiB; the nearest is memory-xlarge with 63 CPUs and 510 GiB." in too_much.detail

    too_many = refusal(cpus_per_task=64)
    assert (too_many.code, too_many.at) == ("too-many-cpus", "cpus")
    assert "the nearest is compute-xlarge with 63 CPUs and 126 GiB" in too_many.detail
    assert "at most 63 CPUs" in too_many.hint

    gpus = refusal(tres_per_node="gres/gpu:a10g:16")
    assert (gpus.code, gpus.at) == ("too-many-gpus", "gpus")
    assert "16 a10g GPUs and 1 CPU; the nearest is gpu-a10g-x8 with 8 a10g GPUs" in gpus.detail


def test_a_model_of_gpu_that_nobody_has_is_refused_with_those_there_are() -> None:
    unknown = refusal(tres_per_node="gres/gpu:v100:1")
    assert unknown.code == "unknown-gpu-model"
    assert unknown.detail == "No node here will ever have v100 GPUs."
    assert "a10g" in unknown.hint

    bare = {"tiny": Shape(name="tiny", family=Family.GENERAL, size="xs", arch="amd64", vcpus=2,
                          memory_gib=4, cpus=1, memory_mib=2768)}  # fmt: skip
    with pytest.raises(Refused, match="1 GPU; there are none"):
        check_fits(asking(tres_per_node="gres/gpu:1"), bare)


def test_a_constraint_limits_which_shapes_count() -> None:
    assert refusal(constraints="xs", cpus_per_task=8).code == "too-many-cpus"
    assert "compute-xlarge-arm" in refusal(constraints="arm64&compute", cpus_per_task=64).detail


def test_only_what_is_sure_to_be_on_one_node_counts() -> None:
    check_fits(asking(tasks=1000, cpus_per_task=4), SHAPES)
    check_fits(asking(tasks=128, nodes="2-4", memory_per_cpu={"set": True, "number": 2048}), SHAPES)
    check_fits(asking(tres_per_job="gres/gpu:a10g:64"), SHAPES)

    assert refusal(tasks=128, nodes="2").code == "too-many-cpus"
    assert refusal(tasks_per_node=100).code == "too-many-cpus"
    assert refusal(tres_per_job="gres/gpu:a10g:64", nodes="4").code == "too-many-gpus"
    assert (
        refusal(tasks=2, nodes="1", tres_per_task="cpu=2,gres/gpu:h100=5").code == "too-many-gpus"
    )
    assert refusal(memory_per_cpu=gib(20), cpus_per_task=60).code == "too-much-memory"
    assert (
        refusal(tres_per_node="gres/gpu:t4:8", memory_per_tres="gres/gpu:102400").code
        == "too-much-memory"
    )
