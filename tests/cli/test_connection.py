from collections.abc import Iterator

import pytest

from clusterra.client.client import Client
from clusterra.client.connection import Connection, NoServer
from clusterra.core import errors
from clusterra.core.errors import ClusterraError, Invalid, Unanswered, Unreachable
from clusterra.wire.jobs import SubmitJob
from tests.cli.world import TOKEN, Answer, Asked, FakeApi, Hangup, a_job, problem

pytestmark = pytest.mark.enable_socket


@pytest.fixture
def client(api: FakeApi) -> Iterator[Client]:
    with Client(Connection(api.url, token=TOKEN)) as client:
        yield client


def test_every_request_says_who_asks(api: FakeApi, client: Client) -> None:
    client.clusters()
    client.people.workspaces()

    assert [asked.headers["authorization"] for asked in api.asked] == [f"Bearer {TOKEN}"] * 2


def test_a_label_with_brackets_travels_whole(api: FakeApi, client: Client) -> None:
    api.life = [a_job(label="43_[6-9]")]

    assert client.job("clus1a2b", "43_[6-9]").label == "43_[6-9]"
    assert api.asked[0].path == "/v1/clusters/clus1a2b/jobs/43_[6-9]"


def test_only_what_was_given_is_sent(api: FakeApi, client: Client) -> None:
    client.submit("clus1a2b", SubmitJob(script="#!/bin/sh\n", cpus=2), key="k1")

    assert api.asked[0].body == {"script": "#!/bin/sh\n", "cpus": 2}
    assert api.asked[0].headers["idempotency-key"] == "k1"


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (422, errors.Invalid),
        (400, errors.Malformed),
        (413, errors.TooLarge),
        (401, errors.Unauthenticated),
        (403, errors.Forbidden),
        (404, errors.NotFound),
        (409, errors.Conflict),
        (422, errors.Refused),
        (503, errors.Unreachable),
        (504, errors.Unanswered),
        (500, ClusterraError),
    ],
)
def test_a_problem_comes_back_as_the_error_it_was(
    api: FakeApi, client: Client, status: int, kind: type[ClusterraError]
) -> None:
    api.routes["GET jobs/9"] = lambda _: problem(
        status, "so-and-so", "It went so.", "Do this.", at="line 3", kind=kind.code
    )

    with pytest.raises(ClusterraError) as caught:
        client.job("clus1a2b", 9)

    assert type(caught.value) is kind
    error = caught.value
    assert (error.code, error.detail, error.hint) == ("so-and-so", "It went so.", "Do this.")
    assert error.at == "line 3"


def test_the_servers_wish_when_to_ask_again_is_kept(api: FakeApi, client: Client) -> None:
    body = problem(503, "unreachable", "Slurm is away.").body
    api.routes["GET nodes"] = lambda _: Answer(503, body, headers={"Retry-After": "7"})

    with pytest.raises(Unreachable) as caught:
        client.nodes("clus1a2b")

    assert caught.value.retry_after == 7


def test_a_strangers_page_is_not_taken_for_ours(api: FakeApi, client: Client) -> None:
    api.routes["GET nodes"] = lambda _: Answer(502, b"<html>bad gateway</html>", "text/html")
    api.routes["GET partitions"] = lambda _: Answer(200, b"<html>hello</html>", "text/html")

    with pytest.raises(Unreachable, match="answered 502 Bad Gateway, and not in Clusterra's words"):
        client.nodes("clus1a2b")
    with pytest.raises(ClusterraError, match="does not know"):
        client.partitions("clus1a2b")


def test_a_question_is_repeated_when_a_kept_connection_was_closed(
    api: FakeApi, client: Client
) -> None:
    api.life = [a_job()]
    client.clusters()
    times = []

    def once_closed(asked: Asked) -> object:
        times.append(asked)
        if len(times) == 1:
            raise Hangup
        return a_job()

    api.routes["GET jobs/41"] = once_closed

    assert client.job("clus1a2b", 41).job_id == 41


def test_an_act_is_never_repeated_behind_anybodys_back(api: FakeApi, client: Client) -> None:
    def hang_up(_: Asked) -> object:
        raise Hangup

    client.clusters()
    api.routes["DELETE jobs/41"] = hang_up

    with pytest.raises(Unanswered, match="broke off before it answered"):
        client.cancel("clus1a2b", 41)
    assert [asked.method for asked in api.asked] == ["GET", "DELETE"]


def test_nobody_listening_says_how_to_start() -> None:
    client = Client(Connection("http://127.0.0.1:1", token=TOKEN))

    with pytest.raises(NoServer) as caught:
        client.clusters()

    assert caught.value.detail == "No Clusterra answers at http://127.0.0.1:1."
    assert "clusterra up" in caught.value.hint


@pytest.mark.parametrize(
    "url",
    ["localhost:8420", "ftp://x", "http://", "http://x:port", "http://a..b", "http://x/a b", ""],
)
def test_an_address_that_is_none_is_refused_before_asking(url: str) -> None:
    with pytest.raises(Invalid, match="not an address"):
        Connection(url)


def test_plain_http_behind_https_is_said_and_not_a_traceback(api: FakeApi) -> None:
    client = Client(Connection(api.url.replace("http:", "https:"), timeout=2))

    with pytest.raises(Unreachable, match="can be reached"):
        client.clusters()
