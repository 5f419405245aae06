"""Slurm's configuration: what differs between root, one user and the older release."""

from clusterra.local.slurm_conf import Slurm, files, worker_memory_mib
from clusterra.local.users import Person


def made(version: str = "26.05.5", single: Person | None = None) -> dict[str, str]:
    return files(
        Slurm(
            cluster="clus1a2b",
            version=version,
            ctld_port=1,
            slurmd_port=2,
            dbd_port=3,
            single=single,
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


def test_workers_share_the_memory_of_the_host() -> None:
    assert worker_memory_mib(24_103, 2) == 12_032
    assert worker_memory_mib(24_103, 0) == 24_064
    assert worker_memory_mib(100, 4) == 256
