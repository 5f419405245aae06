"""Webhooks over HTTP: who may have them, what is shown of them, and what is refused."""

import asyncio
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any

import pytest
from standardwebhooks import Webhook

from clusterra.adapters.memory import MemoryStore
from clusterra.api.app import make_app
from clusterra.core.access import Role, Scope
from clusterra.core.webhooks.exchange import Answer, Failure
from clusterra.core.webhooks.verify import explain
from tests.api.asgi import Answer as Reply
from tests.api.asgi import ask
from tests.builders import NOON
from tests.control.webhooks.post import DOWN, Post
from tests.people import SOMEBODY, token_of
from tests.world import TOKEN

URL = "https://hooks.example/in"
STOP = Answer(status=200, headers={"webhook-delivery": "abort-message"})
SLACK = "https://hooks.slack.com/services/T0/B0/s3cret"


class House(Post):
    """A post office with a door."""

    def __init__(self) -> None:
        super().__init__(MemoryStore())
        self.app = make_app(self.plane)

    async def ask(
        self, method: str, path: str = "", body: object = None, *, token: str = TOKEN
    ) -> Reply:
        return await ask(self.app, method, f"/v1/webhooks{path}", body, token=token)

    async def added(self, *, token: str = TOKEN, **body: Any) -> dict[str, Any]:
        reply = await self.ask("POST", "", {"url": URL} | body, token=token)
        assert reply.status == 201, reply.body
        made: dict[str, Any] = reply.json
        return made

    async def sent_to(self, id: str) -> None:
        await self.deliver(self.plane.webhooks.endpoints.get(id))


@pytest.fixture(scope="module")
def empty() -> House:
    """For requests that change nothing; describing the application takes longer than asking it."""
    return House()


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(story)


def test_a_webhook_shows_its_secret_once_and_signs_with_it() -> None:
    async def story() -> None:
        house = await House().open()
        made = await house.added(types=["job.*"], name="ci")
        id, secret = made["id"], made["secret"]
        assert secret.startswith("whsec_")
        assert made["webhook"]["types"] == ["job.*"]
        shown = await house.ask("GET", f"/{id}")
        assert secret not in shown.body.decode()

        await house.happens()
        await house.sent_to(id)
        [request] = house.receiver.got
        expected = Webhook(secret).sign(request.headers["webhook-id"], NOON, request.body.decode())
        assert request.headers["webhook-signature"] == expected

    run(story())


def test_with_ed25519_whoever_has_the_public_key_can_verify_without_the_secret() -> None:
    async def story() -> None:
        house = await House().open()
        made = await house.added(ed25519=True)
        key = made["webhook"]["public_key"]
        assert key.startswith("whpk_")
        other = await house.added(ed25519=True)
        assert other["webhook"]["public_key"] == key

        await house.happens()
        await house.sent_to(made["id"])
        request = house.receiver.got[0]
        for secret in (key, made["secret"]):
            assert explain(request.headers, request.body, [secret], house.clock.now()).ok
        assert not explain(request.headers, b"{}", [key], house.clock.now()).ok

    run(story())


def test_a_rotated_secret_and_the_old_one_are_both_signed_with_for_a_while() -> None:
    async def story() -> None:
        house = await House().open()
        made = await house.added()
        rotated = (await house.ask("POST", f"/{made['id']}/rotate", {"overlap_hours": 1})).json
        assert rotated["secret"] != made["secret"]

        await house.happens()
        await house.sent_to(made["id"])
        house.clock.advance(timedelta(hours=1))
        await house.happens()
        await house.sent_to(made["id"])
        during, after = house.receiver.got
        good = [
            [
                explain(each.headers, each.body, [secret], house.clock.now(), timedelta(2)).ok
                for secret in (made["secret"], rotated["secret"])
            ]
            for each in (during, after)
        ]
        assert good == [[True, True], [False, True]]
        at_once = (await house.ask("POST", f"/{made['id']}/rotate", {"overlap_hours": 0})).json
        assert at_once["old_until"] is None
        refused = await house.ask("POST", f"/{made['id']}/rotate", {"overlap_hours": 1e9})
        assert refused.status == 422

    run(story())


