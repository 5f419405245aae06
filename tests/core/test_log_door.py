"""Where an agent is dialled for logs, whatever it says of itself."""

import pytest

from clusterra.core.scaling.edge import EdgeReport
from clusterra.core.scaling.log_door import log_door
from tests.builders import NOON


def door(address: str, heard_from: str = "192.0.2.1") -> str | None:
    report = EdgeReport(at=NOON, agent="a", version="5", address=address, heard_from=heard_from)
    found = log_door(report, "the-key")
    return found.url if found else None


@pytest.mark.parametrize(
    ("address", "url"),
    [
        ("10.0.0.5", "http://10.0.0.5:6001"),
        ("8.8.8.8", "http://8.8.8.8:6001"),
        ("http://10.0.0.5:7000", "http://10.0.0.5:7000"),
        ("https://10.0.0.5:7000/other?path", "https://10.0.0.5:7000"),
        ("fd12::5", "http://[fd12::5]:6001"),
    ],
)
def test_an_agent_is_asked_at_its_address_and_port(address: str, url: str) -> None:
    assert door(address) == url


@pytest.mark.parametrize(
    "address",
    [
        "",
        "169.254.169.254",
        "http://169.254.169.254:80",
        "::ffff:169.254.169.254",
        "fd00:ec2::254",
        "0.0.0.0",
        "127.0.0.1",
        "http://127.0.0.1:22",
        "[::1]",
        "metadata.internal",
        "http://user@evil.example/",
        "file:///etc/passwd",
        "10.0.0.5:99999999",
        "224.0.0.1",
    ],
)
def test_what_no_agent_is_at_is_not_dialled(address: str) -> None:
    assert door(address) is None


def test_an_agent_on_this_machine_is_dialled_here() -> None:
    assert door("http://127.0.0.1:6002", heard_from="127.0.0.1") == "http://127.0.0.1:6002"


def test_the_key_is_not_shown() -> None:
    report = EdgeReport(at=NOON, agent="a", version="5", address="10.0.0.5")

    assert "the-key" not in repr(log_door(report, "the-key"))
