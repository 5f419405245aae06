"""A real Slurm on this machine, started the way a person starts it."""

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import jwt

from bench.keepalive import KeepAlive
from bench.processes import CLUSTERRA, Plane, clean_environment, plane_from, scratch, until

JOB = json.dumps({"script": "#!/bin/bash\nhostname\n", "name": "first"}).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    plane: Plane
    slurm: str
    api_version: str
    key: bytes
    first_job_seconds: float
    """From the command to its first job COMPLETED."""

    next_job_seconds: float
    """From the submission of a second job to its end."""

    def raw(self, user: str) -> KeepAlive:
        """Return a client of slurmrestd itself, with a token of its own."""
        now = int(time.time())
        claims = {"iat": now, "exp": now + 600, "sun": user}
        token = jwt.encode(claims, self.key, algorithm="HS256")
        headers = {"X-SLURM-USER-NAME": user, "X-SLURM-USER-TOKEN": token}
        return KeepAlive(self.slurm, headers)


@contextmanager
def embedded(*options: str, **environ: str) -> Iterator[Embedded]:
    """Bring a cluster up, run a job, and run another."""
    with scratch() as home:
        state = str(home / "state")
        environment = clean_environment(**environ)
        began = time.perf_counter()
        try:
            done = subprocess.run(
                [
                    *(*CLUSTERRA, "up", "--detach", "--json", "--port", "0", "--state", state),
                    *options,
                ],
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                raise RuntimeError(f"clusterra up: {done.stderr.strip()[-500:]}")
            announced = json.loads(done.stdout)
            plane = plane_from(announced)
            run_job(plane)
            first = time.perf_counter() - began
            began = time.perf_counter()
            run_job(plane)
            yield Embedded(
                plane=plane,
                slurm=announced["slurm"]["url"],
                api_version=announced["slurm"]["api_version"],
                key=(Path(announced["state"]) / "etc/slurm/jwt_hs256.key").read_bytes(),
                first_job_seconds=first,
                next_job_seconds=time.perf_counter() - began,
            )
        finally:
            subprocess.run(
                [*CLUSTERRA, "down", "--state", state],
                env=environment,
                capture_output=True,
                check=False,
            )


def run_job(plane: Plane) -> None:
    """Submit a small job and wait for its end."""
    with plane.client() as client:
        made = client.send(client.request("POST", f"{plane.jobs}/submit", JOB))
        if made.status != 201:
            raise RuntimeError(f"The first job was not accepted: {made.body.decode()}")
        path = f"{plane.jobs}/{json.loads(made.body)['job_id']}"

        def completed() -> bool:
            state = json.loads(client.get(path).body)["state"]
            if state in {"FAILED", "CANCELLED", "NODE_FAIL", "TIMEOUT"}:
                raise RuntimeError(f"The job should have completed and is {state}.")
            return bool(state == "COMPLETED")

        until(completed)
