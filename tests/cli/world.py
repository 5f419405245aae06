"""A Clusterra that answers from a list, on loopback, for tests of the terminal.

It keeps no promises of its own: it serves the wire shapes it is given and remembers
what it was asked.
"""

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec

from clusterra.cli.session import Watch
from clusterra.wire.clusters import (
    ClusterPage,
    ClusterView,
    NodePage,
    NodeView,
    PartitionPage,
    PartitionView,
    SlurmView,
)
from clusterra.wire.jobs import JobPage, JobView
from clusterra.wire.people import Me, PersonView, WorkspacePage, WorkspaceView
from clusterra.wire.problem import Problem

NOON = datetime(2026, 5, 14, 12, 0, tzinfo=UTC)
TOKEN = "token-of-the-test"


def a_job(**known: Any) -> JobView:
    """Return a job that waits since noon, changed by what a test cares about."""
    fields: dict[str, Any] = {
        "job_id": 41,
        "state": "PENDING",
        "flags": [],
        "reason": "",
        "name": "align",
        "user": "ana",
        "account": "lab",
        "partition": "main",
        "qos": "normal",
        "priority": 100,
        "cpus": 2,
        "nodes_wanted": 1,
        "memory_mib": 8192,
        "gpus": 0,
        "time_limit_minutes": 60,
        "features": "",
        "dependency": "",
        "nodes": "",
        "submitted_at": NOON,
        "eligible_at": None,
        "expected_at": None,
        "started_at": None,
        "ended_at": None,
        "exit_code": None,
        "signal": None,
        "restarts": 0,
        "array_id": None,
        "array_task": None,
        "work_dir": "/home/ana",
        "stdout": "/home/ana/job_41.out",
        "stderr": "/home/ana/job_41.out",
        "run_id": "",
        "comment": "",
    } | known
    return JobView(label=known.pop("label", str(fields["job_id"])), **_without(fields, "label"))


def running(**known: Any) -> JobView:
    started = {"started_at": NOON + timedelta(seconds=3), "nodes": "w1"}
    return a_job(**({"state": "RUNNING"} | started | known))


def ended(**known: Any) -> JobView:
    ends = {"ended_at": NOON + timedelta(seconds=34), "exit_code": 0, "state": "COMPLETED"}
    return running(**(ends | known))


def _without(fields: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if key != name}


def a_cluster(id: str = "clus1a2b", **known: Any) -> ClusterView:
    fields: dict[str, Any] = {
        "name": "dev",
        "state": "up",
        "connection_state": "connected",
        "why": "",
        "slurm": SlurmView(
            version="26.05.5", api_version="v0.0.45", cluster_name="dev", accounting=True
        ),
        "jobs": {"RUNNING": 2, "PENDING": 1, "COMPLETED": 40},
        "nodes": {"IDLE": 1, "MIXED": 1},
        "observed_at": NOON,
        "age_seconds": 0.4,
        "stale": False,
    }
    return ClusterView(id=id, **(fields | known))


def a_node(name: str = "w1", **known: Any) -> NodeView:
    fields: dict[str, Any] = {
        "state": "IDLE",
        "flags": ["DYNAMIC_NORM"],
        "reason": "",
        "cpus": 8,
        "cpus_used": 0,
        "memory_mib": 16384,
        "memory_used_mib": 0,
        "gpus": 0,
        "gpus_used": 0,
        "features": ["small"],
        "partitions": ["main"],
        "address": "127.0.0.1",
        "booted_at": None,
    }
    return NodeView(name=name, **(fields | known))


def a_workspace(id: str = "lab", **known: Any) -> WorkspaceView:
    fields: dict[str, Any] = {
        "name": "The Lab",
        "role": "owner",
        "others_jobs": "details",
        "clusters": ["clus1a2b"],
    }
    return WorkspaceView(id=id, **(fields | known))


def me(**known: Any) -> Me:
    fields: dict[str, Any] = {
        "id": "usr_ana",
        "email": "ana@lab.example",
        "name": "Ana",
        "login": "ana",
        "uid": 20001,
        "workspaces": [a_workspace()],
        "preferences": {},
        "by": "session",
        "scopes": [],
        "expires_at": NOON + timedelta(days=30),
    }
    return Me(**(fields | known))


def a_person(email: str = "ben@lab.example", **known: Any) -> PersonView:
    fields: dict[str, Any] = {
        "id": "usr_ben",
        "name": "Ben",
        "login": "ben",
        "uid": 20002,
        "role": "member",
        "since": NOON - timedelta(days=3),
        "by": "ana@lab.example",
        "signed_in": True,
        "last_seen_at": NOON - timedelta(hours=1),
    }
    return PersonView(email=email, **(fields | known))


class ManualWatch(Watch):
    """Time that passes only by waiting."""

    def __init__(self, at: datetime = NOON) -> None:
        self.at = at
        self.on_wait: Callable[[], None] = lambda: None

    def now(self) -> datetime:
        return self.at

    def wait(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)
        self.on_wait()


@dataclass(slots=True)
class Asked:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


@dataclass(slots=True)
class Answer:
    status: int
    body: bytes
    kind: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)


class Hangup(Exception):
    """Raised by a route to close the connection without an answer."""


def problem(
    status: int, code: str, detail: str, hint: str = "", at: str = "", kind: str = ""
) -> Answer:
    body = Problem(
        type=f"urn:{code}",
        title=code,
        status=status,
        detail=detail,
        code=code,
        kind=kind,
        hint=hint,
        at=at,
    )
    return Answer(status, msgspec.json.encode(body), "application/problem+json")