def test_what_is_secret_is_locked_in_the_store_and_shown_to_nobody() -> None:
    async def story() -> None:
        house = await House().open()
        await house.added(url=SLACK)
        await house.added(url="https://ci.example/hook?token=s3cret")
        hidden = "https://api.github.com/repos/lab/pipelines/dispatches"
        await house.added(url=hidden, credential="ghp_s3cret")
        listed = await house.ask("GET")

        assert b"s3cret" not in listed.body
        assert {each["format"]: each["url"] for each in listed.json["webhooks"]} == {
            "slack": "https://hooks.slack.com/…",
            "json": "https://ci.example/hook?…",
            "github": hidden,
        }
        assert "s3cret" not in str(house.store._records)  # type: ignore[attr-defined]
        await house.happens()
        for each in listed.json["webhooks"]:
            await house.sent_to(each["id"])
        got = {each.url: each.headers for each in house.receiver.got}
        assert SLACK in got
        assert got[hidden]["authorization"] == "Bearer ghp_s3cret"

    run(story())


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"url": ""}, "https"),
        ({"url": "ftp://hooks.example"}, "https"),
        ({"url": "http://hooks.example"}, "https"),
        ({"url": "https://user:pass@hooks.example"}, ""),
        ({"url": "https://hooks.example/\r\nx: y"}, ""),
        ({"url": f"https://hooks.example/{'x' * 3000}"}, "2048"),
        ({"url": "https://127.0.0.1/"}, ""),
        ({"url": "https://[::ffff:169.254.169.254]/"}, ""),
        ({"url": "https://0xa9fea9fe/"}, ""),
        ({"url": "https://hooks.example:22/"}, "22"),
        ({"url": "mailto:ana@lab.example"}, "sends no e-mails"),
        ({"url": "mailto:nobody"}, ""),
        ({"types": ["job.fialed"]}, "job.failed"),
        ({"names": [f"a{n}" for n in range(51)]}, "51 entries"),
        ({"severity": "loud"}, "info, notice, warning, error"),
        ({"format": "xml"}, "json, slack"),
        ({"zone": "Mars/Olympus"}, "Mars/Olympus"),
        ({"per_second": -1}, "-1"),
        ({"per_second": 1e9}, "1000"),
        ({"name": "x" * 101}, "100 characters"),
        ({"clusters": ["nowhere"]}, "nowhere"),
        ({"format": "github"}, "dispatches"),
        ({"url": "https://api.github.com/repos/a/b/dispatches"}, "token"),
        ({"workspace": "elsewhere"}, "elsewhere"),
        ({"url": 7}, "url"),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_do(
    body: dict[str, Any], says: str, empty: House
) -> None:
    async def story() -> None:
        house = await empty.open()
        reply = await house.ask("POST", "", {"url": URL} | body)

        assert 400 <= reply.status < 500, reply.body
        assert says in reply.json["detail"] + reply.json["hint"], reply.body
        assert reply.json["hint"]
        assert (await house.ask("GET")).json["total"] == 0

    run(story())


def test_a_member_has_their_own_and_an_admin_sees_all() -> None:
    async def story() -> None:
        house = await House().open()
        cat = await token_of(house.plane, "cat")
        ben = await token_of(house.plane, "ben")
        viewer = await token_of(house.plane, "vic", Role.VIEWER)
        mine = (await house.added(token=cat))["id"]
        assert (await house.added(token=ben))["webhook"]["owner"] == "ben@lab.example"

        assert (await house.ask("GET", token=cat)).json["total"] == 1
        assert (await house.ask("GET")).json["total"] == 2
        for method, path in (
            ("GET", f"/{mine}"),
            ("DELETE", f"/{mine}"),
            ("POST", f"/{mine}/test"),
            ("GET", f"/{mine}/deliveries"),
        ):
            reply = await house.ask(method, path, token=ben)
            assert (reply.status, reply.json["code"]) == (404, "webhook-not-found")
        assert (await house.ask("POST", "", {"url": URL}, token=viewer)).status == 403
        reads = await token_of(house.plane, "ron", scopes=frozenset({Scope.READ}))
        assert (await house.ask("POST", "", {"url": URL}, token=reads)).json["code"] == "scope"

    run(story())


def test_private_addresses_are_for_whoever_runs_the_server_and_its_list() -> None:
    async def story() -> None:
        house = await House().open()
        admin = await token_of(house.plane, "eva", Role.ADMIN)
        private = {"url": "http://10.0.0.8:3000/", "allow_private": True}

        assert (await house.ask("POST", "", private)).status == 201
        refused = await house.ask("POST", "", private, token=admin)
        assert refused.status == 422
        assert "webhooks.private" in refused.json["hint"]
        metadata = {"url": "http://169.254.169.254/latest", "allow_private": True}
        assert (await house.ask("POST", "", metadata)).status == 422

    run(story())


