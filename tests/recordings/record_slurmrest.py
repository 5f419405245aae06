"""Record what a real slurmrestd answers, for the tests that replay it.

    python tests/recordings/record_slurmrest.py http://127.0.0.1:6820 jwt_hs256.key \
        --user alice --account lab --partition main

Sets a scene on the cluster (a few jobs of every kind, two CPUs of work in all), then
stores the replies to every question the adapter asks, in every API version the
server offers, under `slurmrest/<release>/<version>/<name>.http`: the status line's
number, the content type, an empty line, the body. Lists are cut down to the scene
and machine names removed; nothing else is changed, not even the spacing.

Run it on a throwaway cluster with two nodes to spare: it submits, cancels and requeues.
"""

import argparse
import http.client
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jwt

HERE = Path(__file__).parent / "slurmrest"
VERSIONS = ("v0.0.42", "v0.0.43", "v0.0.44", "v0.0.45")
SLEEP = "#!/bin/bash\nsleep 120\n"


class Server:
    def __init__(self, url: str, key: bytes) -> None:
        self.address = urlsplit(url).netloc
        self.key = key

    def call(
        self, method: str, path: str, user: str, body: Any = None, token: str | None = None
    ) -> tuple[int, str, bytes]:
        connection = http.client.HTTPConnection(self.address, timeout=60)
        now = int(time.time())
        headers = {
            "X-SLURM-USER-NAME": user,
            "X-SLURM-USER-TOKEN": token
            or jwt.encode({"iat": now, "exp": now + 120, "sun": user}, self.key, "HS256"),
            "Content-Type": "application/json",
        }
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        reply = connection.getresponse()
        found = reply.status, reply.getheader("Content-Type", ""), reply.read()
        connection.close()
        return found

    def json(self, method: str, path: str, user: str, body: Any = None) -> Any:
        return json.loads(self.call(method, path, user, body)[2])


class Scene:
    """One job of every kind, submitted as the oldest version has it."""

    def __init__(self, server: Server, user: str, account: str, partition: str) -> None:
        self.server, self.user = server, user
        self.common = {
            "account": account,
            "partition": partition,
            "environment": ["PATH=/usr/bin:/bin"],
            "current_working_directory": f"/home/{user}",
            "memory_per_node": {"set": True, "number": 100},
            "time_limit": {"set": True, "number": 10},
        }
        self.ids: dict[str, int] = {}

    def submit(self, name: str, script: str = SLEEP, **properties: Any) -> int:
        body = {"script": script, "job": {**self.common, "name": name, **properties}}
        reply = self.server.json("POST", "/slurm/v0.0.42/job/submit", self.user, body)
        self.ids[name] = int(reply["job_id"])
        return self.ids[name]

    def state(self, id: int) -> list[str]:
        jobs = self.server.json("GET", f"/slurm/v0.0.42/job/{id}", "root")["jobs"]
        return [word for job in jobs for word in job["job_state"]]

    def set_up(self, *, requeue: bool) -> None:
        done = self.submit(
            "done", "#!/bin/bash\n:\n", comment="clusterra:run=0190-done;note=first%20try"
        )
        failed = self.submit("failed", "#!/bin/bash\nexit 7\n")
        signalled = self.submit(
            "signalled",
            "#!/bin/bash\nkill -SEGV $$\n",
            standard_output="out-%x-%j.txt",
            standard_error="err-%u.txt",
        )
        running = self.submit("running")
        array = self.submit("array", array="0-5%2")
        cancelled = self.submit("cancelled")
        dropped = self.submit("dropped", hold=True)
        self.submit("held", hold=True)
        self.submit("waiting", dependency=f"afterok:{running}")
        self.submit("gpu", tres_per_node="gres/gpu:2", constraints="compute-gpu")
        wait_for(lambda: "COMPLETED" in self.state(done))
        wait_for(lambda: "FAILED" in self.state(failed) and "FAILED" in self.state(signalled))
        wait_for(lambda: "RUNNING" in self.state(running) and "RUNNING" in self.state(array))
        wait_for(lambda: "RUNNING" in self.state(cancelled))
        for id in (cancelled, dropped):
            self.server.call("DELETE", f"/slurm/v0.0.42/job/{id}", self.user)
            wait_for(partial(self.is_cancelled, id))
        if requeue:
            again = self.submit("requeued")
            wait_for(lambda: "RUNNING" in self.state(again))
            self.server.call("GET", f"/slurm/v0.0.45/job/{again}/requeue", self.user)
            wait_for(lambda: self.state(again) == ["PENDING"])

    def is_cancelled(self, id: int) -> bool:
        return self.state(id) == ["CANCELLED"]

    def clear(self) -> None:
        for id in self.ids.values():
            self.server.call("DELETE", f"/slurm/v0.0.42/job/{id}", self.user)

    def has(self, job: dict[str, Any]) -> bool:
        array = job.get("array_job_id") or job.get("array", {}).get("job_id")
        array = array["number"] if isinstance(array, dict) else array
        own = str(job["job_id"]).partition("_")[0]
        return bool({int(own), array} & set(self.ids.values()))


