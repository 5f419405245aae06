"""Which workers a cluster on one machine may have, and that the control plane is told the same."""

from pathlib import Path

import pytest

from clusterra.adapters.shape_table import shapes
from clusterra.core.scaling.shapes import Purchase
from clusterra.local.fleet import LocalFleet, like, local_fleet, share_of_memory
from clusterra.local.settings_file import settings_toml
from clusterra.local.state import State
from clusterra.settings import ScalingSettings, load


def scaling(tmp_path: Path, fleet: LocalFleet) -> ScalingSettings:
    text = settings_toml(
        State(path=tmp_path),
        cluster="clus1a2b",
        port=8420,
        slurm="http://127.0.0.1:6820",
        service_user="slurm",
        user="ana",
        single=False,
        started_at=0,
        owner="",
        oidc=None,
        fleet=fleet,
    )
    (tmp_path / "clusterra.toml").write_text(text)
    [cluster] = load(tmp_path / "clusterra.toml", {}).clusters
    assert cluster.scaling is not None
    return cluster.scaling


def test_without_a_number_the_queue_decides_among_all_shapes_of_this_machine(
    tmp_path: Path,
) -> None:
    fleet = LocalFleet(arch="arm64")

    told = scaling(tmp_path, fleet)

    assert told == ScalingSettings(architectures=("arm64",))
    assert {shape.arch for shape in fleet.shapes.values()} == {"arm64"}


def test_a_number_is_kept_whatever_the_queue_and_there_are_no_others(tmp_path: Path) -> None:
    fleet = local_fleet(3)

    told = scaling(tmp_path, fleet)

    assert (told.only_these, told.max_workers, told.minimum) == (True, 3, {"w": "3"})
    [shape] = told.shapes
    assert fleet.fixed is not None
    assert (shape.name, shape.cpus, shape.memory_mib) == (
        "w",
        fleet.fixed.cpus,
        fleet.fixed.memory_mib,
    )


def test_none_is_a_number_too(tmp_path: Path) -> None:
    told = scaling(tmp_path, local_fleet(0))

    assert (told.only_these, told.max_workers) == (True, 0)


def test_workers_share_the_memory_of_the_host() -> None:
    assert share_of_memory(24_103, 2) == 12_032
    assert share_of_memory(24_103, 0) == 24_064
    assert share_of_memory(100, 4) == 256


@pytest.mark.parametrize(
    ("cpus", "memory_mib", "arch", "size", "families"),
    [
        (2, 6_144, "amd64", "xlarge", "c"),
        (4, 8_192, "amd64", "xlarge", "c"),
        (4, 8_448, "amd64", "xlarge", "m"),
        (4, 16_640, "arm64", "xlarge", "r"),
        (5, 1_024, "arm64", "2xlarge", "c"),
        (8, 1_000_000, "amd64", "16xlarge", "r"),
        (192, 1_024, "amd64", "16xlarge", "r"),
    ],
)
def test_a_worker_is_like_the_smallest_machine_that_has_as_much_or_the_largest_there_is(
    cpus: int, memory_mib: int, arch: str, size: str, families: str
) -> None:
    machines = like(cpus, memory_mib, arch)

    assert {machine.partition(".")[2] for machine in machines} == {size}
    assert {machine[0] for machine in machines} == set(families)


def test_of_an_architecture_that_nobody_sells_there_is_no_machine() -> None:
    assert like(4, 1_024, "riscv64") == ()


def test_workers_of_a_fixed_number_have_the_price_of_such_a_machine(tmp_path: Path) -> None:
    fleet = local_fleet(2)
    assert fleet.fixed is not None

    [worker] = shapes(scaling(tmp_path, fleet)).values()

    assert worker.types == fleet.fixed.types
    price = worker.usd_per_hour(Purchase.ON_DEMAND)
    assert price is not None
    assert price > 0