def test_an_answer_from_a_private_address_is_shown_to_nobody_but_who_runs_the_server() -> None:
    async def story() -> None:
        house = await House().open()
        house.receiver.answer = Answer(status=500, snippet=b"inside", remote="10.0.0.8")
        admin = await token_of(house.plane, "eva", Role.ADMIN)
        private = await house.added(url="http://10.0.0.8:3000/", allow_private=True)
        public = await house.added(token=admin)
        await house.happens()
        shown = {}
        for name, id in (("private", private["id"]), ("public", public["id"])):
            await house.sent_to(id)
            for who, token in (("operator", TOKEN), ("admin", admin)):
                reply = await house.ask("GET", f"/{id}/deliveries/event-1", token=token)
                [attempt] = reply.json["attempts"]
                shown[name, who] = attempt["response"], attempt["remote"]

        assert shown == {
            ("private", "operator"): ("inside", "10.0.0.8"),
            ("private", "admin"): ("", ""),
            ("public", "operator"): ("", "10.0.0.8"),
            ("public", "admin"): ("inside", ""),
        }

    run(story())


def test_deliveries_are_listed_by_the_page_and_told_why() -> None:
    async def story() -> None:
        house = await House().open()
        id = (await house.added())["id"]
        house.receiver.by_event = {"event-3": DOWN}
        await house.happens(5)
        await house.sent_to(id)

        first = (await house.ask("GET", f"/{id}/deliveries?limit=2")).json
        second = (await house.ask("GET", f"/{id}/deliveries?limit=4&cursor={first['next']}")).json
        assert [each["event_id"] for each in first["deliveries"] + second["deliveries"]] == [
            f"event-{n}" for n in (5, 4, 3, 2, 1)
        ]
        assert second["next"] is None
        waiting = (await house.ask("GET", f"/{id}/deliveries?state=retry")).json["deliveries"]
        assert [each["event_id"] for each in waiting] == ["event-3"]
        detail = (await house.ask("GET", f"/{id}/deliveries/event-3")).json
        assert detail["sentence"].startswith("It answered 503: it is not available. It will be")
        assert detail["event"]["data"]["job_id"] == 3
        for path in ("?state=lost", "?cursor=x", "?type=job.fialed", "?limit=0"):
            assert (await house.ask("GET", f"/{id}/deliveries{path}")).status == 422
        assert (await house.ask("GET", f"/{id}/deliveries/none")).status == 404

    run(story())


def test_what_nobody_was_told_and_what_is_late_is_counted_for_whoever_watches_the_server() -> None:
    async def story() -> None:
        house = await House().open()
        ids = [(await house.added(name=name))["id"] for name in ("busy", "paused")]
        house.receiver.by_event = {"event-2": DOWN, "event-3": STOP}
        await house.happens(3)
        for id in ids:
            await house.sent_to(id)
        await house.ask("PATCH", f"/{ids[1]}", {"state": "paused"})
        house.clock.advance(timedelta(hours=1))

        metrics = (await ask(house.app, "GET", "/metrics")).body.decode().splitlines()

        for state in ("ok", "retry", "dead"):
            for id in ids:
                assert f'clusterra_deliveries{{webhook="{id}",state="{state}"}} 1' in metrics
        late = [line for line in metrics if line.startswith("clusterra_delivery_late_seconds")]
        [(which, seconds)] = [line.split() for line in late]
        assert ids[0] in which
        assert 3590 < float(seconds) < 3600

    run(story())


def test_pausing_keeps_and_resuming_delivers_what_was_kept() -> None:
    async def story() -> None:
        house = await House().open()
        id = (await house.added())["id"]
        paused = (await house.ask("PATCH", f"/{id}", {"state": "paused"})).json["webhook"]
        assert paused["state"] == "paused"
        await house.happens(3)
        await house.sent_to(id)
        assert (await house.ask("GET", f"/{id}")).json["kept"] == 3

        resumed = (await house.ask("PATCH", f"/{id}", {"state": "active"})).json
        assert (resumed["replaying"], resumed["webhook"]["state"]) == (3, "active")
        await house.sent_to(id)
        assert len(house.receiver.got) == 3
        assert (await house.ask("PATCH", f"/{id}", {"state": "disabled"})).status == 422

    run(story())


def test_an_edit_changes_what_is_said_and_nothing_else() -> None:
    async def story() -> None:
        house = await House().open()
        made = await house.added(types=["job.failed"], partitions=["gpu"], name="ci")
        reply = await house.ask(
            "PATCH", f"/{made['id']}", {"partitions": [], "zone": "Asia/Kolkata"}
        )
        changed = reply.json["webhook"]
        assert changed == made["webhook"] | {"partitions": [], "zone": "Asia/Kolkata"}
        refused = await house.ask("PATCH", f"/{made['id']}", {"url": "https://127.0.0.1/"})
        assert refused.status == 422
        [event] = await house.told_of("admin.webhook.changed")
        assert event["authid"] == house.owner.email

    run(story())


