"""What every request meets, whatever it is about."""

import asyncio

import pytest

from clusterra.api.app import describe, make_app
from clusterra.api.body import LARGEST
from clusterra.api.rights import deed_of
from clusterra.core.access import TABLE, Who
from tests.api.asgi import ask
from tests.world import LAB, World


def every_route() -> list[tuple[str, str]]:
    """Return every route that not everybody is answered at."""
    return [
        (method.upper(), path.replace("{cluster}", LAB).replace("{job_id}", "1"))
        for path, methods in describe().openapi()["paths"].items()
        for method in methods
        if TABLE[deed_of(method.upper(), path)].who is not Who.ANYBODY
    ]


@pytest.mark.parametrize(("method", "path"), every_route())
@pytest.mark.parametrize("token", ["", "wrong"])
def test_no_route_answers_without_the_token(method: str, path: str, token: str) -> None:
    async def story() -> None:
        answer = await ask(make_app(World().plane()), method, path, {}, token=token)

        assert answer.status == 401
        assert answer.headers["www-authenticate"] == "Bearer"

    asyncio.run(story())


@pytest.mark.parametrize(("method", "path"), every_route())
def test_no_route_knows_a_cluster_that_is_not_there(method: str, path: str) -> None:
    if LAB not in path:
        return

    async def story() -> None:
        elsewhere = path.replace(LAB, "clusnone")
        answer = await ask(make_app(World().plane()), method, elsewhere, {"query": "x"})

        assert (answer.status, answer.json["code"]) == (404, "cluster-not-found")

    asyncio.run(story())


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nowhere", 404, "no-such-path"),
        ("PUT", f"/v1/clusters/{LAB}/jobs", 405, "method-not-allowed"),
        ("GET", f"/v1/clusters/{LAB}/jobs?limit=many", 422, "invalid"),
        ("GET", f"/v1/clusters/{LAB}/jobs/abc", 422, "invalid"),
        ("GET", f"/v1/clusters/{LAB}/jobs/99999999999999", 422, "invalid"),
        ("GET", f"/v1/clusters/{LAB}/jobs/7", 404, "job-not-found"),
        ("GET", f"/v1/clusters/{LAB}/nodes", 503, "unreachable"),
    ],
)
def test_a_wrong_request_is_a_problem_document(
    method: str, path: str, status: int, code: str
) -> None:
    async def story() -> None:
        answer = await ask(make_app(World().plane()), method, path)

        assert (answer.status, answer.json["status"], answer.json["code"]) == (status, status, code)
        assert answer.json["detail"]
        assert answer.json["hint"]

    asyncio.run(story())


def test_a_body_that_is_too_large_is_refused_before_it_is_read() -> None:
    async def story() -> None:
        path = f"/v1/clusters/{LAB}/jobs/submit"
        answer = await ask(make_app(World().plane()), "POST", path, b"x" * (LARGEST + 1))

        assert (answer.status, answer.json["code"]) == (413, "body-too-large")

    asyncio.run(story())


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", f"/v1/clusters/{LAB}"), ("POST", f"/v1/clusters/{LAB}/jobs/submit")],
)
def test_our_own_mistake_is_told_without_its_insides(method: str, path: str) -> None:
    async def story() -> None:
        plane = World().plane()
        del plane.sites[LAB].sky
        job = {"script": "#!/bin/sh\n", "partition": "main"}

        answer = await ask(make_app(plane), method, path, job)

        assert (answer.status, answer.json["code"]) == (500, "internal")
        assert b"sky" not in answer.body

    asyncio.run(story())


@pytest.mark.parametrize("path", ["/nowhere", "/v1", "/v1/clusters/", "/auth/x", "/docs", "//"])
def test_strangers_are_not_told_what_does_not_exist(path: str) -> None:
    async def story() -> None:
        answer = await ask(make_app(World().plane()), "GET", path, token="")

        assert (answer.status, answer.json["code"]) == (401, "unauthenticated")

    asyncio.run(story())


def test_probes_need_no_token_and_metrics_do() -> None:
    async def story() -> None:
        world = World()
        app = make_app(world.plane())
        assert (await ask(app, "GET", "/healthz", token="")).json == {"status": "ok"}
        assert (await ask(app, "GET", "/readyz", token="")).status == 503
        assert (await ask(app, "GET", "/metrics", token="")).status == 401
        await world.observer.look()

        assert (await ask(app, "GET", "/readyz", token="")).status == 200
        metrics = (await ask(app, "GET", "/metrics")).body.decode()
        assert f'clusterra_nodes{{cluster="{LAB}"}} 1' in metrics
        assert 'clusterra_requests_total{route="/readyz",method="GET",status="200"} 1' in metrics

    asyncio.run(story())


def test_a_submission_is_counted_under_its_route_whatever_came_of_it() -> None:
    async def story() -> None:
        app = make_app(World().plane())
        path = "/v1/clusters/{cluster}/jobs/submit"
        here = path.replace("{cluster}", LAB)
        await ask(app, "POST", here, {"script": "#!/bin/sh\n"})
        await ask(app, "POST", here, b"{")
        await ask(app, "PUT", here)

        metrics = (await ask(app, "GET", "/metrics")).body.decode()

        for status in (201, 400):
            counted = f'route="{path}",method="POST",status="{status}"'
            assert f"clusterra_requests_total{{{counted}}} 1" in metrics
        assert 'method="PUT",status="405"' in metrics

    asyncio.run(story())


def test_clusters_nodes_and_partitions_are_listed() -> None:
    async def story() -> None:
        world = World()
        app = make_app(world.plane())
        await world.observer.look()

        clusters = (await ask(app, "GET", "/v1/clusters")).json
        nodes = (await ask(app, "GET", f"/v1/clusters/{LAB}/nodes")).json
        partitions = (await ask(app, "GET", f"/v1/clusters/{LAB}/partitions")).json

        assert (clusters["total"], clusters["clusters"][0]["state"]) == (1, "up")
        assert clusters["clusters"][0]["slurm"]["api_version"] == "v0.0.45"
        assert (nodes["nodes"][0]["name"], nodes["next"]) == ("w1", None)
        assert partitions["partitions"][0]["default"] is True

    asyncio.run(story())