def wait_for(done: Callable[[], bool], seconds: float = 60) -> None:
    ends = time.monotonic() + seconds
    while not done():
        if time.monotonic() > ends:
            raise TimeoutError(done)
        time.sleep(0.2)


def store(folder: Path, name: str, reply: tuple[int, str, bytes], scene: Scene) -> None:
    status, kind, body = reply
    if kind == "application/json":
        body = trimmed(body, scene)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.http").write_bytes(f"{status} {kind}\n\n".encode() + body)


def trimmed(body: bytes, scene: Scene) -> bytes:
    """Cut lists down to the scene and machines down to `localhost`, keeping the spacing."""
    pretty = b"\n" in body
    reply = json.loads(body)
    if isinstance(reply.get("jobs"), list):
        tasks = {str(each) for each in task_ids(reply["jobs"], scene)}
        reply["jobs"] = [
            job
            for job in reply["jobs"]
            if scene.has(job) or str(job["job_id"]).partition("_")[0] in tasks
        ]
    for node in reply.get("nodes") or ():
        node["hostname"], node["operating_system"] = "localhost", "Linux"
    reply.pop("slurm_conf", None)  # only what is beside it is asked for
    if "meta" in reply:
        reply["meta"]["client"]["source"] = "localhost"
    text = json.dumps(reply, indent=2) if pretty else json.dumps(reply, separators=(",", ":"))
    return text.replace("/", "\\/").encode()


def task_ids(jobs: list[dict[str, Any]], scene: Scene) -> set[int]:
    if all("array_job_id" in job or "array" in job for job in jobs):
        return set()
    known = scene.server.json("GET", "/slurm/v0.0.42/jobs/", "root")["jobs"]
    return {job["job_id"] for job in known if scene.has(job)}


def record_reads(server: Server, version: str, folder: Path, scene: Scene) -> None:
    live, past = f"/slurm/{version}", f"/slurmdb/{version}"
    steps = "&".join(f"step={id}" for id in scene.ids.values())
    questions = {
        "diag": f"{live}/diag/",
        "jobs": f"{live}/jobs/",
        "states": f"{live}/jobs/state/",
        "nodes": f"{live}/nodes/",
        "partitions": f"{live}/partitions/",
        "array": f"{live}/job/{scene.ids['array']}",
        "unknown-job": f"{live}/job/999999",
        "past-jobs": f"{past}/jobs/?{steps}&disable_truncate_usage_time=true&skip_steps=true",
        "past-diag": f"{past}/diag/",
        "associations": f"{past}/associations/?user={scene.user}",
    }
    if version == "v0.0.45":
        questions["conf"] = f"{live}/conf"
    for name, path in questions.items():
        store(folder, name, server.call("GET", path, "root"), scene)