NO_OUTPUT = problem(404, "not-found", "Job 41 has written nothing yet.")

Route = Callable[[Asked], Any]


class FakeApi:
    def __init__(self) -> None:
        self.url = ""
        self.asked: list[Asked] = []
        self.clusters = [a_cluster()]
        self.nodes: list[NodeView] = [a_node()]
        self.partitions = [
            PartitionView(
                name="main",
                state="UP",
                default=True,
                nodes="w[1-2]",
                nodes_total=2,
                cpus_total=16,
                max_minutes=None,
            )
        ]
        self.workspaces = [a_workspace()]
        self.stale_for: float | None = None
        self.pages: list[list[JobView]] = [[]]
        self.life: list[JobView] = []
        """What one job looks like, look after look; the last stays."""
        self.output: bytes | None = None
        self.routes: dict[str, Route] = {}
        """Answers for `METHOD path`, or `METHOD path-below-the-cluster`, not the usual ones."""
        self.tokens = {TOKEN}
        """Those that let in."""
        self.ended_tokens: set[str] = set()
        """Those of sessions that have to be refreshed."""

    def answer(self, asked: Asked) -> Any:
        tail = "/".join(asked.path.split("/")[4:])
        token = asked.headers.get("authorization", "").removeprefix("Bearer ")
        if token in self.ended_tokens:
            return problem(401, "token-expired", "This token has ended.", kind="unauthenticated")
        for key in (f"{asked.method} {asked.path}", f"{asked.method} {tail}"):
            if key in self.routes:
                return self.routes[key](asked)
        if token not in self.tokens:
            return problem(401, "unauthenticated", "This token is not known here.")
        if asked.path == "/v1/clusters":
            return ClusterPage(clusters=self.clusters, total=len(self.clusters))
        if asked.path == "/v1/workspaces":
            return WorkspacePage(workspaces=self.workspaces, total=len(self.workspaces))
        if asked.method == "GET":
            return self._question(asked, tail)
        return self._act(asked, tail.split("/"))

    def _question(self, asked: Asked, tail: str) -> Any:
        seen: dict[str, Any] = {
            "next": None,
            "observed_at": NOON,
            "age_seconds": self.stale_for or 0.4,
            "stale": self.stale_for is not None,
        }
        match tail.split("/"):
            case [""]:
                return self.clusters[0]
            case ["nodes"]:
                return NodePage(nodes=self.nodes, **seen)
            case ["partitions"]:
                return PartitionPage(partitions=self.partitions, **seen)
            case ["jobs"]:
                return self._page(asked, seen)
            case ["jobs", _, "output"]:
                return self._output(asked)
            case ["jobs", _]:
                return self.life.pop(0) if len(self.life) > 1 else self.life[0]
        return problem(404, "not-found", f"There is no {asked.path}.")

    def _act(self, asked: Asked, tail: list[str]) -> Any:
        if tail[1] == "submit":
            made = {"job_id": 41, "run_id": "run-1", "user": "ana", "warnings": []}
            return Answer(201, msgspec.json.encode(made))
        names = {"DELETE": "cancel", "PATCH": "edit", "POST": tail[-1]}
        return {"job_id": int(tail[1]), "act": names[asked.method], "state": "PENDING"}

    def _page(self, asked: Asked, seen: dict[str, Any]) -> JobPage:
        place = int(asked.query.get("cursor", 0))
        following = str(place + 1) if place + 1 < len(self.pages) else None
        total = sum(len(page) for page in self.pages)
        return JobPage(**(seen | {"jobs": self.pages[place], "total": total, "next": following}))

    def _output(self, asked: Asked) -> Answer:
        if self.output is None:
            return NO_OUTPUT
        start = max(0, len(self.output) - int(asked.query.get("tail", len(self.output))))
        if "lines" in asked.query:
            last = self.output.splitlines(keepends=True)[-int(asked.query["lines"]) :]
            start = len(self.output) - len(b"".join(last))
        stop, status = len(self.output), 200
        if asked_for := re.fullmatch(r"bytes=(\d+)-(\d+)", asked.headers.get("range", "")):
            start, stop, status = int(asked_for[1]), min(stop, int(asked_for[2]) + 1), 206
            if start >= len(self.output):
                return problem(416, "range-not-satisfiable", "Nothing of that range.")
        part = f"bytes {start}-{stop - 1}/{len(self.output)}"
        return Answer(status, self.output[start:stop], "text/plain", {"Content-Range": part})


@contextmanager
def serving(api: FakeApi) -> Iterator[FakeApi]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # one write per answer: two would wait 40 ms for a delayed ACK

        def serve(self) -> None:
            parts = urlsplit(self.path)
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            asked = Asked(
                method=self.command,
                path=unquote(parts.path),
                query={name: values[0] for name, values in parse_qs(parts.query).items()},
                headers={name.lower(): value for name, value in self.headers.items()},
                body=msgspec.json.decode(raw) if raw else None,
            )
            api.asked.append(asked)
            try:
                found = api.answer(asked)
            except Hangup:
                self.close_connection = True
                return
            if not isinstance(found, Answer):
                found = Answer(200, msgspec.json.encode(found))
            self.send_response(found.status)
            self.send_header("Content-Type", found.kind)
            self.send_header("Content-Length", str(len(found.body)))
            for name, value in found.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(found.body)

        do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = serve  # noqa: N815 - http.server's names

        def log_message(self, format: str, *args: Any) -> None:
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.daemon_threads = True
    api.url = f"http://127.0.0.1:{httpd.server_port}"
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield api
    finally:
        httpd.shutdown()
        thread.join()
        httpd.server_close()