def test_a_test_sends_something_made_up_now_and_keeps_nothing() -> None:
    async def story() -> None:
        house = await House().open()
        id = (await house.added())["id"]
        good = (await house.ask("POST", f"/{id}/test", {"type": "job.out_of_memory"})).json
        assert (good["ok"], good["attempt"]["status"], good["hint"]) == (True, 200, "")
        [body] = house.receiver.bodies()
        assert body["type"] == "job.out_of_memory"
        assert body["id"].startswith("test_")
        house.receiver.answer = Answer(failure=Failure.DNS, why="The name is not known.")
        bad = (await house.ask("POST", f"/{id}/test")).json
        assert (bad["ok"], bad["attempt"]["why"]) == (False, "The name is not known.")
        assert "name" in bad["hint"]
        assert (await house.ask("POST", f"/{id}/test", {"type": "job.*"})).status == 422
        assert (await house.ask("GET", f"/{id}/deliveries")).json["deliveries"] == []

    run(story())


def test_a_made_up_event_goes_to_whoever_would_hear_of_it() -> None:
    async def story() -> None:
        house = await House().open()
        heard = (await house.added(types=["job.*"]))["id"]
        await house.added(types=["node.*"])
        reply = (await house.ask("POST", "/trigger", {"type": "job.failed"})).json

        assert [each["id"] for each in reply["results"]] == [heard]
        assert reply["event"]["type"] == "job.failed"
        assert house.receiver.bodies() == [reply["event"]]

    run(story())


def test_a_replay_says_how_many_before_it_does_anything() -> None:
    async def story() -> None:
        house = await House().open()
        id = (await house.added(types=["job.*"]))["id"]
        await house.happens(2)
        await house.sent_to(id)
        since = (house.clock.now() - timedelta(hours=1)).isoformat()
        asked = {"failed_since": since, "dry_run": True}
        assert (await house.ask("POST", f"/{id}/replay", asked)).json["count"] == 0
        asked = {"event_id": "event-1", "dry_run": True}
        assert (await house.ask("POST", f"/{id}/replay", asked)).json["count"] == 1
        assert (await house.ask("POST", f"/{id}/replay", {"event_id": "event-1"})).json[
            "count"
        ] == 1
        again = await house.ask("POST", f"/{id}/replay", {"event_id": "event-1"})
        assert (again.status, again.json["code"]) == (409, "still-trying")
        asked = {"missing_since": "1h", "dry_run": True}
        assert (await house.ask("POST", f"/{id}/replay", asked)).json["count"] == 0
        for wrong in (
            {},
            {"event_id": "event-1", "failed_since": since},
            {"types": ["x"]},
            {"failed_since": "yesterday"},
            {"failed_since": "2026-99-99"},
            {"missing_since": "9999999d"},
        ):
            assert (await house.ask("POST", f"/{id}/replay", wrong)).status == 422

    run(story())


def test_removing_drops_what_waits_and_ends_what_comes() -> None:
    async def story() -> None:
        house = await House().open()
        id = (await house.added())["id"]
        await house.happens(3)
        await house.fan_out()
        gone = (await house.ask("DELETE", f"/{id}")).json
        assert gone["dropped"] == 3
        assert (await house.ask("GET", f"/{id}")).status == 404
        await house.happens(1)
        await house.fan_out()
        assert await house.store.lanes() == {}

    run(story())


def test_whose_owner_is_gone_says_so_and_the_slack_message_is_for_people() -> None:
    async def story() -> None:
        house = await House().open()
        cat = await token_of(house.plane, "cat")
        id = (await house.added(token=cat, url=SLACK, zone="Asia/Kolkata"))["id"]
        await house.happens(1, user="cat", name="<!channel> *align*")
        await house.sent_to(id)
        [message] = house.receiver.bodies()
        assert "<!channel>" not in str(message)
        assert "IST" in message["text"]
        home, directory = house.plane.people.home, house.plane.people.directory
        [person] = [each for each in directory.members(home) if each.role is Role.MEMBER]

        await house.plane.people.roster.remove(home, person.person, by=SOMEBODY)
        shown = (await house.ask("GET", f"/{id}")).json
        assert "not in the workspace any more" in shown["why"]

    run(story())