def record_refusals(server: Server, version: str, folder: Path, scene: Scene) -> None:
    """Store one reply per way in which a submission, a cancel or an edit is refused."""
    wrong: dict[str, dict[str, Any]] = {
        "no-environment": {"environment": None},
        "no-cwd": {"current_working_directory": None},
        "partition": {"partition": "nope"},
        "account": {"account": "nope"},
        "feature": {"constraints": "nope"},
        "memory": {"memory_per_node": {"set": True, "number": 999999999}},
        "nodes": {"nodes": "0"},
        "node": {"required_nodes": ["nope"]},
        "array": {"array": "0-999999"},
        "dependency": {"dependency": "afterok:999999"},
        "qos": {"qos": "nope"},
        "gres": {"tres_per_node": "gres/nope:1"},
        "reservation": {"reservation": "nope"},
        "licence": {"licenses": "nope:1"},
        "deadline": {"deadline": 5},
        "other-user": {"user_id": "0"},
        "long-comment": {"comment": "x" * 2000},
        "type": {"time_limit": "x"},
        "held": {"hold": True, "unheard_of": 1},
        "flag": {"mail_type": ["NOPE"]},
    }
    submit = f"/slurm/{version}/job/submit"
    for name, change in wrong.items():
        job = {key: value for key, value in {**scene.common, **change}.items() if value is not None}
        reply = server.call("POST", submit, scene.user, {"script": SLEEP, "job": job})
        store(folder, f"submit-{name}", reply, scene)
        taken = json.loads(reply[2]).get("job_id")
        if taken:
            server.call("DELETE", f"/slurm/{version}/job/{taken}", scene.user)
    job = {"job": scene.common}
    store(folder, "submit-no-script", server.call("POST", submit, scene.user, job), scene)
    store(folder, "submit-list", server.call("POST", submit, scene.user, []), scene)
    ghost = server.call("POST", submit, "ghost", {"script": SLEEP, **job})
    store(folder, "submit-ghost", ghost, scene)
    store(
        folder, "bad-token", server.call("GET", f"/slurm/{version}/diag/", "root", None, "x"), scene
    )
    old = server.call("GET", "/slurm/v0.0.1/diag/", "root")
    store(folder, "unknown-version", old, scene)
    one = f"/slurm/{version}/job"
    stranger = "slurmrest"
    for name, method, path, user, body in (
        ("cancel-unknown", "DELETE", f"{one}/999999", scene.user, None),
        ("cancel-ended", "DELETE", f"{one}/{scene.ids['done']}", scene.user, None),
        ("cancel-foreign", "DELETE", f"{one}/{scene.ids['held']}", stranger, None),
        ("edit-unknown", "POST", f"{one}/999999", scene.user, {"name": "x"}),
        ("edit-ended", "POST", f"{one}/{scene.ids['done']}", scene.user, {"name": "x"}),
        ("edit-foreign", "POST", f"{one}/{scene.ids['held']}", stranger, {"name": "x"}),
        (
            "edit-priority",
            "POST",
            f"{one}/{scene.ids['waiting']}",
            scene.user,
            {"priority": {"set": True, "number": 9}},
        ),
        (
            "edit-held-priority",
            "POST",
            f"{one}/{scene.ids['held']}",
            "root",
            {"priority": {"set": True, "number": 9}},
        ),
        ("requeue-waiting", "GET", f"{one}/{scene.ids['held']}/requeue", scene.user, None),
        ("cancel-array", "DELETE", f"{one}/{scene.ids['array']}", scene.user, None),
        ("edit", "POST", f"{one}/{scene.ids['held']}", scene.user, {"name": "held"}),
        ("cancel", "DELETE", f"{one}/{scene.ids['running']}", scene.user, None),
    ):
        store(folder, name, server.call(method, path, user, body), scene)


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    words.add_argument("url")
    words.add_argument("key", type=Path)
    words.add_argument("--user", default="alice")
    words.add_argument("--account", default="lab")
    words.add_argument("--partition", default="main")
    given = words.parse_args()
    server = Server(given.url, given.key.read_bytes())
    offered = [v for v in VERSIONS if server.call("GET", f"/slurm/{v}/diag/", "root")[0] == 200]
    release = server.json("GET", f"/slurm/{offered[0]}/diag/", "root")["meta"]["slurm"]["release"]
    scene = Scene(server, given.user, given.account, given.partition)
    scene.set_up(requeue="v0.0.45" in offered)
    folder = HERE / ".".join(release.split(".")[:2])
    for version in offered:
        record_reads(server, version, folder / version, scene)
    record_refusals(server, offered[-1], folder / offered[-1], scene)
    scene.clear()


if __name__ == "__main__":
    main()
