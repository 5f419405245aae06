"""`clusterra doctor`: what is wrong, and nothing when nothing is."""

import json
import os
from pathlib import Path

from tests.cluster import Running


def test_the_doctor_finds_nothing_wrong_with_this_machine(running: Running) -> None:
    checks = json.loads(running.cli("doctor", "--json").stdout)

    assert checks["ok"]
    assert {each["what"] for each in checks["checks"]} >= {"python", "namespaces", "state", "port"}


def test_the_doctor_finds_nothing_wrong_with_the_slurm_of_the_cluster(running: Running) -> None:
    key = f"{running.state}/etc/slurm/jwt_hs256.key"

    good = running.cli(
        "doctor", "--slurm", running.slurm["url"], "--jwt-key", key, "--user", "root"
    )

    assert running.slurm["api_version"] in good.stdout
    assert "✗" not in good.stdout


def test_the_doctor_tells_a_wrong_key_from_a_wrong_address(running: Running) -> None:
    wrong = Path(running.state) / "wrong.key"
    wrong.write_bytes(os.urandom(32))
    wrong.chmod(0o644)
    url = running.slurm["url"]

    key = running.cli("doctor", "--slurm", url, "--jwt-key", str(wrong), check=False)
    address = running.cli("doctor", "--slurm", "http://127.0.0.1:1", check=False)

    assert key.returncode == address.returncode == 3
    assert "AuthAltTypes=auth/jwt" in key.stdout
    assert "does not answer" in address.stdout
    assert "slurmrestd" in address.stdout
