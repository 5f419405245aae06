"""A control plane with one running job whose output is a file of this machine.

    python -m bench.log_server serve --state DIR       prints the port
    python -m bench.log_server write FILE --every 0.01

`write` is the job: a line with the time, so often.
"""

import argparse
import time
from datetime import UTC, datetime
from pathlib import Path

from bench.talk import CLUSTER, TOKEN
from clusterra import serve
from clusterra.control.plane import Plane
from clusterra.core.change import Change
from clusterra.core.jobs.job import Job, JobState
from clusterra.loops import running
from clusterra.settings import ClusterSettings, EmbeddedSettings, ServerSettings, Settings

JOB = 1
OUTPUT = "tmp/job.out"
"""Below the state directory."""

MARK = b"time="


class PutJob:
    """Stands where the control plane's loops stand."""

    name = "put-job"

    def __init__(self, plane: Plane) -> None:
        self._plane = plane

    async def run(self) -> None:
        now = datetime.now(UTC)
        job = Job(
            id=JOB,
            born_at=now,
            submitted_at=now,
            started_at=now,
            state=JobState.RUNNING,
            user="ana",
            stdout=f"/{OUTPUT}",
        )
        await self._plane.store.commit(CLUSTER, Change(jobs=[job]))


def serve_output(state: Path) -> None:
    (state / OUTPUT).parent.mkdir(parents=True, exist_ok=True)
    (state / "token").write_text(TOKEN)
    (state / "jwt_hs256.key").write_bytes(bytes(32))
    cluster = ClusterSettings(
        id=CLUSTER,
        slurm="http://127.0.0.1:9",
        jwt_key=state / "jwt_hs256.key",
        embedded=EmbeddedSettings(root=state, single_user=True),
    )
    settings = Settings(server=ServerSettings(port=0, state=state), clusters=(cluster,))
    vars(running)["server_loops"] = lambda plane: [PutJob(plane)]
    vars(running)["site_loops"] = lambda *_: []
    serve.serve(settings, ready=lambda port: print(port, flush=True))


def write(file: Path, every: float) -> None:
    with file.open("ab", buffering=0) as opened:
        due = time.monotonic()
        while True:
            due += every
            time.sleep(max(0.0, due - time.monotonic()))
            now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%f}Z"
            opened.write(MARK + f"{now} step 1200 loss 0.0412 accuracy 0.931\n".encode())


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.log_server")
    parser.add_argument("what", choices=["serve", "write"])
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--state", type=Path)
    parser.add_argument("--every", type=float, default=0.01)
    asked = parser.parse_args()
    if asked.what == "serve":
        serve_output(asked.state)
    else:
        write(asked.file, asked.every)


if __name__ == "__main__":
    main()
