"""Bad input gets a clear answer: what happened, in the person's numbers, and what to do."""

import json
import time
from contextlib import closing
from typing import Any

import pytest

from clusterra.client.connection import Connection
from clusterra.core.errors import (
    ClusterraError,
    Invalid,
    NotFound,
    Refused,
    TooLarge,
    Unauthenticated,
)
from tests.cluster import Running

OK = "#!/bin/bash\ntrue\n"


@pytest.mark.parametrize(
    ("body", "kind", "code", "at"),
    [
        ({"script": ""}, Invalid, "script-empty", "script"),
        ({"script": "echo hi\n"}, Invalid, "script-no-shebang", "line 1"),
        ({"script": "#!/bin/bash\r\necho\r\n"}, Invalid, "script-crlf", "line 1"),
        ({"script": "#!/bin/bash\n\0\1\2"}, Invalid, "script-binary", "line 2"),
        ({"script": OK + "#" * 5_000_000}, TooLarge, "script-too-large", "script"),
        ({"script": OK, "memory": "abc"}, Invalid, "invalid", "memory"),
        ({"script": OK, "cpus": 10_000}, Refused, "too-many-cpus", "cpus"),
        ({"script": OK, "memory": "900T"}, Refused, "too-much-memory", "memory"),
        ({"script": OK, "partition": "nope"}, Refused, "unknown-partition", "partition"),
        ({"script": OK, "array": "0-999999"}, ClusterraError, "", "array"),
        ({"script": OK, "array": "5-1"}, Invalid, "", "array"),
        ({"script": OK, "time": -5}, Invalid, "invalid", "time"),
        ({"script": OK, "cpu": 4}, Invalid, "unknown-field", "cpu"),
        ({"script": OK, "cpus": "four"}, Invalid, "", "cpus"),
        ({"script": OK, "workdir": "/home/nobody/here"}, Refused, "no-such-directory", "workdir"),
        ({"script": "#!/bin/bash\n#SBATCH --tme=5\n"}, Invalid, "", "line 2"),
        ({"script": OK, "job": {"user_id": "0"}}, ClusterraError, "identity-not-yours", "user_id"),
        ({"script": OK, "dependency": "afterok:999999999"}, ClusterraError, "", ""),
        ({"script": OK, "qos": "platinum"}, ClusterraError, "", "qos"),
    ],
)
def test_a_submission_that_cannot_be_is_refused_and_makes_no_job(
    running: Running, body: dict[str, Any], kind: type[ClusterraError], code: str, at: str
) -> None:
    before = running.client().jobs(running.cluster).total

    with pytest.raises(kind) as caught:
        running.submit_body(json.dumps(body).encode())

    assert caught.value.detail
    assert caught.value.hint
    assert not code or caught.value.code == code
    assert not at or caught.value.at == at
    assert running.client().jobs(running.cluster, query="state:live").total <= before


@pytest.mark.parametrize("body", [b'{"script": ', b"", b"\xff", b"[]", b'"x"'])
def test_a_body_that_is_not_a_json_object_is_refused(running: Running, body: bytes) -> None:
    with pytest.raises(Invalid):
        running.submit_body(body)


def test_a_typing_error_in_a_query_points_at_its_column(running: Running) -> None:
    done = running.cli("jobs", "list", "state:running usr:ana", check=False)

    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "Jobs have no field 'usr'.",
        "  state:running usr:ana",
        "                ^",
        "Did you mean user?",
    ]


def test_a_wrong_token_is_refused_on_every_call(running: Running) -> None:
    for path in ("/v1/clusters", f"/v1/clusters/{running.cluster}/jobs", "/metrics"):
        for token in ("", "nonsense"):
            stranger = Connection(running.url, token=token)
            with closing(stranger), pytest.raises(Unauthenticated):
                stranger.send("GET", path)


def test_unknown_things_are_not_found(running: Running) -> None:
    with pytest.raises(NotFound, match="There is no cluster 'clusnone' here"):
        running.client().jobs("clusnone")
    with pytest.raises(NotFound):
        running.connection().send("GET", "/v1/nothing/here")
    assert running.cli("jobs", "show", "4000000", check=False).returncode == 4


def test_probes_and_metrics_answer(running: Running) -> None:
    with closing(Connection(running.url)) as anyone:
        assert json.loads(anyone.send("GET", "/healthz").body) == {"status": "ok"}
        assert json.loads(anyone.send("GET", "/readyz").body) == {"status": "ready"}
        described = json.loads(anyone.send("GET", "/openapi.json").body)
    assert "/v1/clusters/{cluster}/jobs" in described["paths"]
    # The workers join after the control plane is up, and are seen a moment later.
    workers = f'clusterra_nodes{{cluster="{running.cluster}"}} 2'
    give_up = time.monotonic() + 30
    while workers not in running.connection().send("GET", "/metrics").body.decode():
        assert time.monotonic() < give_up
        time.sleep(0.2)
