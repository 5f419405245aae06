"""Which workers a cluster on one machine may have, and that the control plane is told the same."""

from pathlib import Path

from clusterra.local.fleet import LocalFleet, local_fleet, share_of_memory
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
