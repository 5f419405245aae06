"""Slurm's configuration: what differs between root, one user and the older release."""

from typing import Any

from clusterra.core.scaling.shapes import Family, Shape
from clusterra.local.slurm_conf import Slurm, files
from clusterra.local.users import Person


def a_shape(name: str, family: Family, **known: Any) -> Shape:
    machine = {"size": name.rpartition("-")[2], "arch": "amd64", "vcpus": 8, "memory_gib": 32}
    return Shape(name=name, family=family, **{**machine, **known})


SMALL = a_shape("general-small", Family.GENERAL, cpus=7, memory_mib=31_000)
LARGE = a_shape("general-large", Family.GENERAL, cpus=31, memory_mib=129_000)
GPU = a_shape("gpu-l4-x4", Family.GPU, cpus=47, memory_mib=190_000, gpus=4, gpu_model="l4")


def made(version: str = "26.05.5", single: Person | None = None) -> dict[str, str]:
    return files(
        Slurm(
            cluster="clus1a2b",
            version=version,
            ctld_port=1,
            slurmd_port=2,
            dbd_port=3,
            single=single,
            shapes={shape.name: shape for shape in (SMALL, LARGE, GPU)},
        )
    )


def setting(text: str, name: str) -> str | None:
    lines = [line.partition("=")[2] for line in text.splitlines() if line.startswith(f"{name}=")]
    return lines[0] if lines else None


def test_with_root_jobs_run_as_their_own_users() -> None:
    conf = made()["slurm.conf"]

    assert setting(conf, "SlurmUser") == "slurm"
    assert setting(conf, "SlurmdUser") == "root"


def test_without_root_everything_is_one_user_and_slurmrestd_is_told_another() -> None:
    conf = made(single=Person(name="ana", uid=1000, gid=1000))

    assert setting(conf["slurm.conf"], "SlurmUser") == "ana"
    assert setting(conf["slurm.conf"], "SlurmdUser") == "ana"
    assert setting(conf["slurm-restd.conf"], "SlurmUser") == "root"
    assert setting(conf["slurmdbd.conf"], "StorageUser") == "ana"


def test_the_older_release_is_not_given_what_it_does_not_know() -> None:
    assert setting(made("26.05.5")["slurm.conf"], "MetricsType") == "metrics/openmetrics"
    assert setting(made("24.11.5")["slurm.conf"], "MetricsType") is None


def test_only_slurmd_does_without_its_own_socket() -> None:
    conf = made()

    assert setting(conf["slurm-node.conf"], "AuthInfo") == "disable_sack"
    assert setting(conf["slurm.conf"], "AuthInfo") is None


def test_a_name_with_a_quote_does_not_end_the_sql() -> None:
    sql = made(single=Person(name="o'hara", uid=1000, gid=1000))["database.sql"]

    assert "'o\\'hara'@'localhost'" in sql


def the_template() -> dict[str, str]:
    """Return what is said of the nodes that could be."""
    [line] = [line for line in made()["slurm.conf"].splitlines() if "State=FUTURE" in line]
    return dict(word.partition("=")[::2] for word in line.split())


def test_a_job_for_any_shape_is_taken_whether_or_not_there_is_a_worker_of_it() -> None:
    most = the_template()

    assert int(most["CPUs"]) == max(shape.cpus for shape in (SMALL, LARGE, GPU))
    assert int(most["RealMemory"]) == max(shape.memory_mib for shape in (SMALL, LARGE, GPU))
    assert set(most["Feature"].split(",")) >= SMALL.features | LARGE.features


def test_gpus_are_told_of_by_model_and_each_has_a_file() -> None:
    conf = made()

    assert the_template()["Gres"] == "gpu:l4:4"
    assert (
        "NodeName=gpu-l4-x4-[1-1024] Name=gpu Type=l4 File=/etc/slurm/gpu[0-3]\n"
        in conf["gres.conf"]
    )
    assert {"gpu0", "gpu1", "gpu2", "gpu3"} <= set(conf)
    assert "gpu4" not in conf
