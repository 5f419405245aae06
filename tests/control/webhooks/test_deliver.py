"""Every event reaches whoever wants it: once if all goes well, again if not, and never lost."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

import pytest

from clusterra.adapters.sqlite.store import SqliteStore
from clusterra.control.people.edit import edit_workspace
from clusterra.core.access import OthersJobs
from clusterra.core.change import Change
from clusterra.core.errors import Conflict, Invalid
from clusterra.core.events.catalogue.jobs import JobCompleted
from clusterra.core.webhooks.delivery import Delivery, DeliveryState
from clusterra.core.webhooks.endpoint import Endpoint, EndpointState
from clusterra.core.webhooks.exchange import Answer, Failure, Outgoing
from clusterra.core.webhooks.retry import SCHEDULE
from clusterra.ports import Store
from clusterra.settings import Settings, WebhookSettings
from tests.control.webhooks.post import DOWN, Post
from tests.people import SOMEBODY, somebody

HOUR = timedelta(hours=1)


async def test_an_event_is_told_once_as_the_ledger_has_it(store: Store) -> None:
    post = await Post(store).open()
    endpoint = await post.endpoint()
    [id] = await post.happens()

    assert await post.deliver(endpoint) is None
    assert await post.deliver(endpoint) is None

    [request] = post.receiver.got
    event = (await store.events_at(post.world.id, [1]))[1]
    assert request.body == event.body
    assert request.headers["webhook-id"] == id
    assert request.headers["content-type"].startswith("application/cloudevents+json")
    row = await post.row(endpoint, id)
    assert (row.state, row.attempts, row.due) == (DeliveryState.OK, 1, None)
    [attempt] = await store.attempts(endpoint.id, id)
    assert (attempt.number, attempt.status) == (1, 200)
    assert attempt.request_id == request.headers["clusterra-request-id"]


async def test_what_happened_before_an_endpoint_was_made_is_not_told(store: Store) -> None:
    post = await Post(store).open()
    await post.happens(3)
    endpoint = await post.endpoint()
    await post.happens(1)

    await post.deliver(endpoint)

    assert post.receiver.ids == ["event-4"]


async def test_only_what_matches_is_told(store: Store) -> None:
    post = await Post(store).open()
    failed = await post.endpoint(interest={"types": ("job.failed",), "partitions": ("gpu",)})
    every = await post.endpoint()
    await post.happens(1, partition="gpu")
    await post.happens(1)
    await post.happens(1, kind=JobCompleted, partition="gpu")

    await post.deliver(failed)
    assert post.receiver.ids == ["event-1"]
    await post.deliver(every)
    assert post.receiver.ids[1:] == ["event-1", "event-2", "event-3"]


async def test_a_receiver_that_is_down_for_an_hour_misses_nothing_and_gets_it_in_order(
    store: Store,
) -> None:
    post = await Post(store).open()
    endpoint = await post.endpoint()
    post.receiver.answer = DOWN
    began = post.clock.now()
    ids: list[str] = []
    while post.clock.now() - began < HOUR:
        ids += await post.happens(2)
        await post.deliver(endpoint)
        post.clock.advance(timedelta(minutes=1))

    tried = len(post.receiver.got)
    assert tried < 60  # it was left alone, and asked now and then
    post.receiver.got.clear()
    post.receiver.answer = Answer(status=200)
    await post.until_told(endpoint, most=timedelta(minutes=6))

    assert sorted(post.receiver.ids) == sorted(ids)
    # The first one found out that it is back; everything else follows as the ledger has it.
    first, *rest = post.receiver.ids
    assert rest == [id for id in ids if id != first]
    assert {row.state for row in await post.rows(endpoint)} == {DeliveryState.OK}


async def test_an_ordered_endpoint_gets_all_in_the_order_of_the_ledger_whatever_fails(
    store: Store,
) -> None:
    post = await Post(store).open()
    endpoint = await post.endpoint(ordered=True)
    ids = await post.happens(5)
    post.receiver.by_event = {"event-3": DOWN}

    await post.deliver(endpoint)
    assert post.receiver.ids == ["event-1", "event-2", "event-3"]
    assert post.receiver.most_at_once == 1

    post.clock.advance(SCHEDULE[1] * 1.2)
    post.receiver.by_event = {}
    assert await post.deliver(endpoint) is None
    assert post.receiver.ids == ["event-1", "event-2", "event-3", *ids[2:]]


async def test_the_whole_schedule_is_tried_and_then_it_is_given_up_told_and_can_be_replayed(
    store: Store,
) -> None:
    post = await Post(store).open()
    endpoint = await post.endpoint()
    [id] = await post.happens()
    post.receiver.answer = Answer(status=500)

    await post.until_told(endpoint, most=timedelta(hours=100))

    assert post.receiver.ids == [id] * len(SCHEDULE)
    dead = await post.row(endpoint, id)
    assert (dead.state, dead.attempts) == (DeliveryState.DEAD, len(SCHEDULE))
    [told] = await post.told_of("webhook.delivery.dead")
    assert told["data"]["event_id"] == id
    assert told["data"]["why"].startswith("Given up after 11 attempts.")

    post.receiver.answer = Answer(status=200)
    again = await post.plane.webhooks.replayer.failed(endpoint, None, (), dry_run=False)
    assert again.count == 1
    post.clock.advance(timedelta(minutes=5))
    await post.deliver(endpoint)
    assert post.receiver.got[-1].headers["webhook-id"] == id
    assert post.receiver.got[-1].headers["webhook-replay"] == "1"
    row = await post.row(endpoint, id)
    assert (row.state, row.replays, row.attempts) == (DeliveryState.OK, 1, 1)
    attempts = await store.attempts(endpoint.id, id)
    assert [each.number for each in attempts] == [*range(1, len(SCHEDULE) + 2)]


async def test_one_that_says_it_is_gone_is_asked_no_more_and_what_happens_is_kept(
    store: Store,
) -> None:
    post = await Post(store).open()
    endpoint = await post.endpoint()
    await post.happens()
    post.receiver.answer = Answer(status=410)
    assert await post.deliver(endpoint) is None

    endpoint = post.plane.webhooks.endpoints.get(endpoint.id)
    assert endpoint.state is EndpointState.DISABLED
    [told] = await post.told_of("webhook.disabled")
    assert "gone for good" in told["data"]["why"]
    await post.happens(2)
    await post.deliver(endpoint)
    assert len(post.receiver.got) == 1

    post.receiver.answer = Answer(status=200)
    await post.plane.webhooks.endpoints.turn(endpoint.id, EndpointState.ACTIVE, by=SOMEBODY)
    assert (await post.plane.webhooks.replayer.kept(endpoint)).count == 2
    await post.deliver(endpoint)
    assert sorted(post.receiver.ids) == ["event-1", "event-1", "event-2", "event-3"]


async def test_a_paused_endpoint_is_told_later_and_a_skipped_one_is_not(store: Store) -> None:
    post = await Post(store).open()
    endpoint = await post.endpoint()
    turn = post.plane.webhooks.endpoints.turn
    await turn(endpoint.id, EndpointState.PAUSED, by=SOMEBODY)
    ids = await post.happens(3)
    assert await post.deliver(endpoint) is None
    assert {row.state for row in await post.rows(endpoint)} == {DeliveryState.KEPT}

    await turn(endpoint.id, EndpointState.ACTIVE, by=SOMEBODY)
    assert await post.deliver(endpoint) is None
    assert post.receiver.got == []
    await post.plane.webhooks.replayer.kept(endpoint)
    await post.deliver(endpoint)
    assert sorted(post.receiver.ids) == ids


async def test_what_was_kept_comes_before_what_happens_while_it_is_brought_back(
    store: Store,
) -> None:
    post = await Post(store).open()
    endpoint = await post.endpoint(ordered=True)
    await post.plane.webhooks.endpoints.turn(endpoint.id, EndpointState.PAUSED, by=SOMEBODY)
    kept = await post.happens(2)
    await post.fan_out()

    _, told = await post.plane.webhooks.resume(endpoint.id, by=SOMEBODY)
    await post.happens(1)
    await post.deliver(endpoint)

    assert told == 2
    assert post.receiver.ids == [*kept, "event-3"]
    assert "webhook-replay" not in post.receiver.got[0].headers


async def test_who_asks_for_time_gets_it_for_everything(store: Store) -> None:
    post = await Post(store).open()
    endpoint = await post.endpoint()
    await post.happens(1)
    post.receiver.answer = Answer(status=429, headers={"retry-after": "600"})
    again_at = await post.deliver(endpoint)
    assert again_at == post.clock.now() + timedelta(minutes=10)

    await post.happens(5)
    post.receiver.answer = Answer(status=200)
    assert await post.deliver(endpoint) == again_at
    assert len(post.receiver.got) == 1
    post.clock.advance(timedelta(minutes=10))
    assert await post.deliver(endpoint) is None
    assert len(post.receiver.got) == 7


async def test_what_was_under_way_when_it_asked_for_time_does_not_shorten_it(
    store: Store,
) -> None:
    post = await Post(store).open()
    endpoint = await post.endpoint()
    await post.happens(1)
    post.receiver.wait = asyncio.Event()
    work = asyncio.create_task(post.deliver(endpoint))
    await post.receiver.has_got(1)
    lane = post.plane.webhooks.lane(endpoint.id)
    lane.held_until = post.clock.now() + timedelta(minutes=10)
    post.receiver.wait.set()
    await work

    await post.happens(1)
    assert await post.deliver(endpoint) == post.clock.now() + timedelta(minutes=10)
    assert len(post.receiver.got) == 1


class Meddled:
    """A store in which somebody else touches a delivery just before a result is written."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.results = 0
        self.touched: dict[int, Delivery] = {}
        """By how many times a result was to be written."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def commit(self, cluster: str, change: Change) -> int:
        self.results += bool(change.attempts)
        if change.attempts and (row := self.touched.pop(self.results, None)):
            await self._store.commit(cluster, Change(deliveries=[replace(row, why="touched")]))
        return await self._store.commit(cluster, change)


async def test_of_a_message_of_several_each_is_written_down_whatever_is_touched_meanwhile(
    store: Store,
) -> None:
    meddled = Meddled(store)
    post = await Post(cast("Store", meddled)).open()
    endpoint = await post.endpoint("https://hooks.slack.com/services/T/B/x")
    ids = await post.happens(4)
    await post.fan_out()
    # A result that cannot be written is tried by itself before anybody looks again.
    meddled.touched = {1: await post.row(endpoint, ids[0]), 3: await post.row(endpoint, ids[2])}

    await post.deliver(endpoint)

    assert not meddled.touched
    rows = [await post.row(endpoint, id) for id in ids]
    assert [row.state is DeliveryState.OK for row in rows] == [False, True, False, True]
    for id in ids:
        assert [each.event_id for each in await store.attempts(endpoint.id, id)] == [id]


async def test_a_hanging_endpoint_holds_few_places_and_others_go_on(store: Store) -> None:
    post = await Post(store).open()
    slow, quick = await post.endpoint(), await post.endpoint("https://quick.example/")
    await post.happens(20)
    await post.fan_out()
    post.receiver.wait = asyncio.Event()
    hanging = asyncio.create_task(post.plane.webhooks.lane(slow.id).work())
    await post.receiver.has_got(4)
    hung = len(post.receiver.got)
    assert hung == 4

    waits, post.receiver.wait = post.receiver.wait, None
    await post.plane.webhooks.lane(quick.id).work()
    assert len(post.receiver.got) == hung + 20
    waits.set()
    await hanging


async def test_a_healthy_endpoint_is_given_more_at_a_time(store: Store) -> None:
    post = await Post(store).open()
    endpoint = await post.endpoint()
    await post.happens(600)

    await post.deliver(endpoint)

    assert len(set(post.receiver.ids)) == 600 == len(post.receiver.ids)
    assert post.plane.webhooks.lane(endpoint.id).breaker.width == 32


async def test_no_more_is_under_way_than_the_lane_is_wide(store: Store) -> None:
    post = await Post(store).open()
    endpoint = await post.endpoint()
    await post.happens(600)
    most = 0

    async def answers(outgoing: Outgoing) -> Answer:
        nonlocal most
        lane = post.plane.webhooks.lane(endpoint.id)
        most = max(most, len(lane._busy) - lane.breaker.width)
        for _ in range(len(post.receiver.got) % 7):  # some take longer than others
            await asyncio.sleep(0)
        return await post.receiver(outgoing)

    post.sender.answers = answers
    await post.deliver(endpoint)

    assert len(post.receiver.got) == 600
    assert most <= 0


async def test_a_limit_of_its_own_is_kept(store: Store) -> None:
    post = await Post(store).open()
    endpoint = await post.endpoint(per_second=2)
    await post.happens(5)

    again_at = await post.deliver(endpoint)
    assert len(post.receiver.got) == 2
    assert again_at == post.clock.now() + timedelta(seconds=0.5)
    post.clock.advance(timedelta(seconds=0.5))
    await post.deliver(endpoint)
    assert len(post.receiver.got) == 3


async def test_a_burst_in_a_chat_is_one_message_and_a_lone_one_comes_at_once(
    store: Store,
) -> None:
    post = await Post(store).open()
    endpoint = await post.endpoint("https://hooks.slack.com/services/T/B/x")
    await post.happens(1)
    await post.deliver(endpoint)
    [alone] = post.receiver.bodies()
    assert "Job 1 failed" in alone["text"]

    await post.happens(60)
    again_at = await post.deliver(endpoint)
    assert len(post.receiver.got) == 1
    post.clock.advance(again_at - post.clock.now())
    again_at = await post.deliver(endpoint)
    assert len(post.receiver.got) == 2
    assert "50" in post.receiver.bodies()[1]["text"]
    post.clock.advance(again_at - post.clock.now())
    assert await post.deliver(endpoint) is None
    assert len(post.receiver.got) == 3
    [attempt] = await store.attempts(endpoint.id, "event-2")
    assert attempt.together == 50


async def test_failures_are_told_once_and_so_is_the_recovery(store: Store) -> None:
    post = await Post(store).open()
    endpoint = await post.endpoint()
    post.receiver.answer = Answer(failure=Failure.CONNECT, why="Nobody listens there.")
    await post.happens(1)
    for _ in range(6):
        again_at = await post.deliver(endpoint)
        post.clock.advance(again_at - post.clock.now())
    assert [each["data"]["failures"] for each in await post.told_of("webhook.failing")] == [4]

    post.receiver.answer = Answer(status=200)
    await post.until_told(endpoint, most=timedelta(hours=3))
    [recovered] = await post.told_of("webhook.recovered")
    assert recovered["data"]["failures"] == 6


async def test_after_five_days_of_failures_an_endpoint_is_disabled_with_warnings_on_the_way(
    store: Store,
) -> None:
    post = await Post(store).open()
    endpoint = await post.endpoint()
    post.receiver.answer = DOWN
    for _ in range(6 * 24):
        await post.happens(1)
        await post.deliver(endpoint)
        post.clock.advance(HOUR)

    assert post.plane.webhooks.endpoints.get(endpoint.id).state is EndpointState.DISABLED
    told = await post.told_of("webhook.failing")
    assert [each["data"]["percent"] // 10 * 10 for each in told] == [0, 50, 70, 90]
    [disabled] = await post.told_of("webhook.disabled")
    assert disabled["data"]["why"].startswith("It has not been reached for 5d 00h")


async def test_two_endpoints_that_fail_do_not_tell_each_other_for_ever(store: Store) -> None:
    post = await Post(store).open()
    slack = "https://hooks.slack.com/services/T/B/"
    one, other = await post.endpoint(f"{slack}1"), await post.endpoint(f"{slack}2")
    post.receiver.answer = Answer(status=400)
    home = post.plane.webhooks.fan_out(
        post.plane.people.ledgers_of(one.workspace)[-1], one.workspace
    )
    await home.read_on()
    await post.happens(1)
    for _ in range(20):
        await post.fan_out()
        await home.read_on()
        for endpoint in (one, other):
            await post.deliver(endpoint)
        post.clock.advance(timedelta(seconds=2))

    assert len(post.receiver.got) == 4  # the job to both, and each of the other's failure
    assert len(await post.told_of("webhook.delivery.dead")) == 2


async def test_a_member_is_told_what_they_may_read_and_nothing_once_they_are_gone(
    store: Store,
) -> None:
    post = await Post(store).open()
    ben = await somebody(post.plane, "ben")
    endpoint = await post.endpoint(by=ben)
    home, directory = post.plane.people.home, post.plane.people.directory
    hidden = OthersJobs.HIDDEN
    await edit_workspace(
        directory, home, name=None, others_jobs=hidden, by=SOMEBODY, at=post.clock.now()
    )
    await post.happens(1, user="ana")
    await post.happens(1, user="ben")
    await post.deliver(endpoint)
    assert post.receiver.ids == ["event-2"]

    await post.plane.people.roster.remove(home, ben.email, by=SOMEBODY)
    await post.happens(1, user="ben")
    await post.deliver(endpoint)
    assert len(post.receiver.got) == 1


async def test_a_death_after_sending_repeats_what_was_under_way_and_nothing_else(
    store: Store,
) -> None:
    post = await Post(store).open()
    endpoint = await post.endpoint()
    await post.happens(50)
    await post.fan_out()
    post.receiver.wait = asyncio.Event()
    lane = asyncio.create_task(post.plane.webhooks.lane(endpoint.id).work())
    await post.receiver.has_got(4)
    lane.cancel()
    await asyncio.gather(lane, return_exceptions=True)
    under_way = set(post.receiver.ids)

    post.receiver.wait = None
    post.restarted()
    await post.open()
    await post.deliver(endpoint)
    twice = {id for id in post.receiver.ids if post.receiver.ids.count(id) > 1}
    assert len(set(post.receiver.ids)) == 50
    assert twice == under_way


async def test_a_death_between_the_event_and_its_deliveries_loses_nothing(store: Store) -> None:
    post = await Post(store).open()
    endpoint = await post.endpoint()
    await post.happens(3)

    post.restarted()
    await post.open()
    await post.deliver(endpoint)

    assert sorted(post.receiver.ids) == ["event-1", "event-2", "event-3"]


async def test_what_happens_before_the_ledger_was_ever_read_is_told(store: Store) -> None:
    post = Post(store)
    await post.plane.open()
    await post.happens(1)
    endpoint = await post.endpoint()
    [id] = await post.happens(1)

    post.restarted()
    await post.plane.open()
    await post.deliver(endpoint)

    assert post.receiver.ids == [id]


async def test_whoever_is_added_while_the_ledger_is_read_hears_of_what_follows(
    store: Store,
) -> None:
    post = await Post(store).open()
    await post.endpoint()
    added: list[Endpoint] = []

    class Slow:
        """Answers when something else has happened."""

        def __getattr__(self, name: str) -> Any:
            return self.late if name == "events" and not added else getattr(store, name)

        async def late(self, *asked: Any) -> Any:
            added.append(await post.endpoint())
            await post.happens(1)
            return await store.events(*asked)

    post._fan_out.store = cast("Store", Slow())
    await post.fan_out()
    await post.happens(1)
    [endpoint] = added
    await post.deliver(endpoint)

    assert post.receiver.ids == ["event-1", "event-2"]


async def test_what_happens_while_an_endpoint_is_brought_back_is_told(store: Store) -> None:
    post = await Post(store).open()
    endpoint = await post.endpoint()
    webhooks = post.plane.webhooks
    await webhooks.endpoints.turn(endpoint.id, EndpointState.PAUSED, by=SOMEBODY)
    await post.happens(2)
    brought_back = False

    class Slow:
        """Commits when the endpoint is back, and was told what had been kept for it."""

        def __getattr__(self, name: str) -> Any:
            return self.late if name == "commit" and not brought_back else getattr(store, name)

        async def late(self, *asked: Any) -> Any:
            nonlocal brought_back
            brought_back = True
            changed = await webhooks.endpoints.turn(endpoint.id, EndpointState.ACTIVE, by=SOMEBODY)
            await webhooks.replayer.kept(changed)
            return await store.commit(*asked)

    post._fan_out.store = cast("Store", Slow())
    await post.deliver(endpoint)

    assert sorted(post.receiver.ids) == ["event-1", "event-2"]


async def test_another_server_does_not_deliver_while_this_one_holds_the_lease(
    store: Store,
) -> None:
    post = await Post(store).open()
    endpoint = await post.endpoint()
    await post.happens(2)
    await post.fan_out()
    lane = post.plane.webhooks.lane(endpoint.id)
    assert await lane.tenure.held() is not None

    elsewhere = post.restarted()
    elsewhere.webhooks.holder = "elsewhere"
    await elsewhere.open()
    again_at = await elsewhere.webhooks.lane(endpoint.id).work()
    assert post.receiver.got == []
    assert again_at == post.clock.now() + timedelta(seconds=5)

    post.clock.advance(timedelta(seconds=61))
    assert await elsewhere.webhooks.lane(endpoint.id).work() is None
    assert len(post.receiver.got) == 2


async def test_what_a_stale_server_finds_out_is_not_written(store: Store) -> None:
    post = await Post(store).open()
    endpoint = await post.endpoint()
    [id] = await post.happens()
    await post.fan_out()
    post.receiver.wait = asyncio.Event()
    stale = asyncio.create_task(post.plane.webhooks.lane(endpoint.id).work())
    await post.receiver.has_got(1)

    post.clock.advance(timedelta(seconds=61))
    elsewhere = post.restarted()
    elsewhere.webhooks.holder = "elsewhere"
    await elsewhere.open()
    waits, post.receiver.wait = post.receiver.wait, None
    post.receiver.answer = DOWN
    await elsewhere.webhooks.lane(endpoint.id).work()
    row = await post.row(endpoint, id)
    post.receiver.answer = Answer(status=200)
    waits.set()
    await stale

    assert await post.row(endpoint, id) == row
    assert len(await store.attempts(endpoint.id, id)) == 1


async def test_a_replay_while_it_is_under_way_is_refused_and_one_that_was_told_goes_again(
    store: Store,
) -> None:
    post = await Post(store).open()
    endpoint = await post.endpoint()
    [id] = await post.happens()
    await post.fan_out()
    replayer = post.plane.webhooks.replayer
    with pytest.raises(Conflict, match="still being tried"):
        await replayer.one(endpoint, id, dry_run=False)

    await post.deliver(endpoint)
    assert (await replayer.one(endpoint, id, dry_run=True)).count == 1
    assert await post.deliver(endpoint) is None
    await replayer.one(endpoint, id, dry_run=False)
    await post.deliver(endpoint)
    assert post.receiver.ids == [id, id]


async def test_what_was_never_told_can_be_found_in_the_ledger_and_is_counted_first(
    store: Store,
) -> None:
    post = await Post(store).open()
    before = await post.happens(3)
    post.clock.advance(timedelta(minutes=1))
    endpoint = await post.endpoint(interest={"types": ("job.*",)})
    await post.happens(2)
    await post.deliver(endpoint)
    replayer, since = post.plane.webhooks.replayer, post.clock.now() - HOUR

    dry = await replayer.missing(endpoint, since, (), dry_run=True)
    assert dry.count == 3
    assert await post.deliver(endpoint) is None
    assert (await replayer.missing(endpoint, since, ("job.completed",), dry_run=True)).count == 0
    await replayer.missing(endpoint, since, (), dry_run=False)
    await post.deliver(endpoint)
    assert sorted(post.receiver.ids[2:]) == before
    assert (await replayer.missing(endpoint, since, (), dry_run=True)).count == 0


async def test_an_event_that_was_told_by_hand_meanwhile_is_not_told_twice(store: Store) -> None:
    post = await Post(store).open()
    endpoint = await post.endpoint()
    await post.happens(3)
    event = (await store.events_at(post.world.id, [2]))[2]
    await post.plane.webhooks.notify(endpoint.id, event)

    await post.deliver(endpoint)

    assert sorted(post.receiver.ids) == ["event-1", "event-2", "event-3"]


async def test_an_event_that_has_left_the_ledger_is_given_up_with_that_reason(
    store: Store,
) -> None:
    post = await Post(store).open()
    endpoint = await post.endpoint()
    await post.happens(1)
    await post.fan_out()
    await store.seal(post.world.id, await store.head(post.world.id), Change())

    await post.deliver(endpoint)

    row = await post.row(endpoint, "event-1")
    assert row.state is DeliveryState.DEAD
    assert row.ended_at is not None
    assert "left the ledger" in row.why


async def test_an_endpoint_that_is_removed_while_it_is_told_leaves_nothing(store: Store) -> None:
    post = await Post(store).open()
    endpoint = await post.endpoint()
    await post.happens(3)
    await post.fan_out()
    post.receiver.wait = asyncio.Event()
    lane = asyncio.create_task(post.plane.webhooks.lane(endpoint.id).work())
    await post.receiver.has_got(1)
    await post.plane.webhooks.remove(endpoint.id, by=SOMEBODY)
    post.receiver.wait.set()

    assert await lane is None
    assert await post.rows(endpoint) == []
    assert await store.lanes() == {}


async def test_what_was_told_long_ago_is_let_go(store: Store) -> None:
    post = await Post(store).open()
    endpoint = await post.endpoint()
    await post.happens(3)
    await post.deliver(endpoint)
    post.clock.advance(timedelta(days=29))
    await post.happens(1)
    await post.deliver(endpoint)

    assert not await post.plane.webhooks.tidy()
    post.clock.advance(timedelta(days=2))
    assert await post.plane.webhooks.tidy()
    assert [row.event_id for row in await post.rows(endpoint)] == ["event-4"]


async def test_thousands_of_events_at_once_are_all_told_once(store: Store) -> None:
    post = await Post(store).open()
    endpoint = await post.endpoint()
    ids = await post.happens(10_000 if isinstance(store, SqliteStore) else 1_000)

    await post.deliver(endpoint)

    assert sorted(post.receiver.ids) == sorted(ids)


def test_a_lease_shorter_than_a_delivery_and_five_seconds_is_refused(store: Store) -> None:
    settings = Settings(webhooks=WebhookSettings(timeout_seconds=15, lease_seconds=20))
    Post(store, settings=settings)
    short = replace(settings, webhooks=replace(settings.webhooks, lease_seconds=19.9))
    with pytest.raises(Invalid, match=r"lease_seconds is 19\.9"):
        Post(store, settings=short)
