"""A real S3 interface on loopback: its own process, port and directory."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ENVIRON = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_EC2_METADATA_DISABLED": "true",
}
REGION = "us-east-1"
_PATIENCE = 60


@contextmanager
def s3(directory: Path) -> Iterator[str]:
    """Run it, and yield its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environ = (
        os.environ
        | ENVIRON
        | {
            "BIND_HOST": "127.0.0.1",
            "GATEWAY_PORT": str(port),
            "HOME": str(directory),
            "TMPDIR": str(directory),
            "SERVICES": "s3",
        }
    )
    with (directory / "s3.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "ministack"],
            env=environ,
            cwd=directory,
            stdout=log,
            stderr=log,
        )
    try:
        _wait(port, process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


def _wait(port: int, process: "subprocess.Popen[bytes]") -> None:
    give_up = time.monotonic() + _PATIENCE
    while time.monotonic() < give_up and process.poll() is None:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/_ministack/health", timeout=5).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError("The S3 stand-in does not start.")
